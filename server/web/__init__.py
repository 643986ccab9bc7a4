"""The HTTP side: pages, guests, replays, health, metrics."""
