"""Smart Game Format, FF[4]: gomoku `GM[4]`, Othello `GM[2]` and Hex `GM[11]`. Pure.

    (;FF[4]CA[UTF-8]GM[4]AP[Plyroom]SZ[15]DT[2026-11-28]PB[Ada]PW[Ben]RE[B+]
    ;B[hh];W[gg])

The players of the first seat are black: Black begins in gomoku and Othello, and Red, who begins in
Hex, is written as Black, as Hex players do. Points of gomoku and Othello are `aa` at the top left;
a cell of Hex is `e4`, the swap `swap-pieces`, and a pass of Othello is empty. A set-up start has
the pieces in `AB` and `AW`, and the side to move in `PL`. Nine men's morris has no moves in FF[4].

The format is that of the specification at red-bean.com/sgf, with the properties of its games.
"""

import re
from collections.abc import Iterator

from engine.formats.pgn import find_or_none, is_standard, moment
from engine.formats.record import FindGame, GameRecord, Over, Unwritable
from engine.game import Game, GameError, GameFault, Position
from engine.view import Grid

#: The number of each game in the property GM.
NUMBERS = {"gomoku": 4, "othello": 2, "hex": 11}
#: A time control of one stage: its base and what each turn gains in seconds, and the overtime.
CONTROL = re.compile(r"(\d+)(?:\+(\d+))?(?:\+(\d+)([x/])(\d+))?", re.ASCII)
#: Maximum length of a line in characters, where a node may end.
LINE = 79


def format_sgf(record: GameRecord, find_game: FindGame) -> str:
    """The game tree of a game, with an empty line after it.

    Raises Unwritable for a game without a number, and if the rules of the game are not here.
    """
    if record.game not in NUMBERS:
        raise Unwritable(f"SGF has no moves of {record.game}")
    game = find_or_none(record, find_game)
    if game is None:
        raise Unwritable(f"the rules of {record.game} are not here")
    try:
        position = game.position(record.start, record.options)
        nodes = [_root(record, game, position), *_moves(record, game, position.turn)]
    except (GameError, GameFault) as error:
        raise Unwritable(f"the rules no longer know the game: {error}") from error
    lines = [nodes[0]]
    for node in nodes[1:]:
        is_full = len(lines) == 1 or len(lines[-1]) + len(node) > LINE
        lines[len(lines) - (not is_full) :] = [node if is_full else lines[-1] + node]
    return f"({chr(10).join(lines)})\n\n"


def _root(record: GameRecord, game: Game, start: Position) -> str:
    board = game.board(record.options).board
    size = board.rows if isinstance(board, Grid) else 11
    properties = [
        ("FF", "4"), ("CA", "UTF-8"), ("GM", str(NUMBERS[record.game])), ("AP", "Plyroom"),
        ("SZ", str(size)), ("DT", _date(record)), ("EV", record.tags.get("Event", "")),
        ("RO", record.tags.get("Round", "")), ("PC", record.tags.get("Site", "")),
        ("PB", record.seats[0].name), ("PW", record.seats[1].name),
        *time_properties(record.tags.get("TimeControl", "-")),
        ("RU", _rules(record, game)), ("RE", result_text(record.over)),
        ("GC", "" if record.over is None else record.over.reason), ("C", record.comment),
    ]  # fmt: skip
    text = ";" + "".join(
        f"{name}[{escaped(value)}]" for name, value in properties if value.strip("? ")
    )
    return text if is_standard(record, game) else text + _set_up(record, game, start)


def time_properties(control: str) -> list[tuple[str, str]]:
    """The properties TM and OT of a time control as the tag `TimeControl` has it; none for "-".

    Overtime is written as servers of Go do: "3 fischer", "5x30 byo-yomi", "25/600 Canadian". A
    control of another form stands whole in OT.
    """
    if control in ("-", "?"):
        return []
    parts = CONTROL.fullmatch(control)
    if parts is None or (parts[2] and parts[3]):
        return [("OT", control)]
    overtime = f"{parts[2]} fischer" if parts[2] else ""
    if parts[3]:
        kind = "byo-yomi" if parts[4] == "x" else "Canadian"
        overtime = f"{parts[3]}{parts[4]}{parts[5]} {kind}"
    return [("TM", parts[1]), ("OT", overtime)]


def _set_up(record: GameRecord, game: Game, start: Position) -> str:
    """The pieces of a start, and the side to move."""
    kinds = game.board(record.options).kinds
    cells: dict[int | None, list[str]] = {0: [], 1: []}
    for cell, kind in start.view().pieces.items():
        cells[kinds[kind].side].append(f"[{_point(record, game, cell)}]")
    stones = "".join(f"A{'BW'[side]}{''.join(cells[side])}" for side in (0, 1) if cells[side])
    return f"{stones}PL[{'BW'[start.turn]}]"


def _rules(record: GameRecord, game: Game) -> str:
    """The options that differ from those of the game's usual form, as in "swap=no"."""
    return ",".join(
        f"{name}={value}"
        for name, value in record.options.items() if game.options[name].default != value
    )  # fmt: skip


def _moves(record: GameRecord, game: Game, turn: int) -> Iterator[str]:
    """A node for each move. The sides take turns: passes are moves."""
    for index, move in enumerate(record.moves):
        side = "BW"[(turn + index) % 2]
        time = ""
        if move.clock_ms is not None:
            time = f"{side}L[{move.clock_ms / 1000:.3f}]"
        comment = f"C[{escaped(move.comment)}]" if move.comment.strip() else ""
        yield f";{side}[{_point(record, game, move.token)}]{time}{comment}"


def _point(record: GameRecord, game: Game, token: str) -> str:
    """A cell or a move as SGF has it."""
    if record.game == "hex":
        return "swap-pieces" if token == "swap" else token
    if token == "pass":
        return ""
    board = game.board(record.options).board
    assert isinstance(board, Grid), "gomoku and Othello are played on grids"
    row = int(token[1:])
    from_top = row - 1 if board.origin == "top-left" else board.rows - row
    return f"{token[0]}{chr(97 + from_top)}"


def result_text(over: Over | None) -> str:
    """The property RE: "B+12" by points, "W+R" by resignation, "B+F" where the opponent had gone,
    "0" for a draw, "Void" for no result, "?" for a game without an end.
    """
    if over is None:
        return ""
    if not over.has_result:
        return "Void"
    if over.winner is None:
        return "0"
    by = {"resign": "R", "flag": "T", "gone": "F"}.get(over.how, "")
    if over.how == "board" and over.points is not None:
        by = str(abs(over.points[0] - over.points[1]))
    return f"{'BW'[over.winner]}+{by}"


def _date(record: GameRecord) -> str:
    if record.started_ms is not None:
        return moment(record.started_ms).date().isoformat()
    return record.tags.get("Date", "").replace(".??", "").replace(".", "-")


def escaped(text: str) -> str:
    """A text between its brackets, without control characters but line feeds."""
    plain = "".join([each if each.isprintable() or each == "\n" else " " for each in text])
    return plain.replace("\\", "\\\\").replace("]", "\\]")
