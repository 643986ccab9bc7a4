"""The games that come with Plyroom, one file each, and the registry that finds them."""
