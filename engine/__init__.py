"""The rules of the games, the search and its worker pool; nothing here talks to a network."""
