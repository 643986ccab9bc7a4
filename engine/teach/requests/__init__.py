"""What a user may ask for, and the search that comes of it."""
