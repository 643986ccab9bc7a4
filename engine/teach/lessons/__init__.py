"""The lessons: one small file each, found by name in `catalogue`."""
