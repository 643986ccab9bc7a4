"""The tuner of othello's patterns: repeatable, and consistent with the game's evaluation."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.compiler.intrinsics import Memory
from engine.compiler.native import compile_game
from engine.games import othello
from engine.rules.registry import load_game
from engine.tune import othello as tuner
from engine.tune import othello_template as template
from engine.tune.othello_positions import read_records


def random_weights(seed: int) -> Any:
    """Returns weights that a DATA file can represent exactly."""
    content = np.random.Generator(np.random.PCG64(seed)).integers(
        -9, 10, othello.PHASES * othello.PHASE_BYTES
    )
    extras = np.arange(othello.PHASES * template.EXTRA_COUNT) - 9
    return tuner.unpacked(content.astype(np.int8).tobytes() + extras.astype("<i8").tobytes())


def test_the_evaluation_equals_the_prediction() -> None:
    """The game's evaluation with packed weights equals the tuner's prediction."""
    content = tuner.packed(random_weights(1))
    assert tuner.packed(tuner.unpacked(content)) == content
    weights, data = tuner.unpacked(content), np.frombuffer(content, "<i8").astype(np.int64)
    native = compile_game(load_game("othello"), template)
    shared, scratch = Memory(tuner.shared_weights()), np.zeros(template.SCRATCH_WORDS, np.int64)
    rng, position = random.Random(1), load_game("othello").start()
    with np.errstate(over="ignore"):
        while moves := position.moves():
            p, o = int(position.state[0]), int(position.state[1])
            expected = int(othello.evaluate(position.state, data))
            record = np.array([0, p, o, 0], np.uint64)
            sums = np.zeros(2 * othello.PHASES, np.int64)
            native.function("learn")(
                Memory(record), 1, 0, Memory(weights), shared, Memory(scratch), Memory(sums)
            )
            phase = othello.phase_of(64 - (p | o).bit_count())
            error = sums[2 * phase] ** 0.5  # the error in eighths, for a lead of 0
            assert abs(error - abs(expected)) <= 1, position.text()
            position = position.play(rng.choice(moves))


def test_a_truncated_work_file_is_resumed(tmp_path: Path) -> None:
    """A work file that was truncated within a match and resumed equals that of a single run."""
    complete, part = tmp_path / "complete", tmp_path / "part"
    tuner.play_matches(complete, 3, seed=1, depth=1)
    part.write_bytes(complete.read_bytes()[: complete.stat().st_size * 2 // 3 + 5])
    tuner.play_matches(part, 3, seed=1, depth=1)
    assert part.read_bytes() == complete.read_bytes()


#: Files that are not work files of this tuner.
OTHER_FILES = {
    "a text": b"the only copy of a thesis\n" * 40,
    "a line without an end": b"notes",
    "the general tuner's": b'{"tune":1,"game":"othello","rules":"0","seed":1,"nodes":9}\n',
    "one of an old version": b"".join(word.to_bytes(8, "little") for word in (0, 1, 2, 4)) * 20,
}


@pytest.mark.parametrize("content", OTHER_FILES.values(), ids=OTHER_FILES)
@pytest.mark.parametrize("matches", ["0", "3"])
def test_other_files_are_refused(
    content: bytes, matches: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is not this tuner's work file is refused and stays unchanged."""
    work, out = tmp_path / "work", tmp_path / "out.bin"
    work.write_bytes(content)
    assert tuner.main(["--work", str(work), "--matches", matches, "--out", str(out)]) == 2
    assert "it is left as it is" in capsys.readouterr().err
    assert work.read_bytes() == content
    assert not out.exists()


def test_a_work_file_with_other_settings_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A work file is resumed only with the same seed, depth and rules."""
    work = tmp_path / "work"
    tuner.play_matches(work, 2, seed=1, depth=1)
    content = work.read_bytes()
    for settings, message in (
        (["--seed", "2"], "seed 1 and not 2"),
        (["--depth", "2"], "depth 1 and not 2"),
    ):
        arguments = ["--work", str(work), "--matches", "3", "--depth", "1", *settings]
        assert tuner.main(arguments) == 2
        assert message in capsys.readouterr().err
    work.write_bytes(content.replace(b'"rules":"', b'"rules":"x', 1).replace(b" \n", b"\n", 1))
    assert tuner.main(["--work", str(work), "--matches", "3", "--depth", "1"]) == 2
    assert "rules x" in capsys.readouterr().err


def test_no_match_is_played_without_need(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file with enough matches is not written, and no empty file is created."""
    work, out = tmp_path / "work", tmp_path / "out.bin"
    tuner.play_matches(work, 4, seed=1, depth=1)
    work.chmod(0o444)
    content = work.read_bytes()
    modified_ns = work.stat().st_mtime_ns
    for matches in ("0", "2"):
        assert (
            tuner.main(
                ["--work", str(work), "--matches", matches, "--seed", "9", "--out", str(out)]
            )
            == 0
        )
    assert (work.read_bytes(), work.stat().st_mtime_ns) == (content, modified_ns)
    assert len(read_records(work)) * 32 == len(content) - 256
    assert tuner.main(["--work", str(work), "--out", str(work)]) == 2
    assert tuner.main(["--work", str(tmp_path / "none"), "--out", str(out)]) == 2
    assert "give --matches" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_learning_reduces_the_error(tmp_path: Path) -> None:
    """The command always writes the same bytes, which have less error than weights of 0."""
    work = tmp_path / "work"
    files = [tmp_path / "first.bin", tmp_path / "second.bin"]
    for file in files:
        assert (
            tuner.main(["--work", str(work), "--matches", "8", "--depth", "1", "--out", str(file)])
            == 0
        )
    contents = [file.read_bytes() for file in files]
    assert contents[0] == contents[1]
    assert len(contents[0]) == Path(othello.__file__).with_name(othello.DATA[0]).stat().st_size
    records = read_records(work)
    leads = records[:, 3].view(np.int64)
    data = np.frombuffer(contents[0], "<i8").astype(np.int64)
    with np.errstate(over="ignore"):
        predicted = [
            int(othello.evaluate((row[1], row[2], np.uint64(0)), data)) / 8 for row in records
        ]
    assert np.square(leads - predicted).mean() < 0.5 * np.square(leads.astype(float)).mean()
