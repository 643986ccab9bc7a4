"""Native code for the search: compiles copies of a game's rules and of the kernel, cached on disk."""
