"""The rules of the games, the search and its worker pool, without any network code."""
