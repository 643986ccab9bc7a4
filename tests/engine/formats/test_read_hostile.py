"""engine/formats/read: files that nobody meant well cost bounded memory and get a sentence each."""

import random
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.formats.json_lines import format_json_line
from engine.formats.read.files import read_games
from engine.formats.record import BadGame, GameRecord
from engine.rules.registry import load_game
from tests.engine.formats.test_read_files import FILES
from tests.support.game_records import random_record

#: The parts in which a file comes, in bytes.
PART_BYTES = 1 << 16
#: What reading may keep in memory at once besides the games, in bytes.
MAX_MEMORY_BYTES = 16 << 20
MEGABYTE = 1 << 20

Parts = Iterator[bytes]


def repeated(text: str, count: int, end: str = "") -> Callable[[], Parts]:
    """A file of a text over and over, made part by part."""

    def parts() -> Parts:
        each = text.encode()
        at_once = max(1, PART_BYTES // len(each))
        for done in range(0, count, at_once):
            yield each * min(at_once, count - done)
        yield end.encode()

    return parts


def whole(content: bytes | str) -> Callable[[], Parts]:
    """A file in parts."""
    data = content if isinstance(content, bytes) else content.encode()
    return lambda: (data[i : i + PART_BYTES] for i in range(0, len(data), PART_BYTES))


def joined(*files: Callable[[], Parts]) -> Callable[[], Parts]:
    """Files one after the other."""
    return lambda: (part for file in files for part in file())


SGF = "(;GM[4]SZ[15];B[hh]"
#: Files by name: the content, and what the last sentence about a bad game says; "" for good games.
HOSTILE: dict[str, tuple[Callable[[], Parts], str]] = {
    "a line of 3 MB": (repeated("e4 ", MEGABYTE), "a line of at most 1,048,576 bytes"),
    "200,000 tags": (repeated('[A "b"]\n', 200_000), "a game of at most 1,048,576"),
    "130,000 tags on a line": (repeated('[A "b"] ', 130_000), ""),
    "10,000 open parentheses": (whole("1. e4 " + "(" * 10_000), "a variation that ends with )"),
    "10,000 nested variations": (whole("1. e4 " + "(" * 10_000 + "e5" + ")" * 10_000), ""),
    "10,000 closing parentheses": (whole("1. e4 " + ")" * 10_000), "a move"),
    "open comments": (repeated("{", MEGABYTE - 10), "a comment that ends with }"),
    "commands in a comment": (whole("e4 {" + "[%clk " * 100_000 + "}"), ""),
    "annotations": (whole("e4 " + "$1 " * 200_000), ""),
    "comments": (whole("e4 " + "{a}" * 200_000), ""),
    "move 1 again and again": (whole("e4 " + "1. " * 200_000), ""),
    "results": (repeated("1-0 ", MEGABYTE // 5), ""),
    "bare numbers": (whole("1 * " * 200), "a legal move of White"),
    "bad games": (repeated("e9 * ", 300), "a legal move"),
    "quotation marks": (repeated('[A "', 60_000), "a tag like"),
    "brackets": (repeated("[", 300_000), "a tag like"),
    "a long name of a tag": (whole("[" + "a" * 500_000), "a tag like"),
    "blanks": (repeated(" ", 3 * MEGABYTE), "a line of at most"),
    "line feeds": (repeated("\n", 300_000), ""),
    "escape lines": (repeated("% escaped\n", 110_000), "a game of at most"),
    "NUL": (whole(b"1. e4 \x00 e5"), "text"),
    "NUL for a megabyte": (repeated("\x00", MEGABYTE // 2), "text"),
    "half a letter of UTF-8": (whole(b"1. e4 {Andr\xc3} e5 *\n\xe2\x82"), "a legal move of White"),
    "UTF-16 with half a letter": (whole("\ufeff1. e4 e9".encode("utf-16") + b"x"), "a legal move"),
    "random bytes": (whole(random.Random(1).randbytes(200_000)), "text"),
    "a long word": (whole("f5" * 200_000), "legal moves (move 2 of it"),
    "a long start": (whole(f'[FEN "{"8/" * 100_000}"] e4'), "4096 characters"),
    "a start of large ranges": (
        whole(f'[GameType "20"] [FEN "W:W{"1-999," * 500}31:B1"] 31-26'), "a game that is played",
    ),
    "unknown options": (whole('[Game "hex"]' + '[Option "a=b"]' * 50_000 + " a1"), "has no option"),
    "SGF 10,000 deep": (whole(SGF + "(;W[ii]" * 10_000 + ")" * 10_000 + ")"), "a move of B"),
    "SGF variations 10,000 deep": (whole(f"{SGF}(;W[ii])" + "(;W[gg]" * 10_000 + ")" * 10_001), ""),
    "SGF without an end": (whole(SGF + "(;W[ii]" * 10_000), ") at its end"),
    "an SGF value of 2 MB": (
        joined(whole(f"{SGF}C["), repeated("words\n", MEGABYTE // 3)), "a game of at most",
    ),
    "letters in an SGF variation": (whole(f"{SGF}(;W[ii])(;" + "a" * 500_000 + "))"), ""),
    "parentheses on an SGF line": (whole(f"{SGF})" + "( " * 300_000), ") at its end"),
    "SGF comments": (whole(SGF + "C[a]" * 100_000 + ")"), ""),
    "GGF without an end": (whole("(;GM[Othello]PB[a]BO[8 "), ") at its end"),
    "a long GGF move": (whole("(;GM[Othello]B[" + "F5" * 100_000 + "];)"), "a legal move"),
    "nested JSON": (whole('{"plyroom":1,"a":' + "[" * 100_000), "a game in JSON"),
    "a line of digits": (whole("4" * 500_000), "legal moves (move 7 of it"),
}  # fmt: skip


#: Files that take some seconds to read, or to count their memory.
LARGE: dict[str, tuple[Callable[[], Parts], str]] = {
    "a line of 10 MB": (repeated("e4 ", 10 * MEGABYTE // 3), "a line of at most 1,048,576 bytes"),
    "a million tags": (repeated('[A "b"]\n', 1_000_000), "a game of at most 1,048,576"),
    "an SGF value of 10 MB": (
        joined(whole(f"{SGF}C["), repeated("words\n", 10 * MEGABYTE // 6)), "a game of at most",
    ),
    "2,001 moves": (whole("Nf3 Nf6 Ng1 Ng8 " * 501), "at most 2000 moves"),
    "a file of bad games": (repeated("e9 * ", MEGABYTE // 6), "the rest is not read"),
    "ten million bad games": (repeated("e9 *\n\n", 10_000_000), "the rest is not read"),
}  # fmt: skip


def check(content: Parts, expected: str) -> None:
    """Asserts that the last sentence about a bad game says this; "" if there is none."""
    last = None
    for game in read_games(content, load_game):
        if isinstance(game, BadGame):
            last = game
            assert len(str(game)) < 600, "a sentence"
    assert (last is None) == (expected == ""), last
    assert last is None or expected in last.expected


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_named_in_a_sentence(name: str) -> None:
    """No file raises; what is wrong with it is said in a sentence, and the rest of it is read."""
    content, expected = HOSTILE[name]
    check(content(), expected)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", LARGE)
def test_large_files_are_read_in_bounded_memory(name: str) -> None:
    """The same for larger files; at most one game is in memory."""
    content, expected = LARGE[name]
    tracemalloc.start()
    try:
        check(content(), expected)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < MAX_MEMORY_BYTES


def sample_file(suffix: str) -> bytes:
    """A file of some games in a format."""
    if suffix == "jsonl":
        text = "".join(format_json_line(random_record("chess", seed, 20)) for seed in range(4))
        return text.encode()
    return b"".join(path.read_bytes() for path in sorted(Path(FILES).glob(f"*.{suffix}")))


def check_cuts(suffix: str, step: int) -> None:
    """Asserts that a file cut anywhere is read without an exception, and no game is half taken."""
    content = sample_file(suffix)[:4096]
    whole_games = list(read_games([content], load_game))
    for end in range(0, len(content), step):
        games = list(read_games([content[:end]], load_game))
        # All but the last game of the cut file are those of the whole file.
        assert games[:-1] == whole_games[: max(0, len(games) - 1)], (suffix, end)


@pytest.mark.parametrize("suffix", ["pgn", "pdn", "sgf", "ggf", "txt", "jsonl"])
def test_files_that_are_cut(suffix: str) -> None:
    """A file may end at any byte."""
    check_cuts(suffix, 199)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("suffix", ["pgn", "pdn", "sgf", "ggf", "txt", "jsonl"])
def test_files_that_are_cut_at_every_byte(suffix: str) -> None:
    """The same for each byte of 4 kB."""
    check_cuts(suffix, 1)


def test_no_game_is_half_taken() -> None:
    """A game with a bad move is no record with the moves before it."""
    for text in (
        "1. e4 e5 2. Ke3 *",
        "(;GM[4];B[hh];W[hh])",
        "(;GM[Othello]B[F5]W[F5];)",
        "f5d6f5",
    ):
        (game,) = read_games([text.encode()], load_game)
        assert not isinstance(game, GameRecord), text
