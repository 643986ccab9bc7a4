"""The games that come with Plyroom, one file each; some with a folder of parts beside it."""
