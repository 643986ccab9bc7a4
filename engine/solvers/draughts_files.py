"""The endgame tables of draughts: made by compiled code, and kept on disk beside it."""

import hashlib
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from engine.compiler import code_cache
from engine.game import Game, GameFault

KEPT_VERSIONS = 3
SUM_WORDS = 4
#: Room for the moves of a position.
SCRATCH = 256

#: Takes how many entries of the tables are made, and of how many.
Tell = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Tells nobody."""


def slice_pairs(pieces: int) -> list[tuple[int, int]]:
    """The numbers of men and kings that belong together, as codes of slices: what quiet moves, but
    for a crowning, lead from one to the other. Those come first that others lead to.
    """
    counts = [
        c for c in product(range(4), repeat=4) if c[0] + c[1] and c[2] + c[3] and sum(c) <= pieces
    ]
    counts = [c for c in counts if c <= (*c[2:], *c[:2])]
    return [
        (_code(*c), _code(*c[2:], *c[:2]))
        for c in sorted(counts, key=lambda c: (sum(c), c[0] + c[2], c))
    ]


def _code(men: int, kings: int, their_men: int, their_kings: int) -> int:
    return 256 * men + 64 * kings + 16 * their_men + 4 * their_kings


def entries(code: int, begins: Any, total: int) -> int:
    """The size of all slices with these men and kings."""
    later = begins[begins > begins[code + (code >> 8)]]
    return int(later.min() if len(later) else total) - int(begins[code])


def table_bytes(game: Game, pieces: int) -> int:
    """The number of entries of tables up to so many pieces."""
    rules: Any = game.rules
    return sum(
        entries(code, rules.SLICES, rules.TABLE_BYTES)
        for pair in slice_pairs(pieces)
        for code in {*pair}
    )


def make_tables(game: Game, pieces: int, tell: Tell = silent) -> Any:
    """The words of the tables up to so many pieces: that number, and eight entries in each of the
    others.
    """
    from engine.compiler.native import Memory, compile_game
    from engine.solvers import draughts_tables

    rules: Any = game.rules
    build = compile_game(game, draughts_tables).function("build")
    pairs = slice_pairs(pieces)
    total = table_bytes(game, pieces)
    words = np.zeros(
        1 + (total + 7) // 8, np.int64
    )  # all slices of fewer pieces come before those of more
    memories = [
        Memory(words[1:]),
        *(Memory(np.zeros_like(words)) for _ in range(2)),
        Memory(np.zeros(SCRATCH, np.int64)),
    ]
    done = 0
    for pair in pairs:
        if build(*pair, *memories) < 0:
            raise GameFault(f"an entry of the tables of {game.id} does not fit into a byte")
        done += sum(entries(code, rules.SLICES, rules.TABLE_BYTES) for code in {*pair})
        tell(done, total)
    words[0] = pieces
    return words


def counts_of(game: Game, words: Any) -> dict[str, int]:
    """How many positions are won, drawn and lost for the side to move, and the plies of the longest
    win.
    """
    values = words[1:].astype("<i8").view(np.uint8)
    values = values[: table_bytes(game, int(words[0]))]
    wins, draws = (values > 0) & (values % 2 == 0), values == 0
    return {
        "entries": len(values),
        "wins": int(wins.sum()),
        "draws": int(draws.sum()),
        "losses": int((values % 2 == 1).sum()),
        "longest": int(values[wins].max()) - 1,
    }


def tables_file(game: Game) -> Path:
    """Where the tables of these rules are kept."""
    return code_cache.cache_folder() / f"{code_cache.tag_of(game.id, game.digest)}.tables"


def ready_tables(game: Game) -> Any:
    """The whole tables, from disk, or made and kept there, which takes some seconds. One process
    makes them, others wait.
    """
    with code_cache.locked(code_cache.cache_folder(), f"{game.id}.tables"):
        words = load(tables_file(game))
        if words is None:
            rules: Any = game.rules
            words = make_tables(game, int(rules.TABLE_PIECES))
            keep(tables_file(game), words)
    return words


def keep(path: Path, words: Any) -> None:
    """Writes tables with their checksum, and removes the oldest of other versions of the game."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(words.astype("<i8").tobytes() + _checksum(words))
    os.replace(draft, path)
    others = [
        other
        for other in path.parent.glob(f"{path.name.partition('.')[0]}.*.tables")
        if other != path
    ]
    others.sort(key=lambda other: other.stat().st_mtime, reverse=True)
    for other in others[KEPT_VERSIONS - 1 :]:
        other.unlink(missing_ok=True)


def load(path: Path) -> Any:
    """The words of a file of tables; None where it is not there or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if len(content) % 8 or len(content) < 8 * SUM_WORDS:
        return None
    words = np.frombuffer(content[: -8 * SUM_WORDS], "<i8").astype(np.int64)
    return words if content[-8 * SUM_WORDS :] == _checksum(words) else None


def _checksum(words: Any) -> bytes:
    return hashlib.blake2b(words.astype("<i8").tobytes(), digest_size=8 * SUM_WORDS).digest()
