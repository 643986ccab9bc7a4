"""From sockets to commands, and from messages to bytes."""
