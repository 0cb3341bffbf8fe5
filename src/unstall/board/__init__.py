"""The live board: all runs of a folder, and the page of each, over HTTP. It only ever reads, and no run waits for it."""
