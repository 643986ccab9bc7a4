"""Games as the world writes them: one value for a game, and a module for each format of files."""
