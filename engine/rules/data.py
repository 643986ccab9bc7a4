"""The DATA files of a game (tuned numbers, books), read as the words that its rules get.

A file whose name ends in `.txt` holds rows of numbers as text: a name and a colon, then whole
numbers, `0*6561` for many equal ones; a `#` begins a comment. People read and compare such numbers,
and `python -m engine.tune` may change them. Any other file is raw little-endian words, padded to
whole words.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from engine.game import Game, GameFault

#: The ending of files that hold numbers as text.
TEXT = ".txt"
#: Numbers in text are smaller than this, either way; repeat counts are at most this.
LARGEST = 1 << 31
#: The equal numbers in a row from which on they are written as `value*count`.
RUN = 4
#: The longest line that is written, in characters.
LINE = 120


@dataclass(frozen=True, slots=True)
class Row:
    """A named row of numbers, and the index in DATA of its first."""

    name: str
    first: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NumberFile:
    """A file of numbers as text."""

    path: Path
    rows: tuple[Row, ...]


def load_data(game: Game) -> Any:
    """The words of all DATA files of a game, joined in order; one zero without any."""
    parts = [_words(path) for path in data_paths(game)]
    words = np.concatenate([np.zeros(0, np.int64), *parts])
    return words if len(words) else np.zeros(1, np.int64)


def number_files(game: Game) -> list[NumberFile]:
    """The DATA files that hold numbers as text, each row with its index among all words of DATA."""
    found = []
    first = 0
    for path in data_paths(game):
        if path.name.endswith(TEXT):
            rows = parse_rows(_text(path), first, str(path))
            found.append(NumberFile(path, tuple(rows)))
        first += len(_words(path))
    return found


def data_paths(game: Game) -> list[Path]:
    """The DATA files of a game; their names are relative to the folder of its rules."""
    folder = Path(str(getattr(game.module, "__file__", "."))).parent
    return [folder / name for name in game.rules.DATA]


def parse_rows(text: str, first: int = 0, source: str = "numbers") -> list[Row]:
    """The rows of a text; `first` is the index of its first number.

    GameFault names the first line that is not a row.
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, rest = line.partition("#")[0].partition(":")
        if not (name + colon).strip():
            continue
        try:
            if not colon or not name.strip():
                raise ValueError("a row is a name, a colon and whole numbers")
            numbers = tuple(value for word in rest.split() for value in _parsed(word))
        except ValueError as error:
            raise GameFault(f"{source}, line {number}: {error}") from error
        rows.append(Row(name.strip(), first, numbers))
        first += len(numbers)
    return rows


def format_rows(rows: Iterable[tuple[str, Iterable[int]]], comments: Iterable[str] = ()) -> str:
    """The reverse of parse_rows: a text that is the same for the same numbers.

    A long row is written as several lines with the same name, which mean the same numbers.
    """
    lines = [f"# {comment}".rstrip() for comment in comments]
    for name, numbers in rows:
        line = f"{name}:"
        for value, run in groupby(numbers):
            count = len(list(run))
            for word in [f"{value}*{count}"] if count >= RUN else [str(value)] * count:
                if len(line) + 1 + len(word) > LINE:
                    lines.append(line)
                    line = f"{name}:"
                line += f" {word}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _parsed(word: str) -> list[int]:
    value, star, count = word.partition("*")
    try:
        number, times = int(value), int(count) if star else 1
    except ValueError:
        raise ValueError(f"{word[:40]!r} is not a whole number") from None
    if abs(number) >= LARGEST or not 0 < times <= LARGEST:
        raise ValueError(f"{word[:40]!r} is too large")
    return [number] * times


def _words(path: Path) -> Any:
    if path.name.endswith(TEXT):
        return np.array(
            [value for row in parse_rows(_text(path), 0, str(path)) for value in row.numbers],
            np.int64,
        )
    content = path.read_bytes()
    return np.frombuffer(content + bytes(-len(content) % 8), "<i8").astype(np.int64)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise GameFault(f"{path}: {error}") from error
