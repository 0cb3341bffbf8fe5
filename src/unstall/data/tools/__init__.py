"""What commands do with a data set: convert, split, pack, count, draw."""
