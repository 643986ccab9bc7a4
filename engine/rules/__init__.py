"""What makes a rules file a game: loading, names, data files, digests."""
