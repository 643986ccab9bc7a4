"""The HTTP server: pages, guests, replays, health checks, metrics."""
