"""Null move: where the search may pass, which results of a pass it trusts, and verification against
zugzwang.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.game import Game
from engine.rules.registry import load_game
from engine.search import layout
from engine.search.driver import Control, Searcher, Table
from engine.search.features import BASIC, IMPROVING, NULL_MOVE
from engine.search.job import Limit
from engine.search.parameters import NULL_DEPTH, VERIFY_DEPTH
from engine.search.report import Report

Searchers = Callable[[str], Searcher]
WITHOUT_PASSES = BASIC | IMPROVING
#: With IMPROVING, so that the search has a static evaluation even where it must not pass.
WITH_PASSES = WITHOUT_PASSES | NULL_MOVE

PAWN_ENDINGS = (
    "8/pp3k2/2p5/3p4/3P4/2P5/PP3K2/8 w - - 0 1",
    "4k3/1p4pp/p7/8/8/2P4P/5PP1/4K3 b - - 0 1",
)

PASSING = '''"""An endless tree, three moves in each state; the option says what passing does."""

from typing import Any

import numpy as np

from engine.game import LOST, ONGOING, Option, State
from engine.jit import U, rule

NAME, TITLE, RULES, DATA, LEVELS, MARGIN = "passing", "Passing", "", (), 1, 2000
WORDS, MAX_MOVES = 2, 3
MODES = ("never", "unstable", "free", "again", "again worse", "wins", "zugzwang")
OPTIONS = {"pass": Option("Passing", "never", MODES)}
MODE, SIDE, PASSED, GAINED, LOST_ALL, MATED = U(15), U(16), U(32), U(64), U(128), U(256)
# Bits of the second word: the mode of passing; the side to move; the opponent has just passed; the
# side to move gained a lot, or lost a lot, by passes; it is mated.
ZUGZWANG = U(6)
# In this mode the first word is a ply and a branch: First may trade, or squeeze Second. Then every
# move of Second costs a lot three plies later; only a pass would not.
ROOT, TRADED, SQUEEZED, LOSING = U(0), U(1 << 8), U(2 << 8), U(3 << 8)
PLY = U(255)


@rule
def mixed(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> U(30))) * U(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> U(27))) * U(0x94D049BB133111EB)
    return word ^ (word >> U(31))


def init(options: Any) -> State:
    return U(0), U(MODES.index(options["pass"]))


@rule
def status(s: State) -> int:
    return LOST if s[1] & MATED else ONGOING


@rule
def moves(s: State, buf: Any) -> int:
    for i in range(MAX_MOVES):
        buf[i] = i
    return MAX_MOVES


@rule
def turned(flags: np.uint64) -> np.uint64:
    """The flags for the other side: a gain of one side is a loss of the other."""
    mode_and_side = (flags & MODE) | ((flags & SIDE) ^ SIDE)
    return mode_and_side | ((flags & GAINED) << U(1)) | ((flags & LOST_ALL) >> U(1))


@rule
def advanced(word: np.uint64, m: int) -> np.uint64:
    """The ply and the branch after a move, or after a pass: move -1."""
    ply = (word & PLY) + U(1)
    branch = word & ~PLY
    if ply == U(1):
        branch = TRADED if m == 0 else SQUEEZED
    elif ply == U(2) and branch == SQUEEZED:
        branch = LOSING if m >= 0 else ROOT
    return ply | branch


@rule
def play(s: State, m: int) -> State:
    if s[1] & MODE == ZUGZWANG:
        return advanced(s[0], m), turned(s[1])
    return mixed(s[0] + U(m) + U(1)), turned(s[1])


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def key(s: State) -> np.uint64:
    return mixed(s[0] ^ ((s[1] & ~MODE) << U(50))) | U(1)


@rule
def evaluate(s: State, data: Any) -> int:
    if s[1] & MODE == ZUGZWANG:
        gain = 50 if s[0] & ~PLY == TRADED else 0
        if s[0] & ~PLY == LOSING and s[0] & PLY >= U(5):
            gain = 600
        return -gain if s[1] & SIDE else gain
    value = np.int64(s[0] & U(255)) - 128
    if s[1] & GAINED:
        value += 9000
    if s[1] & LOST_ALL:
        value -= 9000
    return value


@rule
def unstable(s: State) -> int:
    return 1 if (s[0] >> U(20)) & U(3) == U(0) and s[1] & MODE != ZUGZWANG else 0


@rule
def may_pass(s: State) -> int:
    mode = s[1] & MODE
    if mode == U(0):
        return 0
    if mode == U(1):
        return unstable(s)
    return 1


@rule
def pass_turn(s: State) -> State:
    mode, word = s[1] & MODE, mixed(s[0])
    flags = turned(s[1])
    if mode == ZUGZWANG:
        return advanced(s[0], -1), flags
    if mode <= U(2):
        return word, (flags & ~GAINED) | LOST_ALL
    if mode == U(5):
        return word, flags | MATED
    if s[1] & PASSED:
        return word, (flags & ~(GAINED | LOST_ALL)) | (LOST_ALL if mode == U(3) else GAINED)
    return word, flags | PASSED


def turn(s: State) -> int:
    return int(s[1] >> U(4)) & 1


def parse_move(s: State, text: str) -> int:
    return int(text)


def format_move(s: State, m: int) -> str:
    return str(m)


def parse_position(text: str, options: Any) -> State:
    word, side = text.split()
    return U(int(word)), U(MODES.index(options["pass"]) + 16 * int(side))


def format_position(s: State) -> str:
    return f"{int(s[0])} {turn(s)}"


def ending(s: State) -> str:
    return "mated"


def board(options: Any) -> Any:
    raise NotImplementedError


def view(s: State, last: Any) -> Any:
    raise NotImplementedError


def move_view(s: State, m: int) -> Any:
    raise NotImplementedError
'''


@pytest.fixture
def passing(plug_in: Callable[[str, str], Path]) -> Game:
    """The game PASSING."""
    plug_in("passing", PASSING)
    return load_game("passing")


def searched(
    searcher: Searcher, mode: str, seed: int, depth: int, features: int = WITH_PASSES
) -> Report:
    position = searcher.game.position(f"{random.Random(seed).getrandbits(60)} 0", {"pass": mode})
    return searcher.search(position, Limit(depth=depth), Table(14), Control(), features=features)


def outcome_of(report: Report) -> tuple[object, ...]:
    return report.nodes, report.score, report.moves


def check_permission(searcher: Searcher) -> None:
    for seed in range(8):
        without = outcome_of(searched(searcher, "never", seed, 9, WITHOUT_PASSES))
        assert outcome_of(searched(searcher, "never", seed, 9)) == without
        assert outcome_of(searched(searcher, "unstable", seed, 9)) == without
        assert outcome_of(searched(searcher, "free", seed, 9)) != without, "it passes where it may"
        shallow = outcome_of(searched(searcher, "free", seed, NULL_DEPTH, WITHOUT_PASSES))
        assert outcome_of(searched(searcher, "free", seed, NULL_DEPTH)) == shallow


def check_once(searcher: Searcher) -> None:
    for seed in range(8):
        found = outcome_of(searched(searcher, "again", seed, 11))
        assert found == outcome_of(searched(searcher, "again worse", seed, 11))
        assert found != outcome_of(searched(searcher, "never", seed, 11)), "it does pass"


def check_ends(searcher: Searcher) -> None:
    for seed in range(8):
        report = searched(searcher, "wins", seed, 9)
        assert all(abs(score) < layout.MATE_BOUND for _, score, _ in report.moves)
        assert outcome_of(report) != outcome_of(searched(searcher, "never", seed, 9)), (
            "it does pass"
        )


def test_no_pass_where_the_game_forbids_it(passing: Game) -> None:
    """The search does not pass where `may_pass` is 0, in an unstable state, or near the horizon: it
    visits the same nodes as without null move.
    """
    check_permission(Searcher(passing))


def test_no_two_passes_in_a_row(passing: Game) -> None:
    """The search never passes in answer to a pass."""
    check_once(Searcher(passing))


def test_no_end_by_passing(passing: Game) -> None:
    """A mate after a pass does not count: no move has a mate score."""
    check_ends(Searcher(passing))


def test_pawn_endings_are_searched_without_passes(searcher_of: Searchers) -> None:
    """In chess the null move changes no pawn ending without promotions, but it does when each side
    has a knight.
    """
    searcher = searcher_of("chess")

    def nodes(text: str, features: int) -> int:
        return searcher.search(
            searcher.game.position(text), Limit(depth=7), Table(16), Control(), features=features
        ).nodes

    for text in PAWN_ENDINGS:
        assert nodes(text, WITH_PASSES) == nodes(text, WITHOUT_PASSES)
        knights = text.replace("p", "n", 1).replace("P", "N", 1)
        assert nodes(knights, WITH_PASSES) < nodes(knights, WITHOUT_PASSES)


def check_zugzwang(searcher: Searcher) -> None:
    start = searcher.game.start({"pass": "zugzwang"})

    def found(depth: int, features: int) -> tuple[int, str]:
        report = searcher.search(start, Limit(depth=depth), Table(14), Control(), features=features)
        return report.score, "trade" if report.line[0] == 0 else "squeeze"

    for depth in range(1, 18):
        truth = (600, "squeeze") if depth >= 5 else (50, "trade")
        assert found(depth, WITHOUT_PASSES) == truth
        fooled = depth <= VERIFY_DEPTH
        assert found(depth, WITH_PASSES) == ((50, "trade") if fooled else truth), f"depth {depth}"


def test_zugzwang(passing: Game) -> None:
    """In zugzwang a shallow search with null move is wrong. A search deep enough to verify a pass
    has the value of a search without null move.
    """
    check_zugzwang(Searcher(passing))
