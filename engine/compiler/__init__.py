"""A search bound to a game: as machine code, or as plain Python."""
