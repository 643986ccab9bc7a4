"""The DATA files of a game (tuned numbers, books) as the words that its rules get."""

from pathlib import Path
from typing import Any

import numpy as np

from engine.game import Game


def load_data(game: Game) -> Any:
    """The words of all DATA files of a game in a row, little-endian, each file padded to whole words; one zero without
    any.
    """
    folder = Path(str(getattr(game.rules, "__file__", "."))).parent
    files = [(folder / name).read_bytes() for name in game.rules.DATA]
    content = b"".join(part + bytes(-len(part) % 8) for part in files)
    return np.frombuffer(content or bytes(8), "<i8").astype(np.int64)
