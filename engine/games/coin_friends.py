"""Coin friends: one side chooses a friend, and the friends choose the coin that is given.

A tree of nine nodes to search by hand. The strategies of `engine.teach` play it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.game import DRAWN, ONGOING, Option, State
from engine.jit import U
from engine.view import BoardView, Kind, MoveView, PositionView, SeatView, Site, Sites

NAME = "coin-friends"
TITLE = "Coin friends"
#: Bits 0 and 1 hold the number of the friend who was asked, bits 2 and 3 the place of the coin plus
#: 1; both are 0 at the start. Bit 4 is set for generous friends.
WORDS = 1
MAX_MOVES = 3
LEVELS = 0
SEARCH = "teach"
NUMBERING = "ply"
POINTS_UNIT = "cents"
OPTIONS: Mapping[str, Option] = {
    "friends": Option(
        "The friends",
        "greedy",
        ("greedy", "generous"),
        phrases={"greedy": "Greedy friends", "generous": "Generous friends"},
    )
}
DATA = ()
GOAL = "Ask the friend who gives you the better coin."
RULES = """Two friends have three coins each, for all to see. Asker chooses one of the friends, and
this friend gives one coin. Then the match is over. Asker plays one side, the friends the other.

Greedy friends want to give little, and Asker wants much. So Asker should choose the friend whose
smallest coin is larger.

Generous friends insist on giving much, and Asker is modest and wants little. So Asker should
choose the friend whose largest coin is smaller.

Nobody wins: the match is a draw, and Asker's points are the cents of the coin."""

FRIENDS = ("one", "two")
#: The coins of both friends, in cents.
GREEDY = ((10, 50, 25), (5, 2, 25))
GENEROUS = ((5, 2, 25), (50, 10, 20))
NAMES = ("Asker", "Friends")
#: The bit of generous friends.
ARE_GENEROUS = 1 << 4
#: The place of the coin that Asker was given.
HAND = "h"


def _purses(is_generous: bool) -> tuple[tuple[int, ...], ...]:
    return GENEROUS if is_generous else GREEDY


def _is_generous(s: State) -> bool:
    return bool(int(s[0]) & ARE_GENEROUS)


def _friend(s: State) -> int | None:
    """The friend who was asked, or None."""
    number = int(s[0]) & 3
    return number - 1 if number else None


def _coin(s: State) -> int | None:
    """The coin that was given, in cents, or None."""
    friend, place = _friend(s), int(s[0]) >> 2 & 3
    return None if friend is None or not place else _purses(_is_generous(s))[friend][place - 1]


def init(options: Mapping[str, str]) -> State:
    return (U(ARE_GENEROUS if options["friends"] == "generous" else 0),)


def status(s: State) -> int:
    return ONGOING if _coin(s) is None else DRAWN


def moves(s: State, buf: Any) -> int:
    friend = _friend(s)
    count = len(FRIENDS) if friend is None else len(_purses(_is_generous(s))[friend])
    for place in range(count):
        buf[place] = place
    return count


def play(s: State, m: int) -> State:
    return (U(int(s[0]) | (m + 1) << 2 * turn(s)),)


def no_moves_result(s: State) -> int:
    return DRAWN


def key(s: State) -> np.uint64:
    return U(int(s[0]) + 1)


def evaluate(s: State, data: Any) -> int:
    return 0


def turn(s: State) -> int:
    return int(_friend(s) is not None and _coin(s) is None)


def points(s: State) -> tuple[int, int] | None:
    coin = _coin(s)
    return None if coin is None else (coin, 0)


def maximizer(s: State) -> int:
    """Asker is MAX of greedy friends; generous friends are MAX themselves."""
    return int(_is_generous(s))


# --- texts


def parse_move(s: State, text: str) -> int:
    return _tokens(s).index(text)


def format_move(s: State, m: int) -> str:
    return _tokens(s)[m]


def _tokens(s: State) -> tuple[str, ...]:
    """The tokens of the moves: the friends, then the coins of the friend who was asked."""
    friend = _friend(s)
    return FRIENDS if friend is None else tuple(map(str, _purses(_is_generous(s))[friend]))


def parse_position(text: str, options: Mapping[str, str]) -> State:
    s = init(options)
    for token in [] if text == "start" else text.split("-", 1):
        if token not in _tokens(s):
            raise ValueError("start, a friend, or a friend and a coin are expected: one-10")
        s = play(s, parse_move(s, token))
    return s


def format_position(s: State) -> str:
    friend, coin = _friend(s), _coin(s)
    if friend is None:
        return "start"
    return FRIENDS[friend] if coin is None else f"{FRIENDS[friend]}-{coin}"


def ending(s: State) -> str:
    return f"Asker got {_coin(s)} cents"


# --- the board


def board(options: Mapping[str, str]) -> BoardView:
    purses = _purses(options["friends"] == "generous")
    rows = [
        (_friend_cell(friend), *(_coin_cell(friend, place) for place in range(len(purse))))
        for friend, purse in enumerate(purses)
    ]
    sites = [
        Site(cell, 1.1 * column, 1.4 * row, "round")
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    ]
    friends = {
        name: Kind(name=f"friend {name}", sprite="pawn", text=f"F{number}")
        for number, name in enumerate(FRIENDS, 1)
    }
    coins = {
        str(coin): Kind(name=f"{coin} cents", text=str(coin), mark=str(coin))
        for purse in purses
        for coin in purse
    }
    return BoardView(
        board=Sites(sites=(*sites, Site(HAND, 4.8, 0.7)), lines=tuple(rows), style="plain"),
        kinds={**friends, **coins},
        seats=(SeatView(NAMES[0], "#2471a3"), SeatView(NAMES[1], "#c0392b")),
    )


def _friend_cell(friend: int) -> str:
    return f"{friend + 1}"


def _coin_cell(friend: int, place: int) -> str:
    return f"{friend + 1}{'abc'[place]}"


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    friend, side, coin = _friend(s), turn(s), _coin(s)
    pieces = {_friend_cell(number): name for number, name in enumerate(FRIENDS)}
    for number, purse in enumerate(_purses(_is_generous(s))):
        pieces |= {_coin_cell(number, place): str(cents) for place, cents in enumerate(purse)}
    path = move_view(*last).path if last else ()
    if friend is None or coin is None:
        return PositionView(pieces, side, f"{NAMES[side]} to move", {"last": path}, path)
    pieces[HAND] = pieces.pop(_coin_cell(friend, (int(s[0]) >> 2 & 3) - 1))
    return PositionView(pieces, None, ending(s), {"last": (*path, HAND)}, path)


def move_view(s: State, m: int) -> MoveView:
    token, friend = format_move(s, m), _friend(s)
    if friend is None:
        return MoveView(id=token, path=(_friend_cell(m),), text=f"ask friend {token}")
    cell = _coin_cell(friend, m)
    return MoveView(
        id=token, path=(cell,), text=f"give {token} cents", affects=(cell,), ghost=(HAND, token)
    )
