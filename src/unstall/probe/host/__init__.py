"""The process: exceptions, signals, devices, modules, files and what its containers hold."""
