"""One file per trainer: how it is installed, how a tiny data set is made for it, and its cases."""
