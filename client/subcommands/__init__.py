"""The commands of `plyroom`, one module each, and the code that they share."""
