"""Search players: threads, contempt and pondering."""

from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import closing, contextmanager
from typing import Any

import pytest

from engine.game import Position
from engine.match import play
from engine.match.description import parse_description
from engine.match.making import make_player
from engine.match.play import Adjudication, Choice, Situation, play_game
from engine.match.players import LevelPlayer, SearchPlayer
from engine.rules.registry import load_game
from engine.search import driver
from engine.search.driver import Cancelled
from engine.search.threads import helper_threads
from engine.search.work import Work


def search_player(game_id: str, text: str) -> SearchPlayer:
    """Returns a player with this description that has begun a game."""
    game = load_game(game_id)
    player = make_player(parse_description(text), game, game.check_options({}))
    assert isinstance(player, SearchPlayer)
    player.begin(0)
    return player


def after(position: Position, *tokens: str) -> Position:
    """Returns the position after these moves."""
    for token in tokens:
        position = position.play(position.parse_move(token))
    return position


def choice_after(player: SearchPlayer, game_id: str, *tokens: str) -> Choice:
    """Returns the player's choice after these moves of a game."""
    start = load_game(game_id).start()
    return player.choose(Situation(start, tokens, after(start, *tokens), seed=1))


def test_contempt_is_the_cost_of_a_draw() -> None:
    """A draw scores minus the contempt, and the player still holds the draw."""
    game = load_game("tic-tac-toe")
    other = search_player("tic-tac-toe", "depth=9")
    for contempt in (0, 25, -40, 1000, -1000):
        player = search_player("tic-tac-toe", f"depth=9,contempt={contempt}")
        assert choice_after(player, "tic-tac-toe").score == -contempt
        assert play_game(game, {}, (), (player, other), 1, Adjudication()).winner is None


@pytest.mark.parametrize("text", ["depth=1", "time_ms=10,ponder=yes", "level=2"])
def test_a_search_is_compiled_before_the_clock_runs(text: str) -> None:
    """`begin` compiles or loads the search, so that no move waits for the compiler."""
    searcher = driver.Searcher(load_game("sticks"))
    player = (LevelPlayer if text.startswith("level") else SearchPlayer)(
        parse_description(text), searcher
    )
    assert "root" not in searcher.native._ready
    player.begin(0)
    assert "root" in searcher.native._ready


def test_a_search_uses_its_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search runs on the number of threads in its description."""
    thread_counts: list[int] = []
    original = helper_threads

    @contextmanager
    def count_threads(native: Any, works: list[Work], *rest: Any) -> Iterator[None]:
        with original(native, works, *rest):
            yield
        thread_counts.append(1 + len(works))

    monkeypatch.setattr(driver, "helper_threads", count_threads)
    for text, threads in (
        ("nodes=20000", 1),
        ("nodes=20000,threads=3", 3),
        ("time_ms=5,threads=2", 2),
    ):
        choice = choice_after(search_player("connect-four", text), "connect-four", "d")
        assert choice.move in ("a", "b", "c", "d", "e", "f", "g")
        assert thread_counts.pop() == threads
    assert not thread_counts


def test_a_ponder_hit_saves_time() -> None:
    """After a ponder hit the player answers from a depth that its own time would not reach."""
    game_id = "connect-four"
    player = search_player(game_id, "depth=14,time_ms=1,ponder=yes")
    alone = choice_after(search_player(game_id, "depth=14"), game_id)
    with closing(player):
        first = choice_after(player, game_id)
        assert first.nodes < alone.nodes
        pondering = player.pondering
        assert pondering is not None
        wait([pondering.future])
        expected = pondering.future.result()
        assert expected.depth == 14
        second = choice_after(player, game_id, *pondering.expected)
        assert (second.score, second.nodes) == (expected.score, expected.nodes)


def test_an_unexpected_move_cancels_pondering() -> None:
    """An unexpected move or the end of a game cancels the ponder search.

    The player then answers for the actual position.
    """
    player = search_player("connect-four", "time_ms=20,ponder=yes")
    with closing(player):
        first_move = choice_after(player, "connect-four").move
        pondering = player.pondering
        assert pondering is not None
        reached = after(load_game("connect-four").start(), first_move)
        unexpected = next(token for token in reached.tokens() if token != pondering.expected[1])
        answer = choice_after(player, "connect-four", first_move, unexpected)
        assert answer.move in after(reached, unexpected).tokens()
        assert isinstance(pondering.future.exception(), Cancelled)
        for seat in (1, None):
            choice_after(player, "connect-four")
            pondering = player.pondering
            assert pondering is not None
            if seat is None:
                player.close()
            else:
                player.begin(seat)
            assert isinstance(pondering.future.exception(timeout=0), Cancelled)


def test_a_timed_search_continues_after_a_ponder_hit() -> None:
    """A search with a time limit uses the player's own time after a ponder hit."""
    hit_count = 0
    tokens: tuple[str, ...] = ()
    with closing(search_player("connect-four", "time_ms=20,ponder=yes")) as player:
        for _ in range(4):
            before = player.pondering
            tokens = (*tokens, choice_after(player, "connect-four", *tokens).move)
            hit_count += before is not None and before.future.exception() is None
            assert player.pondering is not None
            tokens = player.pondering.expected
    assert hit_count == 3


def test_games_between_pondering_players(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pondering players play legal games from an opening to the end, and neither hangs."""
    monkeypatch.setattr(play, "GRACE_MS", 60_000)  # a busy machine may exceed the clock
    game = load_game("connect-four")
    first, second = (
        search_player("connect-four", f"clock=300+20,ponder=yes{more}")
        for more in ("", ",threads=2")
    )
    with closing(first), closing(second):
        for seed in range(2):
            played = play_game(game, {}, ("d", "c"), (first, second), seed, Adjudication())
            assert not played.forfeit, played.reason
            assert after(game.start(), *played.moves).outcome() is not None
