"""Ablations: docs/reference/ablations.md matches the logs, and no game uses a harmful feature."""

from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from engine.match.ablation import (
    GAMES,
    KIND,
    TEST,
    ended_by,
    header_of,
    is_in_use,
    log_name,
    main,
    play_ablation,
    usable_features,
    verdict,
)
from engine.match.archive import RESULTS, Archive, games_with_logs, packed
from engine.match.log import LogError, Record
from engine.match.run import openings_of
from engine.match.statistics import Summary, summarise
from engine.reference.ablations import page
from engine.rules.registry import load_game, production_ids
from engine.search import driver
from engine.search.features import ALL, FEATURE, LMR

#: The root of the repository.
ROOT = Path(__file__).parents[3]
#: Games with logs of ablations.
MEASURED = games_with_logs(RESULTS, KIND)


def test_the_page_matches_the_logs() -> None:
    """docs/reference/ablations.md is the output of its command."""
    assert (ROOT / "docs/reference/ablations.md").read_text("utf-8") == page(RESULTS), (
        "see the command in its first lines"
    )


def summaries(game_id: str) -> dict[str, Summary]:
    """Returns the results of a game's ablations by feature."""
    results = {}
    archive = Archive(RESULTS, game_id)
    for name in archive.names(KIND):
        header, records = archive.read(name)
        summary = summarise([record.half_points for record in records], TEST)
        assert header is not None
        assert header.game == game_id
        assert summary is not None
        assert not any(record.forfeit for record in records)
        results[Path(name).stem] = summary
    return results


@pytest.mark.parametrize("game_id", MEASURED)
def test_games_use_the_features_that_pay(game_id: str) -> None:
    """No game uses a feature that harms or does not pay, and every game uses those that pay."""
    game = load_game(game_id)
    results = summaries(game_id)
    assert results.keys() <= set(usable_features(game))
    unwanted = "harms", "does not pay"
    assert not [
        name
        for name, summary in results.items()
        if verdict(summary) in unwanted and is_in_use(game, name)
    ]
    assert not [
        name
        for name, summary in results.items()
        if verdict(summary) == "pays" and not is_in_use(game, name)
    ]


def test_matches_were_played_to_their_end() -> None:
    """Every match ended when its test decided, at its number of games, or at a repeated opening."""
    archives = [Archive(RESULTS, game_id) for game_id in MEASURED]
    for archive, name in ((each, name) for each in archives for name in each.names(KIND)):
        header, records = archive.read(name)
        summary = summarise([record.half_points for record in records], TEST)
        assert header is not None
        assert summary is not None
        assert ended_by(header, summary), archive.place_of(name)


def test_reasons_for_the_end_of_a_match() -> None:
    """A match ends when its test decides, at its number of games, or at a repeated opening."""
    game = load_game("tic-tac-toe")
    header = header_of(game, "lmr", 40)
    openings = openings_of(header).distinct(GAMES)
    assert 60 < openings < GAMES // 2
    assert ended_by(header, result(*[4] * 40)) == "test"
    undecided = [4, 0] * GAMES
    assert ended_by(header, result(*undecided[: GAMES // 2])) == "games"
    assert ended_by(header, result(*undecided[:openings])) == "openings"
    assert ended_by(header, result(*undecided[: openings - 1])) == ""
    assert ended_by(header, result(*undecided[:20]), 40) == "games"


def test_no_opening_is_repeated(tmp_path: Path) -> None:
    """A match has at most one pair of games for each opening of the game."""
    game = load_game("tic-tac-toe")
    play_ablation(game, "table", tmp_path, 60, GAMES, False, 1)
    header, records = Archive(tmp_path, game.id).read(log_name("table"))
    assert header is not None
    openings = openings_of(header)
    assert len(records) == 2 * openings.distinct(GAMES)
    moves = {" ".join(openings[record.n // 2].moves) for record in records}
    assert len(moves) == len(records) // 2


def result(*pairs: int) -> Summary:
    """Returns the summary of pairs of games with these scores in half points."""
    summary = summarise([half for pair in pairs for half in (min(pair, 2), max(0, pair - 2))], TEST)
    assert summary is not None
    return summary


def test_verdicts() -> None:
    """A verdict needs error bars that exclude zero, or a decided test."""
    assert verdict(result(*[3] * 60, *[2] * 60)) == "pays"
    assert verdict(result(*[1] * 60, *[2] * 60)) == "harms"
    assert verdict(result(*[4, 0] * 5)) == "inconclusive"
    assert verdict(result(*[3, 1] * 450)) == "does not pay"
    assert verdict(result(*[2] * 900)) == "makes no difference"
    assert verdict(result(*[4, 0, 3, 1] * 50)) == "inconclusive"


def test_features_by_game() -> None:
    """A game can use all general features and those whose hooks it has."""
    general = {"table", "killers", "history", "lmr", "iir", "buckets"}
    for game_id in production_ids():
        assert general <= set(usable_features(load_game(game_id))) <= set(FEATURE)
    chess, tic_tac_toe = (
        set(usable_features(load_game("chess"))),
        set(usable_features(load_game("tic-tac-toe"))),
    )
    assert {"null-move", "quiescence", "extensions", "repetition"} <= chess
    assert not {"null-move", "quiescence", "extensions", "repetition", "probe"} & tic_tac_toe


def test_the_first_player_has_the_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first player has the feature, whether the game uses it or not."""
    game = load_game("tic-tac-toe")
    assert header_of(game, "lmr", 50).players == ("nodes=50", "nodes=50,without=lmr")
    monkeypatch.setattr(game, "rules", replace(game.rules, DISABLED=("lmr",)))
    assert driver.default_features(game) == ALL & ~LMR
    assert not is_in_use(game, "lmr")
    assert header_of(game, "lmr", 50).players == ("nodes=50,with=lmr", "nodes=50")


def test_buckets_are_measured_with_a_full_table() -> None:
    """The ablation of buckets uses a table with fewer entries than nodes."""
    players = header_of(load_game("othello"), "buckets", 10_000).players
    assert players == ("nodes=10000,table_bits=12", "nodes=10000,table_bits=12,without=buckets")


def test_an_ablation_is_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command plays each match once and resumes a truncated one; logs contain only results."""
    command = ["tic-tac-toe", "--technique", "lmr", "table", "--games", "6", "--nodes", "40"]
    command += ["--folder", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert [line.split()[1] for line in printed.splitlines()] == ["lmr:", "table:"]
    archive = Archive(tmp_path, "tic-tac-toe")
    before = archive.path.read_bytes()
    with ZipFile(archive.path) as file:
        logs = {name: file.read(name) for name in file.namelist()}
    assert list(logs) == [log_name("lmr"), log_name("table")]
    assert logs[log_name("lmr")].count(b"\n") == 7
    assert len(logs[log_name("lmr")]) < 600
    archive.path.write_bytes(packed({**logs, log_name("lmr"): logs[log_name("lmr")][:-90]}))
    assert main(command) == 0
    assert capsys.readouterr().out == printed
    assert archive.path.read_bytes() == before


def test_matches_with_other_rules(tmp_path: Path) -> None:
    """A finished match stays valid after a change of the rules.

    An unfinished match with other rules is not resumed, and a match with another node limit than
    the requested one is refused.
    """
    game = load_game("tic-tac-toe")
    header = header_of(game, "lmr", 40)
    with Archive(tmp_path, game.id).log(log_name("lmr"), header) as log:
        for number in range(4):
            log.append(Record(n=number, half_points=1, plies=9))
    assert "with other rules" in play_ablation(game, "lmr", tmp_path, None, 4, False, 1)
    for nodes, games in ((None, 6), (50, 4), (50, 6)):
        with pytest.raises(LogError, match="players"):
            play_ablation(game, "lmr", tmp_path, nodes, games, False, 1)
    assert "with other rules" not in play_ablation(game, "lmr", tmp_path, 50, 4, True, 1)


def test_a_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command exits with 2, and its last line names the file."""
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(SystemExit) as ended:
        main(["tic-tac-toe", "--folder", str(path)])
    assert ended.value.code == 2
    assert str(path) in capsys.readouterr().err.splitlines()[-1]


def test_a_feature_that_a_game_cannot_use(capsys: pytest.CaptureFixture[str]) -> None:
    """The command refuses a feature whose hooks the game lacks and names those it can use."""
    with pytest.raises(SystemExit):
        main(["tic-tac-toe", "--technique", "null-move"])
    assert "tic-tac-toe can use table" in capsys.readouterr().err
