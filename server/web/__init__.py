"""HTTP beside the WebSocket: pages, guests, replays, health."""
