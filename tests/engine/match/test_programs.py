"""External programs as players: each protocol plays a game, and a program that fails loses it."""

import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from engine.match import external, gtp, uci, xboard
from engine.match.description import parse_description
from engine.match.making import make_player
from engine.match.play import Adjudication, PlayedGame, PlayerFailed, Situation, play_game
from engine.rules.registry import load_game

#: The scripted program.
SCRIPT = Path(__file__).with_name("scripted_engine.py")
#: The game of each protocol.
GAMES = {"uci": "chess", "xboard": "chess", "gtp": "othello"}


@pytest.fixture(autouse=True)
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens the timeouts in this module."""
    for module in (external, uci, gtp):
        monkeypatch.setattr(module, "START_TIMEOUT_S", 0.5)
    monkeypatch.setattr(xboard, "FEATURES_S", 0.5)
    for module in (external, uci, xboard, gtp):
        for name in ("LATE_GRACE_S", "MOVE_TIMEOUT_S"):
            monkeypatch.setattr(module, name, 0.5, raising=False)


def game_with(
    protocol: str, fault: str = "none", ply: int = 0, settings: str = "", max_plies: int = 4
) -> PlayedGame:
    """Plays a game in which the program in seat 0 has the fault and the one in seat 1 has none."""
    game = load_game(GAMES[protocol])
    with ExitStack() as stack:
        first, second = (
            make_player(
                parse_description(
                    f"{protocol}={sys.executable} -IS {SCRIPT} {protocol} {fault_and_ply}{settings}"
                ),
                game,
                {},
            )
            for fault_and_ply in (f"{fault} {ply}", "none 0")
        )
        for player in (first, second):
            stack.enter_context(closing(player))
        return play_game(game, {}, (), (first, second), 1, Adjudication(max_plies=max_plies))


@pytest.mark.parametrize("protocol", GAMES)
def test_a_scripted_game(protocol: str) -> None:
    """Both programs play the script, and the rules decide the result."""
    played = game_with(protocol)
    assert not played.forfeit
    if protocol == "gtp":
        assert (played.moves, played.winner) == (["d3", "c3", "c4", "c5"], None)
    else:
        assert (played.moves, played.winner, played.reason) == (
            ["f2f3", "e7e5", "g2g4", "d8h4"],
            1,
            "checkmate",
        )
        assert played.nodes == ([112, 112] if protocol == "uci" else [68, 68])


@pytest.mark.parametrize("protocol", GAMES)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("hang", "hangs"),
        ("die", "ended with code 3"),
        ("illegal", "not allowed"),
        ("resign", "resigned"),
        ("mute", "hangs"),  # an xboard program need not send features, but it must send moves
    ],
)
def test_a_program_that_fails_loses(protocol: str, fault: str, reason: str) -> None:
    """A program that hangs, dies, resigns or breaks the rules forfeits; earlier moves are kept."""
    if (protocol, fault) == ("uci", "resign"):
        reason = "not a move"  # UCI has no resignation
    played = game_with(protocol, fault, 2)
    assert (played.winner, played.forfeit) == (1, True)
    assert reason in played.reason
    assert len(played.moves) == (0 if fault == "mute" else 2)


def test_options_of_a_program() -> None:
    """An option that the program declares is set; any other is an error."""
    assert "no option Contempt" in game_with("uci", settings=",set.Contempt=1").reason
    assert "no option UCI_LimitStrength" in game_with("uci", settings=",set.Hash=1,elo=1500").reason
    assert not game_with("uci", settings=",set.Hash=1").forfeit


def test_a_missing_program() -> None:
    """A program that cannot be started forfeits the game."""
    game = load_game("chess")
    missing, other = (
        make_player(parse_description(text), game, {})
        for text in ("uci=no-such-program", "depth=1")
    )
    played = play_game(game, {}, (), (missing, other), 1, Adjudication())
    assert (played.winner, played.forfeit) == (1, True)
    assert "cannot be started" in played.reason


@pytest.mark.parametrize("protocol", GAMES)
def test_a_program_is_restarted_after_a_failure(protocol: str) -> None:
    """A player restarts its program after a failure and plays the next game up to the fault."""
    game = load_game(GAMES[protocol])
    text = f"{protocol}={sys.executable} -IS {SCRIPT} {protocol}"
    faulty, correct = (
        make_player(parse_description(f"{text} {fault_and_ply}"), game, {})
        for fault_and_ply in ("die 2", "none 0")
    )
    with closing(faulty), closing(correct):
        for _ in range(2):
            played = play_game(game, {}, (), (faulty, correct), 1, Adjudication(max_plies=4))
            assert len(played.moves) == 2
            assert "ended with code 3" in played.reason


def test_a_program_may_refuse_a_pass() -> None:
    """A program that refuses a pass (as GRhino does) still plays; refusing another move fails."""
    game = load_game("othello")
    start = game.position("OX-------------------------XX------XX--------------------------- X")
    assert start.tokens() == ["pass"]
    position = start.play(start.parse_move("pass"))
    player = make_player(
        parse_description(f"gtp={sys.executable} -IS {SCRIPT} gtp none 0"), game, {}
    )
    with closing(player):
        player.begin(1)
        assert player.choose(Situation(start, ("pass",), position, 1)).move == "c3"
        player.begin(1)
        with pytest.raises(PlayerFailed, match="refuses"):
            player.choose(Situation(position, ("c1",), position.play(position.parse_move("c1")), 1))
