"""What is particular to each game."""
