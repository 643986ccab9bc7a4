"""The Plyroom server: rooms over a log, one port, any number of clients."""
