"""What clients that follow a room get: its events, thoughts, presence and permissions."""
