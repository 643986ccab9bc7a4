"""Tests of single games: published perft counts, results, and the texts of positions and moves."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import perft
from engine.conformance.playouts import option_sets
from engine.game import (
    GameError,
    IllegalMove,
    MalformedMove,
    OptionError,
    Outcome,
    Position,
    PositionError,
    UnknownGame,
)
from engine.rules.registry import game_ids, load_game, production_ids
from engine.search.driver import Searcher

#: The folder of the perft tables.
TABLES = Path(__file__).parent / "perft"
#: The most nodes of a perft count; larger counts are tested only in the long run.
MAX_NODES = 5_000_000


def perft_cases(file: Path) -> Iterator[tuple[str, int, int]]:
    """Yields position (or "start"), depth and count from `POSITION ;D1 count ;D2 count …`."""
    for line in file.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            text, *counts = (part.strip() for part in line.split(";"))
            for count in counts:
                depth, nodes = count.removeprefix("D").split()
                yield text, int(depth), int(nodes)


def check_perft(searcher: Searcher, cases: Iterable[tuple[str, int, int]]) -> None:
    """Asserts that the compiled rules give the counts."""
    native = searcher.native
    game = native.game
    for text, depth, count in cases:
        position = game.start() if text == "start" else game.position(text)
        assert perft.perft(native, position, depth) == count, f"{text}, depth {depth}"


@pytest.mark.parametrize("game_id", production_ids())
def test_perft(game_id: str, searcher_of: Callable[[str], Searcher]) -> None:
    """The compiled rules give the published perft counts."""
    check_perft(
        searcher_of(game_id),
        (case for case in perft_cases(TABLES / f"{game_id}.epd") if case[2] <= MAX_NODES),
    )


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("game_id", production_ids())
def test_perft_deeper(game_id: str, searcher_of: Callable[[str], Searcher]) -> None:
    """The compiled rules give the larger published perft counts."""
    check_perft(
        searcher_of(game_id),
        (case for case in perft_cases(TABLES / f"{game_id}.epd") if case[2] > MAX_NODES),
    )


@pytest.mark.parametrize("game_id", sorted(set(game_ids()) - set(production_ids())))
def test_perft_of_a_teaching_game(game_id: str) -> None:
    """The rules of a game that is never compiled give its counts, with every option."""
    game = load_game(game_id)
    for options in option_sets(game):
        for text, depth, count in perft_cases(TABLES / f"{game_id}.epd"):
            assert text == "start"
            assert perft.counter_of(game)(game.start(options), depth) == count


def test_perft_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`python -m engine.perft` prints one line per depth and reports bad options and positions."""
    assert perft.main(["sticks", "2", "--option", "rows=1-3-5-7"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["16", "206"]
    assert perft.main(["tic-tac-toe", "1", "--position", "XXO......"]) == 0
    assert capsys.readouterr().out.split()[1] == "6"
    assert perft.main(["tic-tac-toe", "1", "--position", "nonsense"]) == 2
    assert perft.main(["chequers", "1"]) == 2
    assert "there are: " in capsys.readouterr().err


@pytest.mark.parametrize("matches", [1, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize("game_id", game_ids())
def test_positions_and_moves_survive_formatting(game_id: str, matches: int) -> None:
    """In random matches, parsing a formatted move or position returns the same one."""
    for seed in range(matches):
        check_formatting(load_game(game_id).start(), random.Random(seed))


def check_formatting(position: Position, rng: random.Random) -> None:
    """Plays a random match and reads every move and position back from its text."""
    while tokens := position.tokens():
        token = rng.choice(tokens)
        move = position.parse_move(token)
        assert position.format_move(move) == token
        position = position.play(move)
        assert position.game.position(position.text(), position.options) == position
    assert position.outcome() is not None


@given(text=st.text(max_size=60), game_id=st.sampled_from(game_ids()))
def test_any_text_is_a_position_or_a_typed_error(text: str, game_id: str) -> None:
    """A text is parsed as a position or a move, or raises a GameError."""
    game = load_game(game_id)
    for parse in (game.position, game.start().parse_move):
        with suppress(GameError):
            parse(text)


#: Columns of a connect four match that ends in a draw.
FULL_BOARD = "cgacffgdaagaefddeaabceebcgcfffegbgecdddbbb"


def play(game_id: str, *tokens: str, **options: str) -> Position:
    """Returns the position after these moves from the start of a game."""
    position = load_game(game_id).start(options)
    for token in tokens:
        position = position.play(position.parse_move(token))
    return position


def test_malformed_and_illegal_moves_differ() -> None:
    """A malformed move and an illegal move raise different errors."""
    position = play("connect-four", *"aaaaaa")
    with pytest.raises(MalformedMove, match="written like d"):
        position.parse_move("h")
    with pytest.raises(IllegalMove):
        position.parse_move("a")
    with pytest.raises(UnknownGame, match="there are"):
        load_game("chequers")


@pytest.mark.parametrize(
    ("moves", "win"),
    [
        ("abacada", {"a1", "a2", "a3", "a4"}),
        ("aabbccd", {"a1", "b1", "c1", "d1"}),
        ("abbcdccdcdd", {"a1", "b2", "c3", "d4"}),
        ("gffeaeedadadd", {"g1", "f2", "e3", "d4"}),
        ("aabbddc", {"a1", "b1", "c1", "d1"}),
    ],
)
def test_connect_four_rows(moves: str, win: set[str]) -> None:
    """Four in a row win in every direction, and the view marks them."""
    position = play("connect-four", *moves)
    assert position.outcome() == Outcome(0, "four in a row")
    assert set(position.view().marks["win"]) == win
    assert position.view().text == "Red wins"


def test_connect_four_columns_are_not_joined() -> None:
    """Three discs at the top of a column and one at the bottom of the next do not win."""
    assert play("connect-four", *"aaabababb").outcome() is None
    assert (
        load_game("connect-four")
        .position("R....../R....../R....../YYY..../YYR..../RRYYR..")
        .outcome()
        is None
    )


@pytest.mark.parametrize(
    "text",
    [
        "R....../......./......./......./......./.......",
        "......./......./......./......./......./RR.....",
        "......./......./......./......./......./Y......",
        "......./......./R....../R....../R....../RYYY..Y",
        "......./......./......./......./......",
        "......./......./......./......./......./......./.......",
    ],
)
def test_connect_four_impossible_positions(text: str) -> None:
    """A text with a floating disc, a wrong count or an earlier win is refused."""
    with pytest.raises(PositionError):
        load_game("connect-four").position(text)


def test_connect_four_full_board() -> None:
    """A full board without a row is a draw."""
    position = play("connect-four", *FULL_BOARD)
    assert position.outcome() == Outcome(None, "the board is full")
    assert position.view().text == "Draw"


def test_connect_four_gravity() -> None:
    """A click on a column drops the disc to the lowest free cell; the view marks the last disc."""
    position = play("connect-four", "d", "d", "e")
    assert position.view().last == ("e1",)
    assert {click.id: click.ghost for click in position.move_views()}["d"] == ("d3", "Y")


def test_tic_tac_toe_lines() -> None:
    """Three in a row win, even with the last cell; a full board without them is a draw."""
    won = play("tic-tac-toe", "a1", "b1", "b2", "c1", "c3").outcome()
    full = play("tic-tac-toe", "a1", "b2", "b1", "c1", "a3", "a2", "c2", "b3", "c3").outcome()
    assert won == Outcome(0, "three in a row")
    assert full == Outcome(None, "the board is full")


@pytest.mark.parametrize(
    "text", ["XXXXXXXXX", "XX.......", "O........", "XXX...OOO", "XXX...OO", "XXX...OOx"]
)
def test_tic_tac_toe_impossible_positions(text: str) -> None:
    """A text with a wrong count, an earlier win or other characters is refused."""
    with pytest.raises(PositionError):
        load_game("tic-tac-toe").position(text)


def test_sticks_rows() -> None:
    """The rows are an option, and the side that leaves a single stick wins."""
    assert play("sticks", rows="5").tokens() == ["1x1", "1x2", "1x3", "1x4"]
    position = play("sticks", "3x3")
    assert position.tokens() == ["1x1", "2x1", "2x2"]
    assert position.play(position.parse_move("2x2")).outcome() == Outcome(
        1, "a single stick is left"
    )
    assert play("sticks", "2x2", rows="1-2-3").text() == "1-0-3 second"


@pytest.mark.parametrize(
    "rows", ["", "1", "0-2", "10", "1-2-3-", "1-2-3-4-5-6-7", "a", "1 2 3", "1-2-3\n"]
)
def test_sticks_bad_rows(rows: str) -> None:
    """An invalid `rows` option is refused with an example."""
    with pytest.raises(OptionError, match="1-2-3"):
        load_game("sticks").start({"rows": rows})


@pytest.mark.parametrize(
    "text", ["1-2-3", "1-2-4 first", "0-0-0 first", "1-2 first", "1-2-3 third", "1-2-3-0 first"]
)
def test_sticks_bad_positions(text: str) -> None:
    """A text with too many sticks, other rows or no sticks is refused."""
    with pytest.raises(PositionError):
        load_game("sticks").position(text)


def test_sticks_preview() -> None:
    """A click on a stick takes it and those to its right, and the preview shows them."""
    clicks = {click.id: click for click in play("sticks").move_views()}
    assert clicks["3x2"].path == ("3.2",)
    assert clicks["3x2"].affects == ("3.2", "3.3")


#: Game, position, its draw counters at the start, at the last value that the key ignores, and at
#: the first value that changes the key.
COUNTERS = [
    ("chess", "4k3/8/8/8/8/8/4P3/4K2R w K - {} {}", ("0", "1"), ("109", "70"), ("110", "70")),
    ("draughts", "B:W21,K22:B1,K2:H{}", ("0",), ("47",), ("48",)),
    ("international-draughts", "W:WK31,K32:BK1,2:H{}", ("0",), ("23",), ("24",)),
    (
        "nine-mens-morris",
        "WWW/BBB/.../.../.../.../.../... white 0-0 {} flying",
        ("0",),
        ("60",),
        ("61",),
    ),
]


@pytest.mark.parametrize(("game_id", "text", "low", "near", "counted"), COUNTERS)
def test_keys_ignore_counters_far_from_their_limit(
    game_id: str, text: str, low: tuple[str, ...], near: tuple[str, ...], counted: tuple[str, ...]
) -> None:
    """A draw counter changes the key only near its limit."""
    game = load_game(game_id)
    with np.errstate(over="ignore"):
        keys = [
            int(game.rules.key(game.position(text.format(*numbers)).state))
            for numbers in (low, near, counted)
        ]
    assert keys[0] == keys[1] != keys[2]


def test_keys_differ_by_rights_and_side() -> None:
    """Castling rights, a possible en passant capture and the side to move change the key."""
    game = load_game("chess")
    texts = (
        f"4k3/8/8/8/4Pp2/8/8/4K2R {fields}"
        for fields in ("b K e3 0 1", "b K - 0 1", "b - - 0 1", "w K - 0 1")
    )
    with np.errstate(over="ignore"):
        assert len({int(game.rules.key(game.position(text).state)) for text in texts}) == 4
