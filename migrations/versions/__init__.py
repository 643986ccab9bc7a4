"""The schema's migrations, one file each."""
