"""The parts of the game of gomoku: see engine.games.gomoku."""
