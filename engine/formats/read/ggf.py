"""Games of Othello as the servers GGS and their clients write them: GGF. Pure.

    (;GM[Othello]PC[GGS/os]PB[ann]PW[bob]TY[8]RE[+4.000]
    BO[8 ---------------------------O*------*O--------------------------- *]
    B[F5//0.01]W[D6/-1.20/3.5]...;)

A move has the evaluation of its player and the seconds that it took. A result counts the discs of
Black more than those of White.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import structs

from engine.formats.read.moves import GameIsOver
from engine.formats.read.positions import read_position
from engine.formats.read.results import over
from engine.formats.read.san import reader_of
from engine.formats.read.sgf import BadTree, Property, main_line, read_trees
from engine.formats.record import BadGame, FindGame, GameRecord, Over, Seat
from engine.game import GameError, Position

#: Properties of the game and the tags of PGN that say the same.
TAGS = {
    "PC": "Site", "DT": "Date", "EV": "Event", "RB": "BlackElo", "RW": "WhiteElo",
    "TI": "TimeControl",
}  # fmt: skip
#: The kinds of matches that have the usual board and rules: 8, s8 (two games at once), 8r20 (from a
#: random position).
TYPE = re.compile(r"s?8(?:r\d+)?", re.IGNORECASE)
RESULT = re.compile(r"([+-]?\d{1,3}(?:\.\d+)?)(?::([a-z]))?", re.IGNORECASE)
#: The letters after a result, and the words of the server's logs.
WAYS = {
    "r": ("resign", "resignation"), "t": ("flag", "time"), "l": ("gone", "a player left"),
    "s": ("agreement", "agreement"),
}  # fmt: skip
#: A date as our writer has it; others stay tags.
DATE = "%Y-%m-%d %H:%M:%S GMT"
#: A date as GGS has it, with the time of day and a zone by a name that may mean several.
GGS_DATE = re.compile(r"(\d{4}\.\d{2}\.\d{2})_(\d{2}:\d{2}:\d{2})(?:\.(\w{1,5}))?", re.ASCII)
#: The time at the start and what a move gains, without the third time of GGS.
CONTROL = re.compile(r"(\d{1,3}):(\d{2})(?:/(\d{1,2}):(\d{2}))?", re.ASCII)
#: Values that say nothing.
EMPTY = ("", "0", "?", "Plyroom")
EVALUATION = re.compile(r"[+-]?\d{1,5}(?:\.\d{1,4})?")
SECONDS = re.compile(r"\d{1,7}(?:\.\d{1,6})?")


def parse_ggf(chunks: Iterable[bytes], find_game: FindGame) -> Iterator[GameRecord | BadGame]:
    """Yields the games of a file, given in parts of any size, in their order.

    At most one game is in memory. Raises only GameFault, or what `find_game` raises, for a broken
    rules file.
    """
    return read_trees(chunks, lambda text: _record(text, find_game))


def _record(text: str, find_game: FindGame) -> GameRecord:
    """The game of a tree. Raises BadTree."""
    root: dict[str, Property] = {}
    played: list[Property] = []
    for item in main_line(text):
        if isinstance(item, Property) and item.name in ("B", "W"):
            played.append(item)
        elif isinstance(item, Property):
            root.setdefault(item.name, item)
    start = _start(root, find_game)
    reader = reader_of(start)
    for item in played:
        value = item.values[0]
        cell, _, rest = value.partition("/")
        evaluation, _, seconds = rest.partition("/")
        found, side = f"{item.name}[{value}]", "BW"[reader.turn]
        if item.name != side and reader.position.forced_pass() is None:
            raise BadTree(item.offset, found, f"a move of {side}")
        try:
            reader.read(cell.strip())
        except GameIsOver as error:
            raise BadTree(item.offset, found, f"the end of the game ({error})") from error
        except GameError as error:
            raise BadTree(item.offset, found, f"a legal move ({error})") from error
        last = reader.moves[-1]
        if EVALUATION.fullmatch(evaluation):
            # Ours is for White.
            white = float(evaluation) * (1 if item.name == "W" else -1)
            last = structs.replace(last, eval=f"{white + 0:.2f}")
        if SECONDS.fullmatch(seconds):
            last = structs.replace(last, spent_ms=round(float(seconds) * 1000))
        reader.moves[-1] = last
    names = [root[name].values[0].strip() if name in root else "" for name in ("PB", "PW")]
    tags = {
        TAGS[name]: " ".join(item.values[0].split())
        for name, item in root.items() if name in TAGS and item.values[0].strip() not in EMPTY
    }  # fmt: skip
    started_ms = None
    with suppress(ValueError):
        time = datetime.strptime(tags.get("Date", ""), DATE).replace(tzinfo=UTC)
        started_ms = round(time.timestamp() * 1000)
        del tags["Date"]
    if date := GGS_DATE.fullmatch(tags.get("Date", "")):
        tags |= {"Date": date[1], "Time": f"{date[2]} {date[3] or ''}".strip()}
    if control := CONTROL.fullmatch(tags.get("TimeControl", "")):
        base_s, gain_s = (60 * int(control[i] or 0) + int(control[i + 1] or 0) for i in (1, 3))
        tags["TimeControl"] = f"{base_s}+{gain_s}" if control[3] else f"{base_s}"
    return GameRecord(
        match="", game=start.game.id, options=dict(start.options), rules="", start=start.text(),
        seats=tuple(Seat(name) for name in names), moves=tuple(reader.moves),
        over=reader.over(_over(root)), started_ms=started_ms, tags=tags,
    )  # fmt: skip


def _start(root: dict[str, Property], find_game: FindGame) -> Position:
    """The position at the start. Raises BadTree for one of another game."""
    kind = root.get("GM")
    if kind is None or kind.values[0].strip().lower() not in ("othello", "reversi"):
        found = "(" if kind is None else f"GM[{kind.values[0]}]"
        raise BadTree(0 if kind is None else kind.offset, found, "GM[Othello]")
    if (match_type := root.get("TY")) and not TYPE.fullmatch(match_type.values[0].strip()):
        found = f"TY[{match_type.values[0]}]"
        raise BadTree(match_type.offset, found, "Othello on 8 by 8 by the usual rules, TY[8]")
    try:
        game = find_game("othello")
        board = root.get("BO")
        if board is None:
            return game.start()
        size, _, cells = board.values[0].strip().partition(" ")
        if size != "8":
            raise BadTree(board.offset, f"BO[{size}", "Othello on 8 by 8, BO[8 …]")
        return read_position(game, cells).position
    except GameError as error:
        offset = kind.offset if board is None else board.offset
        raise BadTree(offset, "BO", f"a position of Othello ({error})") from error


def _over(root: dict[str, Property]) -> Over | None:
    """The end as the file says it."""
    result = RESULT.fullmatch(root["RE"].values[0].strip()) if "RE" in root else None
    if result is None:
        return None
    how, reason = WAYS.get((result[2] or "").lower(), ("", ""))
    lead = float(result[1])
    written = "1-0" if lead > 0 else "0-1" if lead < 0 else "1/2-1/2"
    return over((0, 1), written, reason, how)
