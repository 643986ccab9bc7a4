"""One room at run time: its runner, its AI seats, and when it ends."""
