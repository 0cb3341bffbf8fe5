"""What the program prints, as a sensor: `parser.py` makes events of it, `reader.py` reads it as it comes."""
