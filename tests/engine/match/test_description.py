"""Descriptions of players: a valid one is parsed; a wrong one raises an error with the choices."""

from dataclasses import replace

import pytest

from engine.match.__main__ import parse_sprt
from engine.match.description import Clock, DescriptionError, parse_description
from engine.match.features import features_of
from engine.match.making import is_deterministic, make_player
from engine.rules.registry import load_game
from engine.search.driver import default_features
from engine.search.features import ALL, BASIC, EXTENSIONS, IIR, LMR
from engine.search.job import Limit


def test_limits_and_clocks() -> None:
    """A player has all the limits of its description; a clock is base and increment."""
    player = parse_description("nodes=20000, depth=6,clock=3000+50,table_bits=16")
    assert (player.kind, player.limit, player.clock) == (
        "search",
        Limit(nodes=20_000, depth=6),
        Clock(3000, 50),
    )
    assert parse_description("clock=500").clock == Clock(500, 0)
    assert parse_description("greedy").kind == "greedy"
    assert parse_description("two-ply").kind == "two-ply"
    program = parse_description("uci=some program --flag,elo=2000,set.Hash=64,time_ms=10")
    assert (program.value, program.settings["set.Hash"], program.limit) == (
        "some program --flag",
        "64",
        Limit(time_ms=10),
    )
    other = parse_description("checkout=../old,nodes=5000,anything=1")
    assert (other.kind, other.value, other.limit) == ("checkout", "../old", Limit(nodes=5000))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is written as"),
        ("nodes", "is written as"),
        ("nodes=0", "from 1 to"),
        ("nodes=" + 25 * "9", "from 1 to 1,000,000,000,000,000"),
        ("nodes=" + 5000 * "9", "from 1 to"),
        ("depth=1001", "from 1 to 1,000"),
        ("time_ms=" + 20 * "9", "from 1 to 86,400,000"),
        ("clock=" + 20 * "9", "from 0 to 86,400,000"),
        ("clock=0+10", "needs time"),
        ("nodes=9,margin=-1", "from 0 to"),
        ("nodes=9,margin=" + 21 * "9", "from 0 to 131,072"),
        ("nodes=9,slip=1001", "from 0 to 1,000"),
        ("nodes=9,slip=", "is written as"),
        ("nodes=9,threads=0", "from 1 to 64"),
        ("nodes=9,contempt=-1001", "from -1000 to 1,000"),
        ("nodes=9,slip=--1", "whole number"),
        ("nodes=9,table_bits=29", "from 4 to 28"),
        ("uci=x,elo=many", "whole number"),
        ("nodes=many", "whole number"),
        ("depth=3,depth=4", "twice"),
        ("margin=10", "no limit"),
        ("level=3,nodes=10", "no setting 'nodes'"),
        ("level=3,persona=random", "choose one"),
        ("uci=x,hash=16", "set.NAME=VALUE"),
        ("xboard=x,nodes=10", "depth, time_ms, clock"),
        ("level=", "NAME=VALUE"),
        ("clock=3000+x", "clock"),
        ("checkout=../old", "a player"),
    ],
)
def test_invalid_descriptions(text: str, message: str) -> None:
    """A text that describes no player is refused with a message that says what was expected."""
    with pytest.raises(DescriptionError, match=message.replace(".", r"\.")):
        parse_description(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("level=9", "levels 1 to 8"),
        ("level=x", "levels 1 to 8"),
        ("persona=genius", "there are average"),
        ("uci=stockfish", "play chess"),
        ("nodes=10,without=magic", "no feature 'magic'"),
        ("nodes=10,only=a,without=b", "either"),
        ("nodes=10,only=a,with=b", "either"),
        ("nodes=10,with=lmr,without=iir+lmr", "either"),
        ("nodes=10,with=magic", "no feature 'magic'"),
        ("nodes=10,with=null-move", "connect-four can use .*, not 'null-move'"),
        ("nodes=10,without=lmr+extensions", "not 'extensions'"),
        ("nodes=10,only=basic+probe", "not 'probe'"),
        ("nodes=10,ponder=yes", "needs time_ms or clock"),
        ("time_ms=10,ponder=yes,slip=5", "does not ponder"),
        ("time_ms=10,ponder=1", "no or yes"),
        ("nodes=10,table=new", "kept or fresh"),
    ],
)
def test_descriptions_that_do_not_fit_the_game(text: str, message: str) -> None:
    """A player with a level, program or feature that the game lacks is refused."""
    with pytest.raises(DescriptionError, match=message):
        make_player(parse_description(text), load_game("connect-four"), {})


def test_features_start_from_the_defaults_of_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """A player has the game's default features and may add, remove or replace some."""
    game = load_game("draughts")
    monkeypatch.setattr(game, "rules", replace(game.rules, DISABLED=("extensions",)))
    default = default_features(game)

    def chosen(text: str) -> int:
        return features_of(parse_description(f"nodes=10{text}"), default)

    assert default == ALL & ~EXTENSIONS
    assert chosen("") == default
    assert chosen(",with=extensions") == ALL
    assert chosen(",without=lmr+iir") == default & ~LMR & ~IIR
    assert chosen(",with=extensions,without=basic") == ALL & ~BASIC
    assert chosen(",only=basic+extensions") == BASIC | EXTENSIONS


def test_deterministic_players() -> None:
    """A player is deterministic if its moves depend neither on time nor on a seed.

    For a level this depends on its settings; personas, greedy, two-ply and programs are never
    deterministic.
    """
    game = load_game("connect-four")
    deterministic = [
        number
        for number in range(1, 9)
        if is_deterministic(parse_description(f"level={number}"), game)
    ]
    assert deterministic == [
        number
        for number, (_, margin, slip) in enumerate(game.rules.LEVEL_TABLE, start=1)
        if not margin and not slip
    ]
    depths = ("depth=3", "nodes=10,depth=3,without=lmr,table=fresh,margin=0")
    for text in (*depths, "nodes=10", "nodes=9,contempt=-5,threads=1,ponder=no"):
        assert is_deterministic(parse_description(text), game), text
    varied = (
        "depth=1,margin=3",
        "depth=1,slip=3",
        "depth=1,threads=2",
        "greedy",
        "two-ply",
        "persona=average",
    )
    for text in (*varied, "nodes=10,time_ms=5", "clock=100"):
        assert not is_deterministic(parse_description(text), game), text
    assert not is_deterministic(parse_description("uci=stockfish,nodes=10"), load_game("chess"))


def test_sprt_arguments() -> None:
    """A sequential test is two Elo differences and, optionally, two risks."""
    assert parse_sprt("0,5").bounds == pytest.approx((-2.944, 2.944), abs=0.001)
    assert parse_sprt("-5,5,0.1,0.2").beta == 0.2
    for wrong in (
        "0",
        "5,0",
        "0,5,0.7",
        "a,b",
        "1,2,3,4,5",
        "nan,nan",
        "0,nan",
        "0,5,nan",
        "-1e308,0",
        "0,inf",
    ):
        with pytest.raises(DescriptionError, match="--sprt"):
            parse_sprt(wrong)
