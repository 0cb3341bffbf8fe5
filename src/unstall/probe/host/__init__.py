"""The process: signals, devices, modules, files and what its containers hold."""
