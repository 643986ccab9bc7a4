"""Child processes that run jobs with limits of time and memory, and the sockets to them."""
