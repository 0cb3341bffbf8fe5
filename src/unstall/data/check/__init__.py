"""What is wrong with a data set, and how it is fixed."""
