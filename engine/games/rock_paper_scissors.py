"""Rock, paper, scissors by turns: the second player sees the sign of the first.

A state machine of 13 states to search by hand. The strategies of `engine.teach` play it.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, WON, Option, State
from engine.jit import U
from engine.view import BoardView, Kind, MoveView, PositionView, SeatView, Site, Sites

NAME = "rock-paper-scissors"
TITLE = "Rock, paper, scissors"
#: Two bits for the sign of each side, First's lowest: 0 for none, else its place in SIGNS plus 1.
#: Bit 4 is set for private utilities.
WORDS = 1
MAX_MOVES = 3
LEVELS = 0
SEARCH = "teach"
NUMBERING = "ply"
OPTIONS: Mapping[str, Option] = {
    "utilities": Option(
        "What a result is worth",
        "plain",
        ("plain", "private"),
        phrases={
            "plain": "Every win counts the same",
            "private": "Each side has its own utilities",
        },
    )
}
DATA = ()
GOAL = "Show the sign that beats the other one."
RULES = """Two players show a sign by turns: rock, paper or scissors. The first player begins, and
the second player sees that sign before answering.
Rock smashes scissors, scissors cut paper, and paper wraps rock. Equal signs are a tie.
So the player who has to begin loses, if the other one pays attention.

With private utilities the players care how they win. Everybody is proud of their own scissors: to
have them smashed by a rock is worth -20, to cut paper with them 15. Any other loss is worth -1,
any other win 1 and a tie 0. The points of the result say what it was worth to each player."""

#: A sign, which is also the shape of its piece.
Sign = Literal["rock", "paper", "scissors"]
SIGNS: tuple[Sign, ...] = ("rock", "paper", "scissors")
#: What each sign does to the one before it in SIGNS, which it beats.
DEEDS = {"rock": "smashes", "paper": "wraps", "scissors": "cut"}
NAMES = ("First", "Second")
#: The bit of private utilities.
PRIVATE = 1 << 4


def init(options: Mapping[str, str]) -> State:
    return (U(PRIVATE if options["utilities"] == "private" else 0),)


def _signs(s: State) -> list[str]:
    """The signs that are shown, First's first."""
    places = (int(s[0]) & 3, int(s[0]) >> 2 & 3)
    return [SIGNS[place - 1] for place in places if place]


def _beats(sign: str, other: str) -> bool:
    return (SIGNS.index(sign) - SIGNS.index(other)) % 3 == 1


def status(s: State) -> int:
    signs = _signs(s)
    if len(signs) < 2:
        return ONGOING
    first, second = signs
    return WON if _beats(first, second) else LOST if _beats(second, first) else DRAWN


def moves(s: State, buf: Any) -> int:
    for place in range(len(SIGNS)):
        buf[place] = place
    return len(SIGNS)


def play(s: State, m: int) -> State:
    return (U(int(s[0]) | (m + 1) << 2 * turn(s)),)


def no_moves_result(s: State) -> int:
    return DRAWN


def key(s: State) -> np.uint64:
    return U(int(s[0]) + 1)


def evaluate(s: State, data: Any) -> int:
    return 0


def turn(s: State) -> int:
    return len(_signs(s)) & 1


def points(s: State) -> tuple[int, int] | None:
    if not int(s[0]) & PRIVATE:
        return None
    first, second = _signs(s)
    return (_utility(first, second), _utility(second, first))


def _utility(mine: str, theirs: str) -> int:
    """The private utility of a finished game for the player who shows `mine`."""
    if mine == "scissors":
        return {"rock": -20, "paper": 15, "scissors": 0}[theirs]
    return int(_beats(mine, theirs)) - int(_beats(theirs, mine))


# --- texts


def parse_move(s: State, text: str) -> int:
    return SIGNS.index(text)


def format_move(s: State, m: int) -> str:
    return SIGNS[m]


def parse_position(text: str, options: Mapping[str, str]) -> State:
    signs = [] if text == "start" else text.split("-")
    if len(signs) > 2 or not set(signs) <= set(SIGNS):
        raise ValueError("start, or one or two signs are expected: rock-paper")
    shown = sum((SIGNS.index(sign) + 1) << 2 * seat for seat, sign in enumerate(signs))
    return (U(int(init(options)[0]) | shown),)


def format_position(s: State) -> str:
    return "-".join(_signs(s)) or "start"


def ending(s: State) -> str:
    first, second = _signs(s)
    if first == second:
        return f"both show {first}"
    winner, loser = (first, second) if _beats(first, second) else (second, first)
    return f"{winner} {DEEDS[winner]} {loser}"


# --- the board


def board(options: Mapping[str, str]) -> BoardView:
    hands = [
        Site(_held(seat, sign), 4.4 * seat, row, "round")
        for seat in (0, 1)
        for row, sign in enumerate(SIGNS)
    ]
    table = [Site(_shown(seat), 1.6 + 1.2 * seat, 1) for seat in (0, 1)]
    return BoardView(
        board=Sites(sites=(*hands, *table), style="plain"),
        kinds={
            _kind(seat, sign): Kind(
                name=f"{colour} {sign}", side=seat, shape=sign, text=sign[0].upper()
            )
            for seat, colour in enumerate(("red", "blue"))
            for sign in SIGNS
        },
        seats=(SeatView(NAMES[0], "#c0392b"), SeatView(NAMES[1], "#2471a3")),
    )


def _held(seat: int, sign: str) -> str:
    """The place of a sign that a side has not shown."""
    return f"{seat + 1}{sign[0]}"


def _shown(seat: int) -> str:
    """The place on the table where a side shows its sign."""
    return f"{seat + 1}"


def _kind(seat: int, sign: str) -> str:
    return f"{seat}{sign}"


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    signs, side = _signs(s), turn(s)
    pieces = {
        _held(seat, sign): _kind(seat, sign)
        for seat in (0, 1)
        for sign in SIGNS
        if signs[seat : seat + 1] != [sign]
    }
    pieces |= {_shown(seat): _kind(seat, sign) for seat, sign in enumerate(signs)}
    last_path = (_shown(1 - side),) if last else ()
    marks: dict[str, tuple[str, ...]] = {"last": last_path}
    if len(signs) < 2:
        return PositionView(pieces, side, f"{NAMES[side]} to move", marks, last_path)
    result = status(s)
    if result == DRAWN:
        return PositionView(pieces, None, "Draw", marks, last_path)
    winner = int(result == LOST)
    marks["win"] = (_shown(winner),)
    return PositionView(pieces, None, f"{NAMES[winner]} wins", marks, last_path)


def move_view(s: State, m: int) -> MoveView:
    side, sign = turn(s), SIGNS[m]
    return MoveView(
        id=sign,
        path=(_held(side, sign),),
        text=f"show {sign}",
        ghost=(_shown(side), _kind(side, sign)),
    )
