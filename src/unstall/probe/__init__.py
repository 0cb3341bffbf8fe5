"""What runs inside the watched program, and nothing else does.

Standard library only, syntax of Python 3.7; a framework is touched only when the program has imported it already. Every
hook goes through the shield: an exception in here is journalled and never reaches the training.
"""
