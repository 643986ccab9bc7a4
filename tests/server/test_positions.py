"""The caches of moves and views return what the rules would compute."""

import random
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from engine.game import Position
from engine.rules.registry import load_game
from server.rooms import positions

#: Four plies that lead back to the same pieces.
KNIGHTS = ("g1f3", "g8f6", "f3g1", "f6g8")


@pytest.fixture(autouse=True)
def empty_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each test caches of its own."""
    for name in ("_steps", "_views", "_move_views"):
        monkeypatch.setattr(positions, name, positions._Cache())


def facts(position: Position) -> tuple[object, ...]:
    """What rooms and clients learn of a position, from the rules."""
    return position.digest(), position.outcome(), position.view(), tuple(position.move_views())


def cached_facts(position: Position) -> tuple[object, ...]:
    """The same from the caches."""
    outcome = position.outcome()
    return position.digest(), outcome, positions.view(position), positions.move_views(position)


def random_tokens(game: str, seed: int) -> Iterator[str]:
    """Random legal moves from the start until the match ends, at most 40."""
    rng, position = random.Random(seed), load_game(game).start()
    for _ in range(40):
        if not (tokens := position.tokens()):
            return
        token = rng.choice(tokens)
        yield token
        position = position.advance(token)[1]


@pytest.mark.parametrize("game", ["tic-tac-toe", "connect-four", "othello", "kalah"])
def test_random_matches_are_played_as_without_the_caches(game: str) -> None:
    """Equal starts and openings are served from the caches, with the results of the rules."""
    for seed in [0, 1, 2, 0, 1, 2]:
        plain = cached = load_game(game).start()
        for token in random_tokens(game, seed):
            _, plain, outcome = plain.advance(token)
            step = positions.advance(cached, token)
            assert positions.replay(cached, step.token) is step.after
            cached = step.after
            assert (step.token, step.digest, step.outcome) == (token, plain.digest(), outcome)
            assert cached_facts(cached) == facts(plain)


def played(game: str, tokens: Iterable[str]) -> Position:
    """The position after these moves, without the caches."""
    position = load_game(game).start()
    for token in tokens:
        position = position.advance(token)[1]
    return position


def test_equal_pieces_with_another_past_are_another_entry() -> None:
    """The move that repeats a position for the last time ends only the match that has that past."""
    repeated = played("chess", (KNIGHTS * 4)[:-1])
    without_past = Position(repeated.game, repeated.options, repeated.state)
    plain = [position.advance("f6g8")[2] for position in (repeated, without_past)]
    cached = [positions.advance(position, "f6g8").outcome for position in (repeated, without_past)]
    assert cached == plain
    assert plain[0] is not None
    assert plain[1] is None


def test_equal_pieces_after_another_move_have_another_view() -> None:
    """A view shows the last move, which differs between matches that transpose."""
    views = [
        positions.view(played("tic-tac-toe", tokens))
        for tokens in (("a1", "b1", "c1"), ("c1", "b1", "a1"))
    ]
    assert views[0] != views[1]
    assert views[1] == played("tic-tac-toe", ("c1", "b1", "a1")).view()


def test_the_caches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache never has more results than its capacity; the oldest one goes first."""
    monkeypatch.setattr(positions, "CAPACITY", 3)
    cache: positions._Cache[int] = positions._Cache()
    for number in range(5):
        cache.put(number, number)
    assert [cache.find(number) for number in range(5)] == [None, None, 2, 3, 4]


def test_a_state_that_cannot_be_a_key_is_not_cached() -> None:
    """A rules file with mutable states is played without the caches, and its logs still load."""
    position: Any = SimpleNamespace(
        game=None, options={}, state=[0], past=(), last=None, view=lambda: "view",
        advance=lambda text: (text, SimpleNamespace(digest=lambda: "d"), None),
        replay=lambda token: token,
    )  # fmt: skip
    view: Any = positions.view(position)
    assert view == "view"
    assert positions.advance(position, "a1").digest == "d"
    replayed: Any = positions.replay(position, "a1")
    assert replayed == "a1"
