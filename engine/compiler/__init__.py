"""A search bound to a game: as machine code, or as the Python that it is written in."""
