"""One file for each parser.

SEEDS are inputs as they should be, TOKENS pieces that inputs are made of; `one(data, folder)` reads an input, and may raise
nothing but an UnstallError, which it takes as a right answer.
"""
