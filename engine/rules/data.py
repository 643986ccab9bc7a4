"""Reads the DATA files of a game (tuned numbers, books) into the words that its rules receive.

A file whose name ends in `.txt` holds rows of numbers as text: a name and a colon, then whole
numbers, where `0*6561` repeats a number; a `#` begins a comment. Such numbers can be reviewed in a
diff, and `python -m engine.tune` writes them. Any other file is raw little-endian words, padded to
whole words.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from engine.game import Game, GameFault

#: The suffix of files that hold numbers as text.
TEXT_SUFFIX = ".txt"
#: Numbers in text are smaller than this in absolute value; repeat counts are at most this.
MAX_NUMBER = 1 << 31
#: At least this many equal numbers in succession are written as `value*count`.
MIN_RUN = 4
#: Maximum length of a written line, in characters.
MAX_LINE = 120


@dataclass(frozen=True, slots=True)
class Row:
    """A named row of numbers; `first` is the index of its first number in DATA."""

    name: str
    first: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NumberFile:
    """A DATA file that holds numbers as text."""

    path: Path
    rows: tuple[Row, ...]


def load_data(game: Game) -> Any:
    """Returns the words of all DATA files of a game in order, or a single 0 if there are none."""
    parts = [_read_words(path) for path in data_paths(game)]
    words = np.concatenate([np.zeros(0, np.int64), *parts])
    return words if len(words) else np.zeros(1, np.int64)


def number_files(game: Game) -> list[NumberFile]:
    """Reads the DATA files that hold numbers as text; row indexes count the words of all files."""
    files = []
    index = 0
    for path in data_paths(game):
        if path.name.endswith(TEXT_SUFFIX):
            rows = parse_rows(_read_text(path), index, str(path))
            files.append(NumberFile(path, tuple(rows)))
        index += len(_read_words(path))
    return files


def data_paths(game: Game) -> list[Path]:
    """Returns the paths of a game's DATA files, whose names are relative to its rules file."""
    folder = Path(str(getattr(game.module, "__file__", "."))).parent
    return [folder / name for name in game.rules.DATA]


def parse_rows(text: str, first: int = 0, source: str = "numbers") -> list[Row]:
    """Parses the rows of a text; `first` is the index of its first number.

    Raises GameFault, which names the first line that is not a row.
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, rest = line.partition("#")[0].partition(":")
        if not (name + colon).strip():
            continue
        try:
            if not colon or not name.strip():
                raise ValueError("a row is a name, a colon and whole numbers")
            numbers = tuple(value for word in rest.split() for value in _parse_word(word))
        except ValueError as error:
            raise GameFault(f"{source}, line {number}: {error}") from error
        rows.append(Row(name.strip(), first, numbers))
        first += len(numbers)
    return rows


def format_rows(rows: Iterable[tuple[str, Iterable[int]]], comments: Iterable[str] = ()) -> str:
    """Formats rows for parse_rows; the same rows always give the same text.

    A long row becomes several lines with the same name.
    """
    lines = [f"# {comment}".rstrip() for comment in comments]
    for name, numbers in rows:
        line = f"{name}:"
        for value, run in groupby(numbers):
            count = len(list(run))
            for word in [f"{value}*{count}"] if count >= MIN_RUN else [str(value)] * count:
                if len(line) + 1 + len(word) > MAX_LINE:
                    lines.append(line)
                    line = f"{name}:"
                line += f" {word}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _parse_word(word: str) -> list[int]:
    value, star, count = word.partition("*")
    try:
        number, times = int(value), int(count) if star else 1
    except ValueError:
        raise ValueError(f"{word[:40]!r} is not a whole number") from None
    if abs(number) >= MAX_NUMBER or not 0 < times <= MAX_NUMBER:
        raise ValueError(f"{word[:40]!r} is too large")
    return [number] * times


def _read_words(path: Path) -> Any:
    if path.name.endswith(TEXT_SUFFIX):
        return np.array(
            [value for row in parse_rows(_read_text(path), 0, str(path)) for value in row.numbers],
            np.int64,
        )
    content = path.read_bytes()
    return np.frombuffer(content + bytes(-len(content) % 8), "<i8").astype(np.int64)


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise GameFault(f"{path}: {error}") from error
