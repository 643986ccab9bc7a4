"""The tuner: its coefficients are right, a fit finds known weights, and runs are repeatable."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.game import Game, GameFault
from engine.games import tic_tac_toe
from engine.rules import registry
from engine.rules.data import format_rows, load_data, number_files, parse_rows
from engine.rules.registry import load_game
from engine.search.driver import Searcher
from engine.tune import selfplay
from engine.tune.__main__ import main
from engine.tune.errors import TuneError
from engine.tune.fit import Settings, cross_entropy, fit, fitted_scale, sigmoid
from engine.tune.games import Plan, PlayedMatch, WorkFile, read_matches
from engine.tune.linear import Evaluation, LinearModel
from engine.tune.samples import Samples
from engine.tune.selfplay import SelfPlay
from engine.tune.tuning import require_numbers, tune, tuned_indexes

#: A function that installs a game with this id and source, such as the fixture `plug_in`.
Install = Callable[[str, str], Path]

#: The evaluation of tic-tac-toe.
PLAIN = "def evaluate(s: State, data: Any) -> int:\n    return 0\n"
#: An evaluation with a bias, an unused number, a number for each cell in sixteenths, and spares.
EVALUATE = """def lead(s: State, cell: int) -> int:
    return popcount(s[0] >> U(cell) & U(1)) - popcount(s[1] >> U(cell) & U(1))


@rule
def evaluate(s: State, data: Any) -> int:
    total = 0
    for cell in range(9):
        if s[0] >> U(cell) & U(1) or s[1] >> U(cell) & U(1):
            total += at(data, 2)[cell] * lead(s, cell)
    return (16 * data[0] + total) // 16
"""
#: Tic-tac-toe with this evaluation and two DATA files.
SOURCE = (
    Path(tic_tac_toe.__file__)
    .read_text("utf-8")
    .replace('"tic-tac-toe"', '"planted"')
    .replace("DATA = ()", 'DATA = ("planted.bin", "planted.txt")')
    .replace(PLAIN, EVALUATE)
)
#: The numbers of the planted game.
NUMBERS = "# manual\nbias: 7\nunused: 3\ncell: 100 -200*3 50 0*4 900\nspare: 5 5\n"


@pytest.fixture
def planted(plug_in: Install) -> Path:
    """Installs a game whose evaluation is a sum of DATA; returns its file of numbers."""
    source = SOURCE.replace("import U, ", "import U, at, popcount, ").replace("data[0]", "data[1]")
    file = plug_in("planted", source.replace("at(data, 2)", "at(data, 3)"))
    (file.parent / "planted.bin").write_bytes(bytes(8))
    numbers = file.parent / "planted.txt"
    numbers.write_text(NUMBERS)
    registry.clear()
    return numbers


def random_states(count: int, seed: int) -> list[tuple[int, ...]]:
    """Returns random boards, including unreachable ones."""
    rng = np.random.Generator(np.random.PCG64(seed))
    mine = rng.integers(0, 512, count)
    other = rng.integers(0, 512, count) & ~mine
    return list(zip(mine.tolist(), other.tolist(), strict=True))


def samples_of(states: list[tuple[int, ...]], results: Any) -> Samples:
    """Returns samples of states with results, five to a match."""
    count = len(states)
    return Samples(states, results, np.full(count, np.nan), np.arange(count) // 5)


# --- numbers as text


@pytest.mark.parametrize(
    "numbers", [[0], [1, 1, 1, 1, -5], [7] * 1000 + [3], list(range(-300, 300)), []]
)
def test_numbers_survive_formatting(numbers: list[int]) -> None:
    """Formatted rows are parsed to the same numbers, with comments and over several lines."""
    text = format_rows([("a row", numbers), ("b", [2])], ["a comment"])
    assert max(map(len, text.splitlines())) <= 120
    rows = parse_rows(text, 10)
    assert [value for row in rows if row.name == "a row" for value in row.numbers] == numbers
    assert (rows[-1].name, rows[-1].first, rows[-1].numbers) == ("b", 10 + len(numbers), (2,))


@pytest.mark.parametrize(
    ("line", "message"),
    [("12", "a name, a colon"), (": 3", "a name, a colon"), ("man: 3.5", "'3.5' is not a whole"),
     ("m: x*2", "'x"),
     ("m: 3*", "not a whole"), ("m: 3*0", "too large"), ("m: 2147483648", "too large")],
)  # fmt: skip
def test_a_wrong_line_is_named(line: str, message: str) -> None:
    """The error for a wrong line has its number and the reason."""
    with pytest.raises(GameFault, match=f"line 3: .*{message}"):
        parse_rows(f"# comment\nok: 1\n{line}\n")


def test_rows_have_their_indexes(planted: Path) -> None:
    """A binary and a text file form one array, and rows have the indexes that the rules use."""
    data = load_data(load_game("planted"))
    (file,) = number_files(load_game("planted"))
    assert file.path == planted
    assert data.tolist() == [0, 7, 3, 100, -200, -200, -200, 50, 0, 0, 0, 0, 900, 5, 5]
    for row in file.rows:
        assert tuple(data[row.first : row.first + len(row.numbers)].tolist()) == row.numbers


# --- coefficients


@pytest.mark.usefixtures("planted")
def test_coefficients_predict_the_evaluation() -> None:
    """With other numbers the linear model predicts the evaluation, up to rounding.

    Numbers that are unread or not tuned have no coefficient.
    """
    game = load_game("planted")
    evaluation = Evaluation(game)
    states = random_states(300, 1)
    tuned = tuned_indexes(require_numbers(game), (), ["unused"])
    model = evaluation.linear_model(states, tuned)
    changed = evaluation.numbers.copy()
    rng = np.random.Generator(np.random.PCG64(2))
    changed[tuned] += rng.integers(-400, 400, len(tuned))
    predicted = model.values + totals(model, (changed - evaluation.numbers)[tuned])
    assert np.abs(predicted - evaluation.values(states, changed)).max() <= 2
    assert model.nonlinear == 0
    occupied = [(mine | other).bit_count() for mine, other in states]
    assert np.diff(model.starts).tolist() == [1 + count for count in occupied]


def totals(model: LinearModel, change: Any) -> Any:
    """Returns the sum of coefficient times change for each row."""
    spans = zip(model.starts[:-1], model.starts[1:], strict=True)
    return np.array(
        [(model.coefficients[a:b] * change[model.columns[a:b]]).sum() for a, b in spans]
    )


def test_nonlinear_coefficients_are_counted(plug_in: Install, planted: Path) -> None:
    """`nonlinear` is the share of coefficients that are not linear."""
    source = (
        (planted.parent / "plugged_planted.py")
        .read_text()
        .replace("(16 * data[1] + total)", "abs(total)")
    )
    plug_in("planted", source)
    for text, share in (("all: 100000*14", 0), ("all: 0*14", 1)):
        planted.write_text(text + "\n")
        registry.clear()
        game = load_game("planted")
        assert (
            Evaluation(game)
            .linear_model([(1, 0), (3, 4)], tuned_indexes(require_numbers(game), (), ()))
            .nonlinear
            == share
        )


# --- fitting


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_fit_finds_the_true_numbers(seed: int) -> None:
    """A fit finds the numbers from which the results were drawn, within the sampling error.

    The same seed gives exactly the same numbers, and another seed other ones.
    """
    game = load_game("planted")
    states = random_states(20_000, seed)
    evaluation = Evaluation(game)
    rng = np.random.Generator(np.random.PCG64(seed + 10))
    true_numbers = evaluation.numbers.copy()
    cells = slice(3, 12)
    true_numbers[cells] = rng.integers(-800, 800, 9)
    true_numbers[1] = 40
    results = (
        rng.random(len(states)) < sigmoid(evaluation.values(states, true_numbers) / 100)
    ).astype(float)
    tuned = tuned_indexes(require_numbers(game), (), ["unused", "spare"])
    settings = Settings(seed=seed, batch=256, rounds=40)
    tuned_game = tune(game, samples_of(states, results), tuned, settings, 100.0)
    # One number's share of 20,000 positions leaves an error of about 100 * 16 / sqrt(20,000 * 2 / 3
    # * 0.1).
    assert np.abs(tuned_game.numbers - true_numbers)[cells].max() < 4 * 45
    assert abs(tuned_game.numbers[1] - true_numbers[1]) < 4 * 2
    assert tuned_game.gain.validation_after < tuned_game.gain.validation_before
    first, again, other_seed = (
        tune(
            game,
            samples_of(states, results),
            tuned,
            Settings(seed=chosen, batch=256, rounds=2),
            100.0,
        )
        for chosen in (seed, seed, seed + 5)
    )
    assert (again.numbers == first.numbers).all()
    assert again.gain == first.gain
    assert (other_seed.numbers != first.numbers).any()


def synthetic_model(count: int, width: int, seed: int) -> tuple[LinearModel, Any]:
    """Returns dense rows with random coefficients and evaluations of 0, and the generator."""
    rng = np.random.Generator(np.random.PCG64(seed))
    coefficients = rng.normal(0, 1, count * width).astype(np.float32)
    starts, columns = np.arange(count + 1) * width, np.tile(np.arange(width, dtype=np.int32), count)
    return LinearModel(np.zeros(count), starts, columns, coefficients, 0.0), rng


def test_the_gradient_is_that_of_the_loss() -> None:
    """The gradient equals the difference quotient of the loss."""
    from engine.tune.fit import make_batches

    model, rng = synthetic_model(200, 6, 3)
    (batch,) = make_batches(model, np.arange(200), np.zeros(200), rng.random(200), 1000)
    weights = rng.normal(0, 1, 6)
    gradient = batch.gradient(weights)
    for i in range(6):
        step = np.eye(6)[i] * 1e-5
        up, down = (
            cross_entropy(batch.logits(weights + sign * step), batch.targets) for sign in (1, -1)
        )
        assert gradient[i] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-8)


def test_the_prior_keeps_numbers_near_their_start() -> None:
    """A larger prior keeps the numbers nearer to their start."""
    model, rng = synthetic_model(2000, 5, 4)
    logits = model.coefficients.reshape(2000, 5)[:, 0]
    results, matches = (rng.random(2000) < sigmoid(logits)).astype(float), np.arange(2000)
    fitted = [
        fit(model, np.zeros(5), results, matches, 1.0, Settings(batch=200, prior=prior)).numbers
        for prior in (0.0, 1000.0, 1e6)
    ]
    assert fitted[0][0] == pytest.approx(1, abs=0.2)
    assert fitted[0][0] > 1.2 * fitted[1][0] > 20 * fitted[2][0] > 0
    assert max(np.abs(numbers[1:]).max() for numbers in fitted) < 0.2


def test_validation_uses_whole_matches() -> None:
    """All positions of a match are in the same set, for learning or for validation."""
    from engine.tune.fit import is_validation

    matches = np.repeat(np.arange(300), 7)
    is_held_out = is_validation(matches, Settings(validation=0.3)).reshape(300, 7)
    assert (is_held_out == is_held_out[:, :1]).all()
    assert 0.2 < is_held_out.mean() < 0.4


@pytest.mark.parametrize("scale", [35.0, 400.0])
def test_the_scale_is_found(scale: float) -> None:
    """The fitted scale is the one from which the results were drawn."""
    rng = np.random.Generator(np.random.PCG64(8))
    values = rng.normal(0, scale, 50_000)
    results = (rng.random(50_000) < sigmoid(values / scale)).astype(float)
    assert fitted_scale(values, results) == pytest.approx(scale, rel=0.05)


def test_no_scale_without_information() -> None:
    """An evaluation that explains no result has no scale."""
    with pytest.raises(TuneError, match="give --scale"):
        fitted_scale(np.zeros(10), np.ones(10))


# --- self-play and its work file


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the searches of self-play run as plain Python: compiling them would take longer."""
    monkeypatch.setattr(selfplay, "Searcher", partial(Searcher, compiled=False))


def plan_of(game: Game, **changed: Any) -> Plan:
    """Returns a plan of self-play."""
    fields: dict[str, Any] = {
        "seed": 1,
        "nodes": 30,
        "least_random": 0,
        "most_random": 3,
        "options": {},
    }
    return Plan(1, game.id, game.digest, **(fields | changed))


@pytest.mark.usefixtures("planted", "uncompiled")
@pytest.mark.parametrize("truncated", [0, 1, 17])
def test_a_resumed_run_equals_a_single_one(tmp_path: Path, truncated: int) -> None:
    """A resumed run gives the same file, even if the last line was truncated.

    The results agree with the rules.
    """
    game = load_game("planted")
    plan = plan_of(game)
    paths = [tmp_path / name for name in ("whole", "parts")]
    for path, counts in zip(paths, ((6,), (2, 2, 6)), strict=True):
        for count in counts:
            with WorkFile(path, plan) as file:
                SelfPlay(game, plan).fill(file, count)
            if count != 6 and truncated:
                path.write_bytes(path.read_bytes()[:-truncated])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    for played in read_matches(paths[0]):
        position = game.start({})
        for token in played.moves.split():
            position = position.play(position.parse_move(token))
        outcome = position.outcome()
        assert outcome is None or played.result == {None: 0.5, 0: 1.0, 1: 0.0}[outcome.winner]
        assert all(0 <= ply < len(played.moves.split()) for ply in played.kept)


@pytest.mark.usefixtures("planted")
def test_a_work_file_with_another_plan_is_refused(tmp_path: Path) -> None:
    """A work file with another plan is refused, and the message names what differs."""
    game = load_game("planted")
    path = tmp_path / "work"
    with WorkFile(path, plan_of(game)) as file:
        file.add(PlayedMatch(0, "a1", 1.0))
    with pytest.raises(TuneError, match="nodes 30 and not 31, options"):
        WorkFile(path, plan_of(game, nodes=31, options={"a": "b"}))
    path.write_bytes(path.read_bytes() + b'{"number": 5, "moves": "", "result": 1}\n')
    with pytest.raises(TuneError, match="line 3: match 1 is expected"):
        list(read_matches(path))
    for content in ("something else\n", "a note without an end"):
        path.write_text(content)
        with pytest.raises(TuneError, match="not a work file"):
            WorkFile(path, plan_of(game))
        assert path.read_text() == content


# --- the command


@pytest.mark.usefixtures("uncompiled")
def test_the_command_tunes_a_game(
    planted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command plays, fits, and writes a file whose head has the command and the losses.

    It also learns from a file of positions. A second fit of the same matches writes the same
    numbers.
    """
    positions = tmp_path / "positions"
    positions.write_text("# ours\n...X.....; 1-0\n....X...O;0.5\n" * 200)
    out = tmp_path / "numbers.txt"
    command = [
        "planted",
        "--work",
        str(tmp_path / "work"),
        "--positions",
        str(positions),
        "--scale",
        "100",
        "--json",
    ]
    options = [
        "--nodes",
        "30",
        "--random",
        "1-3",
        "--freeze",
        "unused",
        "--freeze",
        "spare",
        "--validation",
        "0.3",
    ]
    assert main([*command, *options, "--games", "40", "--out", str(out)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["written"] == [str(out)]
    assert report["validation_after"] < report["validation_before"]
    head = out.read_text().splitlines()[:5]
    assert head[1].startswith(
        "# python -m engine.tune planted --work work --positions positions --scale 100 --json"
    )
    assert head[2] == "# matches made with --seed 1 --nodes 30 --random 1-3"
    assert f"{report['positions']:,} positions of {report['matches']:,} matches" in head[3]
    before = planted.read_text()
    assert before == NUMBERS, "the game's own file is unchanged"
    assert main([*command, *options]) == 0
    assert numbers_in(planted) == numbers_in(out) != numbers_in_text(NUMBERS)
    registry.clear()
    assert load_data(load_game("planted")).tolist()[1:] == numbers_in(out)
    again = capsys.readouterr()
    assert main([*command, *options, "--rate", "1e-9", "--prior", "1e12"]) == 3, again
    assert json.loads(capsys.readouterr().out)["written"] == []


def numbers_in(path: Path) -> list[int]:
    """Returns the numbers of a DATA file."""
    return numbers_in_text(path.read_text())


def numbers_in_text(text: str) -> list[int]:
    """Returns the numbers of a DATA text."""
    return [value for row in parse_rows(text) for value in row.numbers]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["tic-tac-toe", "--games", "1"],
            "tic-tac-toe has no numbers to tune: its DATA names nothing",
        ),
        (["no-such-game"], "there is no game 'no-such-game'"),
        (["planted", "--games", "1"], "--games needs --work FILE"),
        (["planted"], "there are no positions to learn from"),
        (
            ["planted", "--only", "king"],
            "there is no row king; there are: bias, cell, spare, unused",
        ),
        (["planted", "--only", "bias", "--freeze", "bias"], "no numbers are left to tune"),
        (["planted", "--random", "5-4"], "--random is a number of plies"),
        (["planted", "--validation", "1"], "--validation is between 0 and 1"),
        (["planted", "--batch", "0"], "--batch is 1 or more, not 0"),
        (["planted", "--option", "size=4"], "has no option 'size'"),
        (["planted", "--positions", "no-such-file"], "no-such-file cannot be read"),
    ],
)
@pytest.mark.usefixtures("planted")
def test_wrong_commands(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong command exits with 2 and says what is wrong."""
    monkeypatch.chdir(tmp_path)
    with_work = ["--games", "1", "--work", "work"] if "--random" in arguments else []
    assert main([*arguments, *with_work]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(
    ("line", "message"),
    [("...X.....", "line 1: a position, a semicolon"),
     ("..XX.....;1-0", "line 1: .*is not a position"),
     ("...X.....;2-0", "line 1: a position, a semicolon")],
)  # fmt: skip
def test_a_wrong_position_is_named(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error for a wrong position has its file and line."""
    import re

    path = tmp_path / "positions"
    path.write_text(line + "\n")
    assert main(["planted", "--positions", str(path)]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` prints the options."""
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--score-weight" in capsys.readouterr().out
