"""The evaluation of chess, and searches that use it: endings, mates and tactics."""

import random
from collections.abc import Callable
from typing import Any

import chess
import numpy as np
import pytest

from engine.game import Game, Outcome
from engine.games.chess_parts.evaluation import LAYOUT
from engine.rules.data import load_data, number_files
from engine.rules.registry import load_game
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Limit
from engine.search.report import Report
from tests.engine.games.planted import planted

#: Starting positions of the random games.
STARTS = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "2r3k1/1p3pp1/p3p2p/8/1P6/P3RN2/5PPP/2b3K1 b - - 3 30",
)


def value(text: str, data: Any = None) -> int:
    """Returns the evaluation of the position with this text for the side to move."""
    game = load_game("chess")
    with np.errstate(over="ignore"):
        return int(
            game.rules.evaluate(
                game.position(text).state, load_data(game) if data is None else data
            )
        )


def test_rows_match_the_layout() -> None:
    """The DATA file has the rows of LAYOUT in order, first for the middlegame, then the endgame."""
    (file,) = number_files(load_game("chess"))
    rows = [(row.name, len(row.numbers)) for row in file.rows]
    merged: dict[str, int] = {}
    for name, count in rows:
        merged[name] = merged.get(name, 0) + count
    assert merged == {
        f"{phase} {name}": count for phase in ("mid", "end") for name, count in LAYOUT.items()
    }
    assert list(merged) == [f"{phase} {name}" for phase in ("mid", "end") for name in LAYOUT]


def test_every_row_has_an_effect() -> None:
    """Each row of weights changes the value of some position."""
    game, rng = load_game("chess"), random.Random(7)
    data = load_data(game)
    states = []
    starts = (
        chess.STARTING_FEN,
        "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    )
    endings = (
        "4k3/8/8/8/8/8/8/4KR2 w - - 0 1",
        "4k3/2p3pp/8/1P6/8/5P2/6PP/4K3 w - - 0 1",
        "8/8/8/1P6/6k1/8/8/KN6 w - - 0 1",
    )
    for text in 3 * starts + endings:
        board = chess.Board(text)
        while not board.is_game_over() and board.ply() < 100:
            states.append(game.position(board.fen()).state)
            board.push(rng.choice(list(board.legal_moves)))
    rng.shuffle(states)
    first = 0
    with np.errstate(over="ignore"):
        before = [int(game.rules.evaluate(state, data)) for state in states]
        for phase in ("mid", "end"):
            for name, count in LAYOUT.items():
                changed = data.copy()
                changed[first : first + count] += 300 * np.arange(1, count + 1)
                first += count
                differences = (
                    game.rules.evaluate(state, changed) != old
                    for state, old in zip(states, before, strict=True)
                )
                assert any(differences), f"{phase} {name}"


def check_sides(game: Game) -> set[int]:
    """Asserts that colours do not matter and that extra pieces help; returns the values seen."""
    rng, data = random.Random(3), load_data(game)
    values = set()
    for text in STARTS:
        board = chess.Board(text)
        for _ in range(40):
            if board.is_game_over():
                break
            with_fewer = board.copy(stack=False)
            if opponent_pieces(board):
                with_fewer.remove_piece_at(rng.choice(opponent_pieces(board)))
            boards = (board, board.mirror(), with_fewer if with_fewer.is_valid() else board)
            own_value, mirrored, value_with_fewer = (
                int(game.rules.evaluate(game.position(b.fen()).state, data)) for b in boards
            )
            assert own_value == mirrored, board.fen()
            assert value_with_fewer > own_value or (
                value_with_fewer == own_value and boards[2].fen() == board.fen()
            ), (
                board.fen(),
                with_fewer.fen(),
            )
            check_passing(game, board, own_value, data)
            values.add(own_value)
            board.push(rng.choice(list(board.legal_moves)))
    return values


def check_passing(game: Game, board: chess.Board, own_value: int, data: Any) -> None:
    """Asserts that the value with the other side to move differs only by the tempo of each side."""
    if not board.is_check():
        (numbers,) = number_files(game)
        tempo = max(row.numbers[0] for row in numbers.rows if row.name.endswith("tempo"))
        passed = board.copy(stack=False)
        passed.push(chess.Move.null())
        assert (
            -1
            <= own_value + int(game.rules.evaluate(game.position(passed.fen()).state, data))
            <= 2 * tempo
        ), board.fen()


def opponent_pieces(board: chess.Board) -> list[int]:
    """Returns the squares of the opponent's knights, bishops, rooks and queens."""
    return list(chess.SquareSet(board.occupied_co[not board.turn] & ~(board.kings | board.pawns)))


def check_pawns(game: Game) -> None:
    """Asserts that a passed pawn is worth more on each further row, for either side."""
    data = load_data(game)
    for side, rows in (("w", (3, 5, 6, 7)), ("b", (6, 4, 3, 2))):
        values = []
        for row in rows:
            board = chess.Board("7k/8/8/8/8/8/8/7K w - - 0 1")
            board.turn = side == "w"
            board.set_piece_at(chess.square(1, row - 1), chess.Piece(chess.PAWN, board.turn))
            values.append(int(game.rules.evaluate(game.position(board.fen()).state, data)))
        assert values == sorted(set(values))


def check_values(game: Game) -> None:
    """Asserts the properties of the evaluation that a fault would break."""
    check_pawns(game)
    assert len(check_sides(game)) > 100


def test_evaluation_is_the_same_for_both_sides() -> None:
    """White and Black have the same values, more pieces are better, and the start is about even."""
    with np.errstate(over="ignore"):
        check_values(load_game("chess"))
    assert abs(value(chess.STARTING_FEN)) < 50


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "        mirrored(straights),\n        mirrored(kings),",
            "        straights,\n        mirrored(kings),",
        ),
        (
            "    if misc & BLACK:\n        mine = flipped(other)",
            "    if misc & ~BLACK:\n        mine = flipped(other)",
        ),
        (
            "flipped_attacks(enemy_attacks), data) - enemy_total",
            "flipped_attacks(enemy_attacks), data) + enemy_total",
        ),
        (
            "contact_terms(other, enemy_attacks, flipped_attacks(attacks), data)",
            "contact_terms(other, enemy_attacks, attacks, data)",
        ),
        (
            "        mirrored(other),\n        mirrored(mine),",
            "        mirrored(mine),\n        mirrored(other),",
        ),
    ],
)
def test_a_fault_is_found(right: str, wrong: str) -> None:
    """The comparisons fail with one wrong line."""
    game = planted("chess", right, wrong)
    with np.errstate(over="ignore"), pytest.raises(AssertionError):
        check_values(game)


@pytest.mark.parametrize(
    ("text", "max_value"),
    [
        ("8/8/4k3/8/8/3NNK2/8/8 w - - 0 1", 80),  # two knights do not mate
        ("8/8/4k3/4b3/8/3RK3/8/8 w - - 0 1", 80),  # a rook hardly beats a bishop
        ("8/8/4k3/4r3/8/3RKN2/8/8 w - - 0 1", 80),
    ],
)
def test_drawish_endings(text: str, max_value: int) -> None:
    """Extra material that cannot force mate counts little."""
    assert 0 <= value(text) <= max_value


def test_opposite_coloured_bishops() -> None:
    """An extra pawn is worth less with bishops of opposite colours."""
    opposite, same = "8/5kpp/4b3/8/8/4B3/4KPPP/8 w - - 0 1", "8/5kpp/3b4/8/8/4B3/4KPPP/8 w - - 0 1"
    assert 0 < value(opposite) < value(same) * 3 // 4


def test_a_bare_king_is_driven_to_the_edge() -> None:
    """The value grows as the bare king nears a corner and as the other king nears it."""
    middle, corner = "8/8/8/3k4/8/8/R7/K7 w - - 0 1", "8/8/8/8/8/8/R7/K6k w - - 0 1"
    near = "8/8/8/8/8/5K2/R7/7k w - - 0 1"
    assert value(middle) < value(corner) < value(near)


@pytest.mark.parametrize(
    ("better", "worse", "margin"),
    [
        # a hanging knight
        ("4k3/5ppp/8/3n4/8/8/5PPP/3RK3 w - - 0 1", "4k3/5pp1/4p3/3n4/8/8/5PPP/3RK3 w - - 0 1", 10),
        # a passed pawn with a safe path
        (
            "6k1/5ppp/1P6/8/8/5r2/5PPP/1B4K1 w - - 0 1",
            "6k1/5ppp/1P6/8/8/1r6/5PPP/B5K1 w - - 0 1",
            10,
        ),
    ],
)
def test_contact_terms(better: str, worse: str, margin: int) -> None:
    """A square that only one side attacks adds to that side's value."""
    assert value(better) >= value(worse) + margin


# --- searches

#: Position, best move, plies to mate.
MATES = [
    ("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8", 1),
    ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "a1a6", 3),  # Paul Morphy's problem
    ("5rk1/5Npp/8/8/2Q5/8/8/6K1 w - - 0 1", "f7h6", 5),  # Philidor's legacy
]
#: Position, best move, least score.
TACTICS = [
    ("r3k3/8/8/1N6/8/8/5PPP/6K1 w q - 0 1", "b5c7", 300),  # a fork
    ("8/2P5/8/8/3r4/8/2K5/k7 w - - 0 1", "c7c8r", 400),  # Saavedra: a queen would be stalemate
    # Réti: the king has two aims and draws.
    ("7K/8/k1P5/7p/8/8/8/8 w - - 0 1", "h8g7", -50),
]


def search(searcher: Searcher, text: str, nodes: int) -> Report:
    """Returns the report of a search of the position with this text, with this node limit."""
    position = load_game("chess").position(text)
    return searcher.search(position, Limit(nodes=nodes), Table(16), Control())


@pytest.mark.parametrize(("text", "move", "plies"), MATES)
def test_mates(searcher_of: Callable[[str], Searcher], text: str, move: str, plies: int) -> None:
    """The search finds the shortest mate and its length."""
    report = search(searcher_of("chess"), text, 100_000)
    assert load_game("chess").position(text).format_move(report.line[0]) == move
    assert report.score == MATE - plies


@pytest.mark.parametrize(("text", "move", "min_score"), TACTICS)
def test_tactics(
    searcher_of: Callable[[str], Searcher], text: str, move: str, min_score: int
) -> None:
    """The search finds the move that wins or saves, and its value, within 300,000 nodes."""
    report = search(searcher_of("chess"), text, 300_000)
    assert load_game("chess").position(text).format_move(report.line[0]) == move
    assert report.score >= min_score


@pytest.mark.parametrize(
    "text", ["8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "8/8/8/3k4/8/8/8/Q3K3 w - - 0 1"]
)
def test_basic_endings_are_won(searcher_of: Callable[[str], Searcher], text: str) -> None:
    """With 5,000 nodes a move for both sides, a rook or a queen mates the bare king."""
    position = load_game("chess").position(text)
    for _ in range(70):
        if position.outcome() is not None:
            break
        report = searcher_of("chess").search(position, Limit(nodes=5_000), Table(14), Control())
        position = position.play(report.line[0])
    assert position.outcome() == Outcome(0, "checkmate")
