"""Games in which a side may move again: signs, repetitions, ordering, personas, pondering and the
kit. For each, a planted fault shows that the test finds an assumption that the sides alternate.
"""

import importlib
import random
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from engine.compiler.interpreted import Array, interpret_game
from engine.conformance.checks import CHECKS, ConformanceError
from engine.conformance.native import minimax
from engine.game import Game, Position
from engine.rules.registry import load_game
from engine.search import expectimax, kernel, layout, persona
from engine.search.driver import Control, Searcher, Table
from engine.search.features import (
    BASIC,
    KILLERS_FIRST,
    MALUS,
    MATE_DISTANCE,
    NULL_MOVE,
    QUIESCENCE,
    REPETITION,
)
from engine.search.job import Job, Limit
from engine.search.persona import Personas
from engine.search.work import Work
from tests.engine.test_planted_faults import planted

__all__ = ["planted"]

#: The rules of an artificial game: a tree of random values, in which one move in three keeps the
#: turn. A move is an even number for the first side and an odd one for the second, so that moves
#: show whose they are. With the option "ring" there are few positions, which repeat.
TURNS = '''"""A random tree in which moves may keep the turn."""

from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, WON, Option, State
from engine.jit import U, rule

NAME, TITLE, RULES, DATA, LEVELS, MARGIN = "turns", "Turns", "", (), 1, 30
NUMBERING, EXTRA_TURNS, REPETITION = "ply", True, 3
WORDS, MAX_MOVES = 2, 3
OPTIONS = {"form": Option("Form", "tree", ("tree", "ring"))}
ONE, NONE = U(1), U(0)
SIDE, RING = U(1), U(2)
PLACES = U(11)


@rule
def mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> U(30))) * U(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> U(27))) * U(0x94D049BB133111EB)
    return word ^ (word >> U(31))


def init(options: Any) -> State:
    return U(1), RING if options["form"] == "ring" else NONE


@rule
def turn(s: State) -> int:
    return np.int64(s[1] & SIDE)


@rule
def chance(s: State, shift: int) -> int:
    """A number below 60 that the position decides."""
    return np.int64((mix(s[0] * U(7)) >> U(shift)) % U(60))


@rule
def status(s: State) -> int:
    if s[1] & RING or s[0] == ONE:
        return ONGOING
    end = chance(s, 3)
    if end < 4:
        return DRAWN
    if end == 4:
        return LOST
    if end == 5:
        return WON
    return ONGOING


@rule
def moves(s: State, buf: Any) -> int:
    for i in range(MAX_MOVES):
        buf[i] = 2 * i + turn(s)
    return MAX_MOVES


@rule
def play(s: State, m: int) -> State:
    word = mix(s[0] * U(6) + U(m) + U(1))
    keeps = word % U(3) == NONE
    if s[1] & RING:
        word = word % PLACES
    return word, s[1] if keeps else s[1] ^ SIDE


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def key(s: State) -> np.uint64:
    return mix(s[0] * U(4) + s[1]) | ONE


@rule
def repetition(s: State) -> np.uint64:
    return key(s)


@rule
def reversible(s: State) -> int:
    return 512 if s[1] & RING else 0


@rule
def tactical(s: State, buf: Any) -> int:
    n = 0
    for i in range(MAX_MOVES):
        if (s[0] >> U(i + 9)) % U(3) == NONE:
            buf[n] = 2 * i + turn(s)
            n += 1
    return n


@rule
def may_pass(s: State) -> int:
    return 1


@rule
def pass_turn(s: State) -> State:
    return mix(s[0]), s[1] ^ SIDE


@rule
def evaluate(s: State, data: Any) -> int:
    value = 5 * chance(s, 11) - 150
    return -value if s[1] & SIDE else value


def parse_move(s: State, text: str) -> int:
    return int(text)


def format_move(s: State, m: int) -> str:
    return str(m)


def parse_position(text: str, options: Any) -> State:
    word, flags = text.split()
    return U(int(word)), U(int(flags))


def format_position(s: State) -> str:
    return f"{int(s[0])} {int(s[1])}"


def ending(s: State) -> str:
    return "over"


def board(options: Any) -> Any:
    raise NotImplementedError


def view(s: State, last: Any) -> Any:
    raise NotImplementedError


def move_view(s: State, m: int) -> Any:
    raise NotImplementedError
'''


@pytest.fixture
def turns(plug_in: Callable[[str, str], Path]) -> Game:
    """Returns the artificial game."""
    plug_in("turns", TURNS)
    return load_game("turns")


def some_positions(game: Game, count: int, form: str = "tree", seed: int = 1) -> list[Position]:
    """Returns unfinished positions of random matches, without their history."""
    rng = random.Random(seed)
    positions: list[Position] = []
    while len(positions) < count:
        position = game.start({"form": form})
        for _ in range(rng.randint(1, 6)):
            if position.moves():
                position = position.play(rng.choice(position.moves()))
        if position.moves():
            positions.append(Position(game, position.options, position.state))
    return positions


def score_of(
    searcher: Searcher, position: Position, depth: int, features: int, contempt: int = 0
) -> int:
    """Returns the score of a search to a depth with these features."""
    report = searcher.search(
        position, Limit(depth=depth), Table(10), Control(), features=features, contempt=contempt
    )
    return report.score if report.depth == depth else minimax_value(position, report.depth)


def minimax_value(position: Position, depth: int) -> int:
    """Returns the value of a search that ended early because it reached the end of the match."""
    return minimax(position, depth, 0)


# --- the checks


def check_signs(searcher: Searcher) -> None:
    """With exact depth each score is that of plain minimax; with bounds each mate score is."""
    for position in some_positions(searcher.game, 12):
        for depth in (1, 2, 4):
            expected = minimax(position, depth, 0)
            report = searcher.search(
                position, Limit(depth=depth), Table(10), Control(), exact_depth=True
            )
            assert report.score == minimax(position, report.depth, 0)
            if abs(expected) > layout.MATE_BOUND:
                with_bounds = BASIC | MATE_DISTANCE
                assert score_of(searcher, position, depth, with_bounds) == expected


def check_plain(searcher: Searcher) -> None:
    """The kernel's plain search, with which the kit compares, has the value of minimax."""
    work = Work(searcher.game.rules.MAX_MOVES)
    for position in some_positions(searcher.game, 8):
        state = tuple(int(word) for word in position.state)
        value = searcher.native.function("plain")(state, 3, 0, work.memory, searcher.native.data)
        assert value == minimax(position, 3, 0)


def quiescence_value(position: Position, ply: int) -> int:
    """Returns the value of quiescence without pruning."""
    rules: Any = position.game.rules
    if not position.moves():
        return minimax(position, 0, ply)
    with np.errstate(over="ignore"):
        buffer = [0] * 3
        moves = buffer[: rules.tactical(position.state, buffer)]
        best = int(rules.evaluate(position.state, None))
    for move in moves:
        child = position.play(move)
        value = quiescence_value(child, ply + 1)
        best = max(best, value if child.turn == position.turn else -value)
    return best


def check_quiescence(searcher: Searcher) -> None:
    """A search of one ply has the values of quiescence after each move."""
    for position in some_positions(searcher.game, 12):
        children = [position.play(move) for move in position.moves()]
        values = [(1 if child.turn == position.turn else -1, child) for child in children]
        expected = max(sign * quiescence_value(child, 1) for sign, child in values)
        assert score_of(searcher, position, 1, QUIESCENCE) == expected


def minimax_with_contempt(position: Position, depth: int, ply: int, seat: int) -> int:
    """Returns the minimax value where a draw is worth -70 to the side at the root."""
    outcome = position.outcome()
    if outcome is not None and outcome.winner is None:
        return -70 if position.turn == seat else 70
    if outcome is not None or depth == 0:
        return minimax(position, 0, ply)
    children = [position.play(move) for move in position.moves()]
    return max(
        (1 if child.turn == position.turn else -1)
        * minimax_with_contempt(child, depth - 1, ply + 1, seat)
        for child in children
    )


def check_draws(searcher: Searcher) -> None:
    """A draw costs the side to move at the root the contempt, at any ply."""
    for position in some_positions(searcher.game, 20):
        expected = minimax_with_contempt(position, 3, 0, position.turn)
        if abs(expected) < layout.MATE_BOUND:
            assert score_of(searcher, position, 3, BASIC, contempt=70) == expected


def minimax_with_repetition(position: Position, depth: int, path: tuple[int, ...]) -> int:
    """Returns the minimax value where a position that repeats one on its path is a draw."""
    with np.errstate(over="ignore"):
        key = int(position.game.rules.key(position.state))
        if key in path:
            return 0
        if depth == 0:
            return int(position.game.rules.evaluate(position.state, None))
    children = [Position(position.game, position.options, position.play(move).state)
                for move in position.moves()]  # fmt: skip
    return max(
        (1 if child.turn == position.turn else -1)
        * minimax_with_repetition(child, depth - 1, (*path, key))
        for child in children
    )


def check_repetitions(searcher: Searcher) -> None:
    """A position that repeats after any number of plies, even or odd, is a draw."""
    for position in some_positions(searcher.game, 12, "ring"):
        assert score_of(searcher, position, 5, REPETITION) == minimax_with_repetition(
            position, 5, ()
        )


def check_ordering(searcher: Searcher) -> None:
    """Killer moves, history and counter moves of a side are its own moves, also after passes."""
    words = searcher._works[0].words
    counts = {"killers": 0, "history": 0, "counter moves": 0}
    for position in some_positions(searcher.game, 4):
        features = BASIC | KILLERS_FIRST | MALUS | NULL_MOVE
        searcher.search(position, Limit(depth=9), Table(12), Control(), features=features)
        for side in (0, 1):
            seat = position.turn ^ side
            killers = words[layout.KILLERS + 2 * layout.MAX_PLY * side :][: 2 * layout.MAX_PLY]
            scores = words[layout.HISTORY + layout.HISTORY_MOVES * side :][: layout.HISTORY_MOVES]
            for name, moves in (
                ("killers", killers[killers >= 0]),
                ("history", np.flatnonzero(scores)),
            ):
                assert (moves % 2 == seat).all(), f"{name} of {seat}: {moves}"
                counts[name] += len(moves)
        table = words[layout.COUNTER_MOVES :][: layout.HISTORY_MOVES]
        for index in np.flatnonzero(table != layout.NO_MOVE):
            previous = int(index) & 1023
            side, before = int(index) >> 11 & 1, int(index) >> 10 & 1
            if previous == 1023:  # after a null move, whose index has these bits set
                assert table[index] % 2 == position.turn ^ side ^ 1
            else:
                assert table[index] % 2 == position.turn ^ side
                assert previous % 2 == position.turn ^ before
            counts["counter moves"] += 1
    assert min(counts.values()) > 10, counts


def check_improving(searcher: Searcher) -> None:
    """A static evaluation is compared with that of the last ply of the same side."""
    work: Any = Work(searcher.game.rules.MAX_MOVES).words
    work[layout.SIDES : layout.SIDES + 8] = [0, 1, 1, 0, 0, 0, 1, 1]
    last_own_ply = searcher.native._functions["last_own_ply"]
    assert [last_own_ply(ply, work) for ply in range(1, 8)] == [0, 1, 0, 3, 4, 2, 6]


def average_value(position: Position, depth: int, ply: int, seat: int) -> float:
    """Returns the value for the side to move if the opponent of `seat` plays any of its moves."""
    if not position.moves() or depth == 0:
        return minimax(position, 0, ply)
    children = [position.play(move) for move in position.moves()]
    values = [
        (1 if child.turn == position.turn else -1) * average_value(child, depth - 1, ply + 1, seat)
        for child in children
    ]
    return max(values) if position.turn == seat else sum(values) / len(values)


def check_expectimax(game: Game, template: ModuleType) -> None:
    """Expectimax takes the best move of the root's side and the mean of the opponent's moves."""
    native = interpret_game(game, template)
    words = np.zeros(expectimax.work_words(game.rules.MAX_MOVES), np.int64)
    words[[expectimax.POLL, expectimax.NODE_LIMIT]] = 1 << 40
    for position in some_positions(game, 10):
        words[expectimax.ROOT_TURN] = position.turn
        state = tuple(int(word) for word in position.state)
        units = native.function("expectimax")(
            state, 3, 0, Array(words), Control().memory, native.data
        )
        expected = average_value(position, 3, 0, position.turn)
        assert units / expectimax.UNIT == pytest.approx(expected, abs=1e-4)


#: A check of a search, which raises AssertionError if it finds a fault.
Check = Callable[[Searcher], None]
#: The checks of the search of the artificial game.
CHECKED: tuple[Check, ...] = (
    check_signs, check_plain, check_quiescence, check_draws, check_repetitions, check_ordering,
    check_improving,
)  # fmt: skip

#: Assumptions that sides alternate, planted into the kernel: name, check, source text, faulty text.
FAULTS: dict[str, tuple[Check, str, str]] = {
    "every child is the opponent's": (
        check_signs,
        "        if keeps_turn(s, child)\n        else -alpha_beta",
        "        if False\n        else -alpha_beta",
    ),
    "every child of the plain search is the opponent's": (
        check_plain,
        "        if not keeps_turn(s, child):\n            v = -v\n",
        "        v = -v\n",
    ),
    "every child of quiescence is the opponent's": (
        check_quiescence,
        "        if keeps_turn(s, child):\n            v = quiesce(",
        "        if False:\n            v = quiesce(",
    ),
    "wins and losses by the parity of the ply": (
        check_signs,
        "    if result == WON:\n        return MATE - ply\n",
        "    if (result == WON) == (side_at(W, ply) == ply & 1):\n        return MATE - ply\n",
    ),
    "draws by the parity of the ply": (
        check_draws,
        "-W[DRAW_VALUE] if side_at(W, ply) != 0",
        "-W[DRAW_VALUE] if ply & 1",
    ),
    "repetitions in steps of two": (check_repetitions, "step = 2 - EXTRA_TURNS", "step = 2"),
    "history by the parity of the ply": (
        check_ordering,
        "HISTORY + side_at(W, ply) * HISTORY_MOVES",
        "HISTORY + (ply & 1) * HISTORY_MOVES",
    ),
    "killer moves by ply": (
        check_ordering,
        "(ply if EXTRA_TURNS == 0 else ply + MAX_PLY * W[SIDES + ply])",
        "ply",
    ),
    "counter moves of either side": (
        check_ordering,
        "return 0 if EXTRA_TURNS == 0 else (2 *",
        "return 0 if True else (2 *",
    ),
    "a null move that keeps the side": (
        check_ordering,
        "W[SIDES + ply] = turn(s) ^ W[ROOT_TURN]",
        "W[SIDES + ply] = turn(s) ^ W[ROOT_TURN] ^ (current_move(W, ply - 1) == -1)",
    ),
    "the evaluation two plies before": (
        check_improving,
        "    own: Any = np.int64(ply - 1)\n",
        "    own: Any = np.int64(ply - 2)\n    return int(own)\n",
    ),
}


def interpreted(game: Game, template: ModuleType = kernel) -> Searcher:
    """Returns an uncompiled search of a game."""
    return Searcher(game, template, compiled=False)


@pytest.mark.parametrize("check", CHECKED)
def test_the_search_follows_the_side_to_move(turns: Game, check: Check) -> None:
    """In a game with extra turns, values, repetitions and ordering follow the side to move."""
    check(interpreted(turns))


@pytest.mark.long
@pytest.mark.parametrize(("check", "original", "faulty"), FAULTS.values(), ids=FAULTS)
def test_a_planted_alternation_is_found(
    planted: Callable[[str, str], ModuleType],
    turns: Game,
    check: Check,
    original: str,
    faulty: str,
) -> None:
    """With a planted assumption that sides alternate, the check that covers it fails."""
    with pytest.raises(AssertionError):
        check(interpreted(turns, planted(original, faulty)))


def test_expectimax_follows_the_side_to_move(
    planted: Callable[[str, str], ModuleType], turns: Game
) -> None:
    """Expectimax follows the side to move.

    By the parity of the ply, or with a change of sign at every ply, its values are wrong.
    """
    check_expectimax(turns, expectimax)
    for original, faulty in (
        ("        is_opponent = turn(s) ^ W[ROOT_TURN]\n", "        is_opponent = ply & 1\n"),
        (
            "        if not keeps_turn(s, child):\n            v = -v\n        total",
            "        v = -v\n        total",
        ),
    ):
        package = planted(original, faulty).__name__.partition(".")[0]
        with pytest.raises(AssertionError):
            check_expectimax(turns, importlib.import_module(f"{package}.expectimax"))


def test_a_persona_follows_the_side_to_move(turns: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """`average` scores each move by the mean over the opponent's moves, for its own side."""
    monkeypatch.setattr(persona, "AVERAGE_NODES", 400)
    personas = Personas(interpreted(turns))
    for position in some_positions(turns, 8):
        job = Job(
            game="turns", rules=turns.digest, options=dict(position.options),
            start=position.text(), moves=(), affinity="room", persona="average",
        )  # fmt: skip
        info = personas.answer(job, Control()).info
        for move, score in ((root_move.move, root_move.score) for root_move in info.moves):
            child = position.play(position.parse_move(move))
            value = average_value(child, info.depth - 1, 1, position.turn)
            expected = value if child.turn == position.turn else -value
            if abs(expected) < layout.MATE - 1:  # a mean proves no forced end
                expected = max(-layout.MATE_BOUND, min(layout.MATE_BOUND, expected))
            assert score == pytest.approx(expected, abs=1)


def test_the_kit_refuses_a_pass_that_keeps_the_turn(turns: Game, plug_in: Any) -> None:
    """A null move must pass the turn."""
    CHECKS["turns"](turns)
    plug_in("turns", TURNS.replace("mix(s[0]), s[1] ^ SIDE", "mix(s[0]), s[1]"))
    with pytest.raises(ConformanceError, match="pass_turn passes the turn"):
        CHECKS["turns"](load_game("turns"))
