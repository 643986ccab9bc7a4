"""The built-in strategies: their choices, their logs, and whole matches between them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.game import Position
from engine.match.description import DescriptionError, parse_description
from engine.match.log import Header, Log
from engine.match.making import is_deterministic, make_player
from engine.match.openings import default_plies
from engine.match.play import Adjudication, PlayedGame, play_game
from engine.match.run import run_match
from engine.rules.registry import load_game
from engine.strategies import built_in
from engine.strategies.built_in import cut_lines, fit_log, search, trace_of
from engine.strategies.contract import MAX_LOG_BYTES, Choice, Turn, UnknownStrategy, choices_of
from engine.strategies.names import BUILT_IN, player_name, title_of
from engine.strategies.registry import load_strategy, strategy_names
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.errors import TooLarge
from engine.teach.states.evaluators import scale_of
from engine.teach.states.players import GameForBoth
from engine.teach.states.state import GameState, State

#: The names of the built-in strategies.
NAMES = ("minimax", "negamax", "alphabeta", "average", "max-n", "greedy", "random")
#: Row 2 of the founding texts, the game of sticks.
STICKS: dict[str, Any] = tomllib.loads(
    (Path(__file__).parents[2] / "data/founding/numbers.toml").read_text("utf-8")
)["2-sticks"]


def position_after(game: str, *moves: str) -> Position:
    """Returns the position of a game after some moves."""
    position = load_game(game).start()
    for move in moves:
        position = position.replay(move)
    return position


def choice_of(name: str, position: Position, **fields: Any) -> Choice:
    """Returns the last choice of a strategy."""
    *_, choice = choices_of(load_strategy(name), Turn(position=position, **fields))
    return choice


def test_the_built_in_strategies() -> None:
    """Each built-in strategy has a title; any other name is its own title."""
    assert tuple(BUILT_IN) == NAMES
    assert strategy_names()[: len(NAMES)] == list(NAMES)
    assert title_of("average") == "AverageMiniMax"
    assert title_of("of-another-package") == "of-another-package"
    with pytest.raises(UnknownStrategy, match="there are: minimax, negamax"):
        load_strategy("perfect")


def test_names_of_seats() -> None:
    """A strategy's seat has the name form of the first founding text."""
    assert player_name("minimax", 3) == STICKS["program"]
    assert player_name("greedy", None, 2) == "CP #2 Greedy depth=1"
    assert player_name("random", 3) == "CP #1 Random"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("evaluator", ["estimate", "random"])
@pytest.mark.parametrize(
    ("game", "moves", "depth"),
    [
        ("sticks", ("3x3",), 3), ("sticks", ("1x1",), 4), ("tic-tac-toe", ("b2", "a1", "c3"), 2),
        ("connect-four", ("d", "d"), 2), ("kalah", (), 2),
    ],
)  # fmt: skip
def test_a_choice_is_that_of_the_teaching_search(
    name: str, evaluator: str, game: str, moves: tuple[str, ...], depth: int
) -> None:
    """Each strategy chooses the move that the teaching search finds at the same depth."""
    position = position_after(game, *moves)
    choice = choice_of(name, position, seed=7, depth=depth, evaluator=evaluator)
    plan = Plan(name, depth, evaluator=evaluator, seed=7, plain_limit=0)
    scale = scale_of(evaluator)
    root: State = GameState.at_root(position, scale)
    if name == "max-n":
        root = GameForBoth.at_root(position, (scale, scale))
    trace = explain(root, plan)
    assert choice.move == trace.line[0] == choice.line[0]
    if name in ("minimax", "negamax", "average", "max-n"):
        assert choice.nodes == trace.counts.nodes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("game", "depth"),
    [("sticks", 3), ("tic-tac-toe", 2), ("kalah", 1), ("coin-friends", 2),
     ("rock-paper-scissors", 3)],
)  # fmt: skip
def test_whole_matches(name: str, game: str, depth: int) -> None:
    """Each strategy plays whole matches from either seat, and no move is illegal."""
    for seat in (0, 1):
        played = play(game, f"strategy={name},depth={depth}", "strategy=random", seat)
        assert not played.forfeit, played.reason
        assert played.moves


def play(game_id: str, first: str, second: str, seat: int = 0) -> PlayedGame:
    """Returns a match between two players; the first one has this seat."""
    game = load_game(game_id)
    players = [make_player(parse_description(text), game, {}) for text in (first, second)]
    ordered = (players[seat], players[1 - seat])
    return play_game(game, {}, (), ordered, 5, Adjudication())


@pytest.mark.parametrize("name", ["minimax", "negamax", "alphabeta", "max-n"])
def test_the_coin_friends(name: str) -> None:
    """A strategy asks the friend whose smallest coin is larger, and gets that coin."""
    played = play("coin-friends", f"strategy={name}", "strategy=minimax")
    assert played.moves == ["one", "10"]
    start = load_game("coin-friends").start()
    choice = choice_of(name, start, evaluator="zero")
    assert choice.value == ("<10, -10>" if name == "max-n" else "10")
    generous = load_game("coin-friends").start({"friends": "generous"})
    assert choice_of(name, generous, evaluator="zero").value in ("25", "<-25, 25>", "-25")


def test_rock_paper_scissors() -> None:
    """With private utilities the first best move is rock; scissors are worth -20."""
    start = load_game("rock-paper-scissors").start({"utilities": "private"})
    for name in ("minimax", "alphabeta", "max-n"):
        choice = choice_of(name, start, evaluator="zero")
        assert (choice.move, choice.value.lstrip("<").split(",")[0]) == ("rock", "-1")


def test_a_match_of_a_game_without_the_production_search() -> None:
    """`engine.match` plays such a game from its start, and stops when the games would repeat."""
    game = load_game("coin-friends")
    players = ("strategy=minimax", "strategy=alphabeta")
    header = Header(game.id, game.digest, players, 1, default_plies(game), 400)
    log = Log(header, None, False)
    summary = run_match(log, 4)
    assert summary is not None
    assert (summary.games, summary.wins, summary.losses) == (2, 0, 0)
    assert [record.moves for record in log.records] == ["one 10", "one 10"]


def test_minimax_wins_a_match_of_sticks() -> None:
    """With enough depth minimax wins sticks from the second seat, against every first move."""
    for seed in range(6):
        game = load_game("sticks")
        texts = ("strategy=random", "strategy=minimax,depth=6")
        first, second = (make_player(parse_description(text), game, {}) for text in texts)
        played = play_game(game, {}, (), (first, second), seed, Adjudication())
        opening = load_game("sticks").start().replay(played.moves[0])
        is_won = choice_of("minimax", opening, depth=6, evaluator="zero").value == "1"
        assert (played.winner == 1) or not is_won


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("strategy=perfect", "there is no strategy"),
        ("strategy=minimax,depth=31", "a depth of at most 30"),
        ("strategy=minimax,evaluator=beauty", "there is no evaluator"),
        ("strategy=minimax,evaluator=material", "no pieces that belong to a side"),
        ("strategy=minimax,evaluator=material:queen=9", "there is no piece 'queen'"),
        ("strategy=minimax,nodes=5", "no setting 'nodes'"),
        ("strategy", "written as NAME=VALUE"),
    ],
)
def test_players_that_do_not_exist(text: str, message: str) -> None:
    """An unknown strategy, depth or evaluator is refused, and so is one that suits no position."""
    with pytest.raises(DescriptionError, match=message):
        make_player(parse_description(text), load_game("sticks"), {})


def test_which_players_are_deterministic() -> None:
    """A strategy is deterministic unless it, or its evaluator, uses the seed."""
    game = load_game("othello")
    expected = {
        "strategy=minimax": True, "strategy=minimax,evaluator=random": False,
        "strategy=random": False, "strategy=greedy,evaluator=material": True,
    }  # fmt: skip
    assert {text: is_deterministic(parse_description(text), game) for text in expected} == expected
    assert not is_deterministic(parse_description("strategy=minimax"), load_game("sticks"))


@pytest.mark.parametrize("name", ["minimax", "negamax", "alphabeta"])
def test_the_log_is_the_printed_one(name: str) -> None:
    """The log of sticks is that of the first founding text, line for line, with the boast."""
    position = position_after("sticks", STICKS["first_move"])
    choice = choice_of(name, position, depth=STICKS["depth"], evaluator="random")
    assert choice.log.splitlines() == [
        *STICKS["log"].strip("\n").splitlines(), STICKS["boast"]
    ]  # fmt: skip
    assert (choice.move, choice.value) == (STICKS["answer"], str(STICKS["value"]))


def test_a_choice_after_each_depth() -> None:
    """A strategy yields a choice after each depth, and ends when it has seen the whole game."""
    turn = Turn(position=load_game("connect-four").start(), depth=3, evaluator="zero")
    assert [choice.depth for choice in search("minimax", turn)] == [1, 2, 3]
    nearly_over = Turn(position=position_after("sticks", "3x3"), depth=30, evaluator="zero")
    assert [choice.depth for choice in search("minimax", nearly_over)] == [1, 2]


def test_a_search_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search beyond the limit of nodes ends with the depth before; the first depth must fit."""
    turn = Turn(position=load_game("connect-four").start(), depth=3, evaluator="zero")
    whole = trace_of

    limit = 2

    def limited(name: str, turn: Turn, depth: int) -> Any:
        if depth > limit:
            raise TooLarge("too many nodes")
        return whole(name, turn, depth)

    monkeypatch.setattr(built_in, "trace_of", limited)
    assert [choice.depth for choice in search("minimax", turn)] == [1, 2]
    limit = 0
    with pytest.raises(TooLarge):
        list(search("minimax", turn))


def test_scores() -> None:
    """With `estimate` the score is the value, otherwise it says who is ahead."""
    ahead = position_after("sticks", "3x3")
    assert choice_of("minimax", ahead, depth=3, evaluator="random").score == 1
    assert choice_of("minimax", ahead, depth=3, evaluator="zero").score == 1
    behind = position_after("sticks")
    assert choice_of("minimax", behind, depth=6, evaluator="zero").score == -1
    value = choice_of("minimax", ahead, depth=3, evaluator="estimate")
    assert str(value.score) == value.value
    assert value.score > 29_000
    assert choice_of("random", ahead).score == 0


def test_a_large_search_has_a_short_log() -> None:
    """The log of a large search leaves out the deepest levels, and says which it shows."""
    turn = Turn(position=load_game("connect-four").start(), depth=4, evaluator="zero")
    trace = trace_of("minimax", turn, 4)
    log = fit_log(trace)
    lines = log.splitlines()
    assert len(log.encode()) <= MAX_LOG_BYTES
    assert lines[0] == f"(levels 0 to 1 of 4; the search has {trace.counts.nodes:,} nodes)"
    assert sum(line.startswith("TOP MAX node... Move scored") for line in lines) == 7
    assert lines[-1] == "MINIMAX score for next move = 0"


def test_a_log_that_is_cut() -> None:
    """A log with too many lines loses those in the middle; a short one stays as it is."""
    lines = [f"line {number}" for number in range(5_000)]
    cut = cut_lines(lines).splitlines()
    assert len("\n".join(cut).encode()) <= MAX_LOG_BYTES
    assert cut[0] == "line 0"
    assert cut[-4:] == ["(...)", "line 4997", "line 4998", "line 4999"]
    assert cut_lines(lines[:9]).splitlines() == lines[:9]
    assert cut_lines(lines[:2]).splitlines() == lines[:2]


def test_what_a_strategy_returns() -> None:
    """A strategy returns a choice or yields several; anything else is an error."""
    turn = Turn(position=load_game("sticks").start())
    first, second = Choice("1x1"), Choice("2x1")
    assert list(choices_of(lambda _: first, turn)) == [first]
    assert list(choices_of(lambda _: iter((first, second)), turn)) == [first, second]
    with pytest.raises(TypeError, match="returns a Choice, not str"):
        list(choices_of(lambda _: ["1x1"], turn))  # type: ignore[list-item]
