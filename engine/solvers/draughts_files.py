"""The files of the endgame tables of draughts, stored beside the compiled code that makes them."""

import hashlib
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from engine.compiler import code_cache
from engine.game import Game, GameFault

#: Maximum number of table files of a game that stay on disk, the current one included.
MAX_VERSIONS = 3
#: Length of the checksum at the end of a file, in words.
CHECKSUM_WORDS = 4
#: Size of the buffer for the moves of a position, in words.
MOVE_LIST_WORDS = 256

#: Takes the number of entries done and the total.
Progress = Callable[[int, int], None]


def no_progress(done: int, total: int) -> None:
    """Reports nothing."""


def slice_pairs(pieces: int) -> list[tuple[int, int]]:
    """The pairs of slice codes that must be built together, in the order of building.

    Quiet moves other than promotions lead from one slice of a pair to the other. A pair comes after
    all pairs to which its captures and promotions lead.
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
    """The code of the slice with these counts and no man on the first row."""
    return 256 * men + 64 * kings + 16 * their_men + 4 * their_kings


def slice_entries(code: int, starts: Any, total: int) -> int:
    """The size of all slices with these men and kings, in entries."""
    later_starts = starts[starts > starts[code + (code >> 8)]]
    return int(later_starts.min() if len(later_starts) else total) - int(starts[code])


def table_bytes(game: Game, pieces: int) -> int:
    """The number of entries, one byte each, of the tables of up to `pieces` pieces."""
    rules: Any = game.module
    return sum(
        slice_entries(code, rules.SLICES, rules.TABLE_BYTES)
        for pair in slice_pairs(pieces)
        for code in {*pair}
    )


def make_tables(game: Game, pieces: int, progress: Progress = no_progress) -> Any:
    """Builds the tables of up to `pieces` pieces.

    Returns the number of pieces, then words of eight entries each.
    """
    from engine.compiler.intrinsics import Memory
    from engine.compiler.native import compile_game
    from engine.solvers import draughts_tables

    rules: Any = game.module
    build = compile_game(game, draughts_tables).function("build")
    pairs = slice_pairs(pieces)
    total = table_bytes(game, pieces)
    # The slices of fewer pieces come before those of more.
    words = np.zeros(1 + (total + 7) // 8, np.int64)
    memories = [
        Memory(words[1:]),
        *(Memory(np.zeros_like(words)) for _ in range(2)),
        Memory(np.zeros(MOVE_LIST_WORDS, np.int64)),
    ]
    done = 0
    for pair in pairs:
        if build(*pair, *memories) < 0:
            raise GameFault(f"an entry of the tables of {game.id} does not fit into a byte")
        done += sum(slice_entries(code, rules.SLICES, rules.TABLE_BYTES) for code in {*pair})
        progress(done, total)
    words[0] = pieces
    return words


def count_results(game: Game, words: Any) -> dict[str, int]:
    """Counts the entries, wins, draws and losses, and the plies of the longest win."""
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
    """The path of the tables of these rules."""
    return code_cache.cache_folder() / f"{code_cache.tag_of(game.id, game.digest)}.tables"


def load_or_make_tables(game: Game) -> Any:
    """Loads the tables; if they are missing, generates and stores them, which takes some seconds.

    One process generates them while other processes wait. Raises NotCached where this process may
    only load, and CacheBusy where it may not wait.
    """
    words = load_tables(tables_file(game))
    if words is not None:
        return words
    if code_cache.access() is code_cache.Access.LOAD:
        raise code_cache.NotCached(f"the cache has no tables of {game.id}")
    with code_cache.locked(code_cache.cache_folder(), f"{game.id}.tables"):
        words = load_tables(tables_file(game))
        if words is None:
            rules: Any = game.module
            words = make_tables(game, int(rules.TABLE_PIECES))
            store_tables(tables_file(game), words)
    return words


def store_tables(path: Path, words: Any) -> None:
    """Writes tables with their checksum; removes old versions beyond MAX_VERSIONS."""
    temporary = path.with_suffix(".draft")
    temporary.write_bytes(words.astype("<i8").tobytes() + _checksum(words))
    os.replace(temporary, path)
    old_files = [
        file for file in path.parent.glob(f"{path.name.partition('.')[0]}.*.tables") if file != path
    ]
    old_files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
    for file in old_files[MAX_VERSIONS - 1 :]:
        file.unlink(missing_ok=True)


def load_tables(path: Path) -> Any:
    """Reads the words of a table file; None if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if len(content) % 8 or len(content) < 8 * CHECKSUM_WORDS:
        return None
    words = np.frombuffer(content[: -8 * CHECKSUM_WORDS], "<i8").astype(np.int64)
    return words if content[-8 * CHECKSUM_WORDS :] == _checksum(words) else None


def _checksum(words: Any) -> bytes:
    return hashlib.blake2b(words.astype("<i8").tobytes(), digest_size=8 * CHECKSUM_WORDS).digest()
