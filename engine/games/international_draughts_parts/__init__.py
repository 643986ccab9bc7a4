"""The parts of the game of international draughts: see engine.games.international_draughts."""
