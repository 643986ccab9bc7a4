"""What happens to a search, wherever its workers are: who gets it, how often, and its answer."""
