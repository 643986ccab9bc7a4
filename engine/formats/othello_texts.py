"""Two formats of Othello: GGF of the servers GGS and VOG, and the plain transcript. Pure.

    (;GM[Othello]PC[Plyroom]DT[2026-11-28 18:00:00 GMT]PB[Ada]PW[Ben]RE[+12.000]TI[0]TY[8]
     BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]B[F5]W[D6];)

    f5d6c3d3c4

In GGF, `RE` is Black's discs less White's, with `:r` where somebody resigned, `:l` where somebody
left, `:t` for a time forfeit; a move may have its time in seconds, as in `B[F5//2.5]`, and a pass
is `PA`. A transcript has the moves alone, without passes, from the usual start.
"""

from engine.formats.pgn import find_or_none, is_standard, moment
from engine.formats.record import FindGame, GameRecord, Over, Unwritable
from engine.formats.sgf import CONTROL, escaped

#: The letters of the ways in which a match ends before the board is full.
ENDINGS = {"resign": ":r", "gone": ":l", "flag": ":t", "agreement": ":s"}
#: The result of a match that ended early and has no count of discs: all cells are the winner's.
ALL_DISCS = 64


def format_ggf(record: GameRecord, _find_game: FindGame | None = None) -> str:
    """The line of a game, with its line feed. Raises Unwritable for another game."""
    _check_game(record)
    date = "" if record.started_ms is None else f"{moment(record.started_ms):%Y-%m-%d %H:%M:%S} GMT"
    properties = [
        ("GM", "Othello"), ("PC", record.tags.get("Site", "Plyroom")), ("DT", date),
        ("PB", record.seats[0].name), ("PW", record.seats[1].name),
        ("RE", result_text(record.over)), ("TI", _control_text(record)), ("TY", "8"),
        ("BO", board_text(record.start)),
    ]  # fmt: skip
    head = "".join(
        f"{name}[{escaped(value).replace(chr(10), ' ')}]" for name, value in properties if value
    )
    begins = "XO".index(record.start[-1])
    moves = "".join(
        f"{'BW'[(begins + index) % 2]}[{_move_text(move.token)}{_time_text(move.spent_ms)}]"
        for index, move in enumerate(record.moves)
    )
    return f"(;{head}{moves};)\n"


def _check_game(record: GameRecord) -> None:
    if record.game != "othello":
        raise Unwritable(f"the format is for Othello, not for {record.game}")


def _control_text(record: GameRecord) -> str:
    """The property TI: the time at the start and what a move gains, "05:00/00:03"; "0" without a
    clock, and for a control that GGF has no form for.
    """
    parts = CONTROL.fullmatch(record.tags.get("TimeControl", "-"))
    if parts is None or parts[3]:
        return "0"
    times = [divmod(int(part), 60) for part in parts.group(1, 2) if part]
    return "/".join(f"{minutes:02}:{seconds:02}" for minutes, seconds in times)


def _move_text(token: str) -> str:
    return "PA" if token == "pass" else token.upper()


def _time_text(spent_ms: int | None) -> str:
    return "" if spent_ms is None else f"//{spent_ms / 1000:.3f}".rstrip("0").rstrip(".")


def board_text(start: str) -> str:
    """A position as the property BO has it: the size, eight rows and the side to move."""
    cells, turn = start.translate(str.maketrans("X", "*")).split(" ")
    return " ".join(["8", *(cells[row : row + 8] for row in range(0, 64, 8)), turn])


def result_text(over: Over | None) -> str:
    """The property RE: the difference of discs for Black; "?" for none."""
    if over is None or not over.has_result:
        return "?"
    difference = 0 if over.winner is None else ALL_DISCS * (1 - 2 * over.winner)
    if over.how == "board" and over.points is not None:
        difference = over.points[0] - over.points[1]
    return f"{difference:+.3f}{ENDINGS.get(over.how, '')}"


def format_transcript(record: GameRecord, find_game: FindGame) -> str:
    """The line of a game, with its line feed. Raises Unwritable for a game from a set-up start."""
    _check_game(record)
    if not is_standard(record, find_or_none(record, find_game)):
        raise Unwritable("a transcript has moves alone, and the game did not begin at the start")
    return "".join(move.token for move in record.moves if move.token != "pass") + "\n"
