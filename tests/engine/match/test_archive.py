"""The logs of a game in one file: read, resumed and replaced; no crash loses a game."""

import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from engine.compiler.code_cache import locked
from engine.match import archive as archives
from engine.match import ladder
from engine.match.archive import Archive, games_with_logs, packed, results_folder
from engine.match.log import Header, LogError, Record

#: A match, one with another seed, and the names of two logs.
HEADER = Header("sticks", "0" * 16, ("depth=1", "depth=2"), 1, 2, 200)
OTHER = Header("sticks", "0" * 16, ("depth=1", "depth=2"), 2, 2, 200)
FIRST, SECOND = "ladders/2-1.jsonl", "ablations/table.jsonl"


def record(number: int) -> Record:
    return Record(n=number, half_points=1, plies=9)


def play(archive: Archive, name: str, games: int, fresh: bool = False) -> None:
    """Adds games to a log until it has that many."""
    with archive.log(name, HEADER, fresh) as log:
        for number in range(len(log.records), games):
            log.append(record(number))


def entries(archive: Archive) -> dict[str, bytes]:
    with ZipFile(archive.path) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    """An archive with two logs of four games."""
    made = Archive(tmp_path, "sticks")
    for name in (FIRST, SECOND):
        play(made, name, 4)
    return made


def test_logs_are_read_by_their_names(archive: Archive, tmp_path: Path) -> None:
    """An archive has the header and all games of each log, and a game without logs has none."""
    for name in (FIRST, SECOND):
        assert archive.read(name) == (HEADER, [record(number) for number in range(4)])
    assert (archive.names("ladders"), archive.names("ablations")) == ([FIRST], [SECOND])
    assert archive.read("ladders/3-2.jsonl") == (None, [])
    assert Archive(tmp_path, "chess").read(FIRST) == (None, [])
    assert games_with_logs(tmp_path, "ladders") == ["sticks"]
    assert games_with_logs(tmp_path, "other") == []
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".lock", ".zip"]


def test_the_same_logs_make_the_same_bytes(archive: Archive, tmp_path: Path) -> None:
    """The file depends neither on the order in which logs were written nor on the time."""
    other = Archive(tmp_path / "other", "sticks")
    play(other, SECOND, 2)
    play(other, FIRST, 4)
    play(other, SECOND, 4)
    assert other.path.read_bytes() == archive.path.read_bytes()
    assert packed(entries(archive)) == archive.path.read_bytes()
    with ZipFile(archive.path) as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_log_is_resumed_and_the_others_stay(archive: Archive) -> None:
    """A match goes on after its last game. Another log, and an unchanged file, keep their bytes."""
    before = entries(archive)
    play(archive, FIRST, 6)
    after = entries(archive)
    assert after[FIRST].startswith(before[FIRST])
    assert after[FIRST].count(b"\n") == 7
    assert after[SECOND] == before[SECOND]
    unchanged = archive.path.stat()
    play(archive, FIRST, 6)
    assert archive.path.stat().st_ino == unchanged.st_ino, "it was not written again"


def test_a_fresh_log_replaces_the_old_one_at_its_first_game(archive: Archive) -> None:
    """--fresh loses nothing before a game is over, and may be of another match."""
    before = archive.path.read_bytes()
    play(archive, FIRST, 0, fresh=True)
    assert archive.path.read_bytes() == before
    play(archive, FIRST, 1, fresh=True)
    assert archive.read(FIRST) == (HEADER, [record(0)])
    with archive.log(FIRST, OTHER, fresh=True) as log:
        log.append(record(0))
    assert archive.read(FIRST) == (OTHER, [record(0)])


def test_a_log_of_another_match_is_refused(archive: Archive) -> None:
    """Neither the file nor the folder changes."""
    before = archive.path.read_bytes()
    with pytest.raises(LogError, match=r"2-1\.jsonl in .*another match \(seed 1 in"):  # noqa: SIM117
        with archive.log(FIRST, OTHER):
            pass
    assert archive.path.read_bytes() == before
    assert not list(archive.path.parent.glob("*.jsonl"))


class Killed(BaseException):
    """The process ends here."""


def die(*arguments: object, **named: object) -> None:
    raise Killed


def test_a_killed_match_loses_no_finished_game(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game is on disk when it is over, and can be read. The same command resumes the match."""
    before = archive.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(archive, "_store", die)  # as after SIGKILL during the sixth game
        with pytest.raises(Killed):
            play(archive, FIRST, 5)
    assert archive.path.read_bytes() == before
    assert len(archive.read(FIRST)[1]) == 5
    assert archive.names("ladders") == [FIRST]
    plain = next(archive.path.parent.glob("*.jsonl"))
    plain.write_bytes(plain.read_bytes() + b'{"n":5,"ha')
    play(archive, FIRST, 5)
    assert entries(archive)[FIRST].endswith(b"}\n")
    play(archive, FIRST, 6)
    assert archive.read(FIRST) == (HEADER, [record(number) for number in range(6)])
    assert not plain.exists()


@pytest.mark.parametrize(
    ("module", "name"), [(os, "fsync"), (Path, "replace"), (Path, "unlink")], ids=str
)
def test_a_crash_while_the_file_is_written_loses_nothing(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, module: object, name: str
) -> None:
    """Whatever step the process does not reach, every log is read whole afterwards."""
    with archive.log(FIRST, HEADER) as log:
        log.append(record(4))
        monkeypatch.setattr(module, name, die)
        with pytest.raises(Killed):
            archive._store(FIRST, archive._under_way(FIRST))
        monkeypatch.undo()
        assert len(archive.read(FIRST)[1]) == 5
        assert len(archive.read(SECOND)[1]) == 4
    assert len(archive.read(FIRST)[1]) == 5
    assert sorted(path.suffix for path in archive.path.parent.iterdir()) == [".lock", ".zip"]


def test_two_commands_store_their_logs_one_after_the_other(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that another command stores meanwhile is kept: the file is read under the lock."""

    def overtaken(*arguments: object) -> object:
        monkeypatch.setattr(archives, "locked", locked)
        play(Archive(archive.path.parent, "sticks"), SECOND, 6)
        return locked(archive.path.parent, "sticks")

    with archive.log(FIRST, HEADER) as log:
        log.append(record(4))
        monkeypatch.setattr(archives, "locked", overtaken)
    assert [len(archive.read(name)[1]) for name in (FIRST, SECOND)] == [5, 6]


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1 :]


def test_a_damaged_file_is_an_error(archive: Archive) -> None:
    """Damaged bytes raise LogError, which names the file, or do not matter."""
    whole = {name: archive.read(name) for name in (FIRST, SECOND)}
    content = archive.path.read_bytes()
    damaged = [flip(content, at) for at in range(len(content))]
    damaged += [content[:length] for length in range(0, len(content), 50)]
    errors = []
    for each in damaged:
        archive.path.write_bytes(each)
        for name, log in whole.items():
            try:
                assert archive.read(name) == log
            except LogError as error:
                errors.append(str(error))
    assert len(errors) > len(damaged) // 2
    assert [error for error in errors if f"the logs {archive.path} " not in error] == []


def test_an_installation_without_results_asks_for_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a checkout's results the commands write nowhere by themselves."""
    assert results_folder(None) == archives.RESULTS
    monkeypatch.setattr(archives, "RESULTS", tmp_path / "results")
    assert results_folder(tmp_path) == tmp_path
    with pytest.raises(SystemExit) as ended:
        ladder.main(["tic-tac-toe"])
    assert ended.value.code == 2
    assert "name a folder for the logs, --folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
