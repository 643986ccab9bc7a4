"""The server beside a bare relay and boardgame.io: the same matches by the same load generator."""
