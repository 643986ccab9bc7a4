"""The production search: one generic kernel, compiled once for each game."""
