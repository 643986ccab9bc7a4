"""Measured files: numbers beside a rules file, outside its digest, that a plug-in may ship too."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest

from engine.game import GameFault
from engine.games import tic_tac_toe
from engine.rules.digest import digest_files
from engine.rules.measured import (
    SUFFIX,
    Measured,
    WinScale,
    measured_file,
    measured_of,
    write_measured,
)
from engine.rules.registry import BUILT_IN, clear, load_game, production_ids
from engine.search.job import Job
from engine.search.uncompiled import percent, plays_in_full
from engine.teach.lessons.catalogue import LESSONS
from engine.tune import __main__ as tune_command
from engine.tune import speed
from engine.tune.errors import TuneError
from engine.win_chance import FALLBACK_SCALE, scale_of

#: The rules of a game of another distribution, with eight levels and without a table of its own.
SOURCE = re.sub(
    r"LEVELS = 3\nLEVEL_TABLE = .*?\n\)\n",
    "LEVELS = 8\n",
    Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"planted"'),
    flags=re.DOTALL,
)
Install = Callable[[str, str], Path]
#: A file that no game can use, and what the error says of it.
BROKEN = {
    "{": "Input data was truncated",
    "[]": "Expected `object`, got `array`",
    '{"full_nodes": "many"}': "Expected `int`, got `str` - at `$.full_nodes`",
    '{"full_nodes": -1}': "Expected `int` >= 0 - at `$.full_nodes`",
    '{"compile_cpu_s": 0}': "Expected `float` > 0.0 - at `$.compile_cpu_s`",
    '{"compile_cpu_s": null}': "Expected `float`, got `null` - at `$.compile_cpu_s`",
    '{"well_known": 0}': "Expected `int` >= 1 - at `$.well_known`",
    '{"win_scale": {"scale": 40}}': "missing required field `levels` - at `$.win_scale`",
    '{"full_node": 3}': "unknown field `full_node`",
}


def job(game_id: str, level: int) -> Job:
    return Job(game_id, "", {}, "", (), "", level=level)


def planted(plug_in: Install, content: str | None) -> Path:
    """Installs a game with this measured file and returns the file's path."""
    path = plug_in("planted", SOURCE).with_suffix(SUFFIX)
    if content is not None:
        path.write_text(content, "utf-8")
    clear()
    return path


def test_every_game_has_a_measured_file() -> None:
    """Each game of the production search has one, and no file is without its game."""
    named = {game_id: measured_file(load_game(game_id)) for game_id in BUILT_IN}
    files = {path for path in named.values() if path is not None and path.exists()}
    assert files == {named[game_id] for game_id in BUILT_IN if game_id in production_ids()}
    assert files == set(Path(tic_tac_toe.__file__).parent.glob(f"*{SUFFIX}"))


@pytest.mark.parametrize("game_id", sorted(BUILT_IN))
def test_no_digest_covers_a_measured_file(game_id: str) -> None:
    """New numbers change no move, so workers with other ones still work together."""
    covered = digest_files(cast(ModuleType, load_game(game_id).module))
    assert not [path.name for path in covered if SUFFIX in path.name or "measured" in path.name]


def test_the_hand_written_fields() -> None:
    """No two games have one place among the well known, and each lesson is one of the course."""
    measured = [measured_of(load_game(game_id)) for game_id in BUILT_IN]
    places = sorted(each.well_known for each in measured if each.well_known is not None)
    assert places == list(range(1, len(places) + 1))
    assert {each.lesson for each in measured} - {None} <= set(LESSONS)


@pytest.mark.parametrize("content", [None, "{}"])
def test_a_game_without_measured_numbers_has_the_defaults(
    content: str | None, plug_in: Install
) -> None:
    """Without a file, or with an empty one, the game has FALLBACK_SCALE and the usual bar."""
    planted(plug_in, content)
    game = load_game("planted")
    assert measured_of(game) == Measured()
    assert scale_of(game) == FALLBACK_SCALE
    assert [plays_in_full(game, job("planted", level)) for level in range(1, 9)] == [
        *(True, True), *[False] * 6,
    ]  # fmt: skip
    assert percent("planted", 3.0) == percent("a game that is not installed", 3.0) == 50


def test_a_plug_in_with_a_file_has_its_numbers(plug_in: Install) -> None:
    """Its progress bar, its low levels and its chances are those of the file beside its rules."""
    path = planted(plug_in, None)
    fitted = measured_of(load_game("chess")).win_scale
    assert fitted is not None
    assert fitted.scale != FALLBACK_SCALE
    game = load_game("planted")
    digest = game.digest
    measured = Measured(full_nodes=10**9, compile_cpu_s=12.0, win_scale=fitted)
    assert write_measured(game, measured) == path
    assert scale_of(game) == fitted.scale
    clear()
    game = load_game("planted")
    assert (measured_of(game), game.digest) == (measured, digest)
    assert scale_of(game) == fitted.scale
    assert [plays_in_full(game, job("planted", level)) for level in range(1, 9)] == [
        *[True] * 7, False,
    ]  # fmt: skip
    assert percent("planted", 3.0) == 25


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_refuses_the_game(content: str, plug_in: Install) -> None:
    """The error names the game, the file and what it should have; other games load."""
    path = planted(plug_in, content)
    with pytest.raises(GameFault) as raised:
        load_game("planted")
    assert f"{path} of planted is no measured file: " in str(raised.value)
    assert BROKEN[content] in str(raised.value)
    assert percent("planted", 3.0) == 50
    assert load_game("tic-tac-toe").id == "tic-tac-toe"


def test_a_file_that_cannot_be_opened_refuses_the_game(plug_in: Install) -> None:
    """A folder in the place of the file is no missing file."""
    path = planted(plug_in, None)
    path.mkdir()
    with pytest.raises(GameFault, match=r"measured\.json of planted cannot be read: "):
        load_game("planted")


def test_one_command_writes_the_file(
    plug_in: Install,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--measure` writes all numbers, `--win-scale` the scale alone; both keep the other fields."""
    path = planted(plug_in, '{"well_known": 7, "lesson": "sticks", "full_nodes": 5}')
    scale = measured_of(load_game("tic-tac-toe")).win_scale
    assert scale is not None
    asked: list[tuple[int, int, dict[str, str]]] = []

    def fit(game: object, count: int, seed: int, options: dict[str, str], _: object) -> WinScale:
        asked.append((count, seed, options))
        return scale

    monkeypatch.setattr("engine.tune.win_scale.fit_win_scale", fit)
    monkeypatch.setattr(speed, "full_nodes", lambda game: 1300)
    monkeypatch.setattr(speed, "compile_cpu_s", lambda game: 2.5)
    assert tune_command.main(["--win-scale", "planted", "--games", "3", "--seed", "9"]) == 0
    written = json.loads(path.read_text("utf-8"))
    assert list(written) == ["full_nodes", "win_scale", "well_known", "lesson"]
    assert written["full_nodes"] == 5
    assert tune_command.main(["--measure", "planted", "--option", "a=b"]) == 0
    assert asked == [(3, 9, {}), (200, 1, {"a": "b"})]
    measured = measured_of(load_game("planted"))
    assert measured == Measured(1300, 2.5, scale, 7, "sticks")
    assert path.name in capsys.readouterr().out


def test_the_speed_of_an_uncompiled_search() -> None:
    """It is a number of nodes above 0, in hundreds."""
    nodes = speed.full_nodes(load_game("tic-tac-toe"))
    assert nodes >= speed.ROUNDED_TO
    assert nodes % speed.ROUNDED_TO == 0


@pytest.mark.long
def test_the_time_to_compile() -> None:
    """A process of its own compiles the game with an empty cache and reports its processor time."""
    assert speed.compile_cpu_s(load_game("tic-tac-toe")) > 1


def test_the_time_to_compile_is_one_number(
    plug_in: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process prints the time alone; that of a game that it cannot load is a TuneError."""
    speed.main("tic-tac-toe")
    assert float(capsys.readouterr().out) >= 0
    path = planted(plug_in, None)
    game = load_game("planted")
    path.with_name("plugged_planted.py").write_text("this is not a rules file")
    with pytest.raises(TuneError, match="planted cannot be compiled"):
        speed.compile_cpu_s(game)
