"""The settings of a training: their names and ranges, TOML files, options of commands, recipes, and who wins."""
