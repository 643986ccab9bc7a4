"""The commands of `plyroom`, a module each, and what they share."""
