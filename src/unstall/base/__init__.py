"""What every other room may use: errors and exit codes, formatting, the console, progress, processes, redaction."""
