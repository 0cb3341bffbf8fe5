"""What is looked at when an error ends the program: its lines, the values in them, and the lines that no traceback shows."""
