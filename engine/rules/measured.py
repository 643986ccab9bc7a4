"""The measured file of a game: what its matches and its search's speed were measured to be.

`chess.measured.json` stands beside `chess.py`. Nothing in it changes a move, so no digest covers
it, and processes with different files work together. `python -m engine.tune --measure GAME` writes
it. A game of another distribution may have one beside its own rules file. Without a file, or
without a field of it, a game has the default of `Measured`.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from engine.game import Game, GameFault

#: The ending of the file's name, in place of that of the rules file.
SUFFIX = ".measured.json"


class Bin(Struct, frozen=True, forbid_unknown_fields=True):
    """The positions whose predicted chance is in one range: their number, the mean prediction, and
    the mean result.
    """

    positions: int
    predicted: float
    scored: float


class WinScale(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fitted scale, the matches that it was fitted to, and how well it predicts their results.

    Losses are mean cross entropies in nats. `even_loss` is that of a prediction of one half
    everywhere. `forced` counts positions with a forced win or loss, which the fit leaves out, and
    `forced_right` is the share of them that ended so.
    """

    scale: Annotated[float, Meta(gt=0)]
    levels: str
    seed: int
    matches: int
    draws: int
    positions: int
    loss: float
    even_loss: float
    forced: int
    forced_right: float
    bins: tuple[Bin, ...]
    #: The options of the matches, where the defaults leave too little to play.
    options: Mapping[str, str] = {}


class Measured(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The content of a measured file."""

    #: Levels with at most this many nodes take about a second uncompiled, so they are played in
    #: full before the game is compiled (`engine.search.uncompiled`).
    full_nodes: Annotated[int, Meta(ge=0)] = 0
    #: The processor time that compiling the game's search takes, in seconds: for a progress bar.
    compile_cpu_s: Annotated[float, Meta(gt=0)] = 6.0
    #: What a score means as a chance to win (`engine.win_chance`).
    win_scale: WinScale | None = None
    #: The game's place among those that most people know, from 1. It is written by hand.
    well_known: Annotated[int, Meta(ge=1)] | None = None
    #: The name of the lesson that fits the game best. It is written by hand.
    lesson: str | None = None


def measured_file(game: Game) -> Path | None:
    """Returns the path of a game's measured file, which need not exist; None without a rules file.

    Its name is that of the rules file, with SUFFIX.
    """
    rules_file = getattr(game.module, "__file__", None)
    return None if rules_file is None else Path(rules_file).with_suffix(SUFFIX)


@lru_cache(maxsize=256)
def measured_of(game: Game) -> Measured:
    """Returns what was measured of a game: the content of its file, or the defaults without one.

    Raises GameFault, which names the file and what it should have, if the file cannot be read.
    """
    path = measured_file(game)
    try:
        content = path.read_bytes() if path is not None else b"{}"
        return msgspec.json.decode(content, type=Measured)
    except FileNotFoundError:
        return Measured()
    except OSError as error:
        raise GameFault(f"{path} of {game.id} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise GameFault(f"{path} of {game.id} is no measured file: {error}") from error


def write_measured(game: Game, measured: Measured, path: Path | None = None) -> Path:
    """Writes a game's measured file, one field per line; returns its path.

    Raises GameFault for a game without a rules file, unless a path is given.
    """
    path = path or measured_file(game)
    if path is None:
        raise GameFault(f"{game.id} has no rules file beside which a measured file could stand")
    fields = msgspec.to_builtins(measured)
    lines = [f'"{name}": {msgspec.json.encode(value).decode()}' for name, value in fields.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    measured_of.cache_clear()
    return path
