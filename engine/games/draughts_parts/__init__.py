"""The parts of the game of draughts: see engine.games.draughts."""
