"""What the causes of errors share beside `failures.py`."""
