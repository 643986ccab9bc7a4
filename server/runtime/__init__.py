"""What runs: one runner a room, the hub that starts them, the lobby."""
