"""Reading and writing of files: annotations, records, label maps, images."""
