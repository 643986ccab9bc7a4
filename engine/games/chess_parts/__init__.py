"""The parts of the game of chess: see engine.games.chess."""
