"""JSON lines: one game a line, for every game and without loss. Pure.

    {"plyroom":1,"match":"…","game":"chess","options":{},"rules":"0a35…","start":"rnbq…",
     "seats":[{"name":"Ada","kind":"guest"},{"name":"AI level 3","kind":"ai","level":3}],
     "moves":["e2e4","e7e5"],"text":["e4","e5"],"spent_ms":[1200,350],
     "over":{"winner":0,"how":"resign","reason":"AI level 3 resigned"},
     "started_ms":1700000000000,"finished_ms":1700000060000}

The first key is the number of the format; the others come in the order of `Line`. Those that may be
unset are left out where they have nothing to say. Keys that this version does not know are kept.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from engine.formats.read.moves import MoveReader
from engine.formats.record import BadGame, FindGame, GameRecord, Move, Over, Seat
from engine.game import GameError, GameFault

#: The number of the format that this version writes, and the greatest one that it reads.
VERSION = 1
#: Maximum length of a line, in bytes.
MAX_LINE_BYTES = 16 * 2**20
#: A moment in ms since 1970, in the years 1 to 9999.
Moment = Annotated[int, Meta(ge=-62_135_596_800_000, le=253_402_300_799_999)]
#: A duration in ms, up to some 30,000 years.
Duration = Annotated[int, Meta(ge=0, le=10**15)]
#: What an evaluation looks like.
Eval = Annotated[str, Meta(pattern=r"^(#-?\d{1,4}|-?\d{1,6}(\.\d{1,6})?)(,\d{1,4})?$")]
#: The number of a ply.
Ply = Annotated[str, Meta(pattern=r"^\d{1,6}$")]

T = TypeVar("T")


class Line(Struct, kw_only=True):
    """A line, its fields in their order. Each list has one element for each move, null where that
    is not known.

    - `comments` and `nags` are by ply, "1" for the first move; a comment at "0" stands before it.
    - `thoughts` are by ply from "0" for the first move, as the server's API has them.
    """

    plyroom: int
    match: str = ""
    game: str
    options: dict[str, str] = {}
    rules: str = ""
    start: str
    seats: tuple[Seat, Seat]
    moves: list[str]
    text: list[str | None] | UnsetType = UNSET
    spent_ms: list[Duration | None] | UnsetType = UNSET
    clock_ms: list[Duration | None] | UnsetType = UNSET
    eval: list[Eval | None] | UnsetType = UNSET
    comments: dict[Ply, str] | UnsetType = UNSET
    nags: dict[Ply, tuple[Annotated[int, Meta(ge=0, le=255)], ...]] | UnsetType = UNSET
    over: Over | None = None
    started_ms: Moment | None = None
    finished_ms: Moment | None = None
    tags: dict[str, str] | UnsetType = UNSET
    thoughts: dict[Ply, Any] | UnsetType = UNSET


_encode = msgspec.json.Encoder().encode


def format_json_line(record: GameRecord, _find_game: FindGame | None = None) -> str:
    """The line of a game, with its line feed. It needs no rules, and can write every game."""
    moves = record.moves
    comments = [record.comment, *[move.comment for move in moves]]
    line = Line(
        plyroom=VERSION, match=record.match, game=record.game, options=record.options,
        rules=record.rules, start=record.start, seats=(record.seats[0], record.seats[1]),
        moves=[move.token for move in moves],
        text=_column([move.text for move in moves]),
        spent_ms=_column([move.spent_ms for move in moves]),
        clock_ms=_column([move.clock_ms for move in moves]),
        eval=_column([move.eval for move in moves]),
        comments={str(ply): text for ply, text in enumerate(comments) if text} or UNSET,
        nags={str(ply): move.nags for ply, move in enumerate(moves, 1) if move.nags} or UNSET,
        over=record.over, started_ms=record.started_ms, finished_ms=record.finished_ms,
        tags=record.tags or UNSET, thoughts=record.thoughts or UNSET,
    )  # fmt: skip
    text = _encode(line).decode()
    if record.extra:
        text = f"{text[:-1]},{_encode(record.extra).decode()[1:]}"
    return text + "\n"


def _column(values: list[T | None]) -> list[T | None] | UnsetType:
    return values if any(value is not None for value in values) else UNSET


def parse_json_lines(parts: Iterable[bytes], find_game: FindGame) -> Iterator[GameRecord | BadGame]:
    """Reads the games of a file, given in parts of any size. Blank lines are skipped.

    Each game is played through by its rules. One that is malformed, whose moves they refuse, or
    that a newer program wrote is a BadGame.
    """
    number = 0
    for line_number, line in enumerate(_lines(parts), 1):
        if line is not None and not line.strip(b" \t\r\xef\xbb\xbf"):
            continue
        number += 1
        try:
            yield _parse_line(line, find_game)
        except _Bad as bad:
            yield BadGame(number, line_number, bad.column, bad.found, bad.expected)


class _Bad(Exception):
    """What is wrong with a line, as in BadGame."""

    def __init__(self, column: int, found: str, expected: str) -> None:
        super().__init__(expected)
        self.column, self.found, self.expected = column, found[:80], expected


def _lines(parts: Iterable[bytes]) -> Iterator[bytes | None]:
    """The lines of a file; None for one that is longer than MAX_LINE_BYTES."""
    kept: list[bytes] = []
    kept_bytes, is_long = 0, False
    for part in parts:
        *whole, rest = part.split(b"\n")
        for end in whole:
            is_long = is_long or kept_bytes + len(end) > MAX_LINE_BYTES
            yield None if is_long else b"".join([*kept, end])
            kept, kept_bytes, is_long = [], 0, False
        kept_bytes += len(rest)
        is_long = is_long or kept_bytes > MAX_LINE_BYTES
        kept = [] if is_long else [*kept, rest] if rest else kept
    if is_long or kept:
        yield None if is_long else b"".join(kept)


def _parse_line(line: bytes | None, find_game: FindGame) -> GameRecord:
    if line is None:
        raise _Bad(MAX_LINE_BYTES, "…", f"a line of at most {MAX_LINE_BYTES:,} bytes")
    line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        place = re.search(r"byte (\d+)|position (\d+)", str(error))
        is_cut = "truncated" in str(error)
        at = int(place[1] or place[2]) if place else len(line) if is_cut else 0
        before = line[:at].decode(errors="replace")
        found = line[at : at + 20].decode(errors="replace")
        raise _Bad(len(before) + 1, found, f"a game in JSON ({error})") from error
    version = fields.get("plyroom") if isinstance(fields, dict) else None
    if type(version) is not int or version < 1:
        shown = line[:20].decode(errors="replace")
        raise _Bad(1, shown, 'an object with the number of its format, {"plyroom":1,')
    if version > VERSION:
        raise _Bad(
            1, f'"plyroom":{version}',
            f"format {VERSION}: a newer program wrote the line, and a newer one can read it",
        )  # fmt: skip
    try:
        parsed = msgspec.convert(fields, Line)
    except msgspec.ValidationError as error:
        _, _, path = str(error).rpartition(" - at ")
        raise _Bad(1, path.strip("`"), f"another value ({error})") from error
    record = _record(parsed, {key: fields[key] for key in fields if key not in _KEYS})
    return _checked(record, line.decode(), find_game)


#: The keys that this version knows.
_KEYS = frozenset(Line.__struct_fields__)


def _record(line: Line, extra: dict[str, Any]) -> GameRecord:
    count = len(line.moves)
    columns = []
    for name in ("text", "spent_ms", "clock_ms", "eval"):
        values = getattr(line, name)
        if values is not UNSET and len(values) != count:
            raise _Bad(1, f"$.{name}", f"a list with one element for each of {count} moves")
        columns.append([None] * count if values is UNSET else values)
    comments = {} if line.comments is UNSET else line.comments
    nags = {} if line.nags is UNSET else line.nags
    for name, plies in (("comments", comments), ("nags", nags)):
        if beyond := [ply for ply in plies if int(ply) > count]:
            raise _Bad(1, f"$.{name}.{beyond[0]}", f"a ply from 0 to {count}")
    if line.over is not None and line.over.winner not in (0, 1, None):
        raise _Bad(1, f"$.over.winner {line.over.winner}", "a seat, 0 or 1, or null")
    moves = [
        Move(
            token, text, spent_ms, clock_ms, value,
            comments.get(f"{ply}", ""), nags.get(f"{ply}", ()),
        )
        for ply, (token, text, spent_ms, clock_ms, value) in enumerate(
            zip(line.moves, *columns, strict=True), 1
        )
    ]  # fmt: skip
    return GameRecord(
        line.match, line.game, line.options, line.rules, line.start, line.seats, tuple(moves),
        line.over, line.started_ms, line.finished_ms, {} if line.tags is UNSET else line.tags,
        comments.get("0", ""), {} if line.thoughts is UNSET else line.thoughts, extra,
    )  # fmt: skip


def _checked(record: GameRecord, line: str, find_game: FindGame) -> GameRecord:
    """The record with all its options. Raises _Bad unless its rules allow every move."""
    try:
        game = find_game(record.game)
    except (GameError, GameFault) as error:
        raise _Bad(_column_of(line, "game"), record.game, f"another game ({error})") from error
    try:
        options = game.check_options(record.options)
        position = game.position(record.start, options)
    except (GameError, GameFault) as error:
        raise _Bad(_column_of(line, "start"), record.start, f"a start ({error})") from error
    reader = MoveReader(position)
    for index, move in enumerate(record.moves):
        try:
            reader.take(move.token)
        except (GameError, GameFault) as error:
            column = _column_of(line, "moves", index)
            raise _Bad(column, move.token, f"a legal move {index + 1} ({error})") from error
    return msgspec.structs.replace(record, options=options)


def _column_of(line: str, key: str, element: int = 0) -> int:
    """The column of the value of a key, or of an element of its list of strings, from 1."""
    # A quotation mark within a string is escaped: the key does not match there.
    found = re.search(rf'(?<!\\)"{key}"\s*:\s*\[?\s*', line)
    if found is None:
        return 1
    strings = re.finditer(r'"(?:[^"\\]|\\.)*"', line[found.end() :])
    for index, string in enumerate(strings):
        if index == element:
            return found.end() + string.start() + 1
    return 1
