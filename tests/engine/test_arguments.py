"""Bad arguments of the engine's commands are refused."""

from argparse import ArgumentTypeError
from importlib import import_module

import pytest

from engine.command_line import between, count, count_or_zero, option, positive

#: Module of the command, arguments, and a part of the error message.
REFUSED = [
    ("engine.bench.__main__", "--rounds 0", "from 1 on"),
    ("engine.bench.__main__", "--ablation --table-bits 70", "28 at most"),
    ("engine.bench.__main__", "--ablation --table-bits 0", "from 1 on"),
    ("engine.bench.__main__", "--ablation --deepen chess", "not allowed with"),
    ("engine.bench.__main__", "--deepen chess --depth 999", "126 at most"),
    ("engine.bench.__main__", "--deepen whist", "there is no game 'whist'"),
    ("engine.bench.__main__", "--deepen chess --depth 0", "from 1 on"),
    ("engine.conformance.__main__", "sticks --all", "unrecognized arguments: --all"),
    ("engine.bench.table", "--rounds 0", "from 1 on"),
    ("engine.bench.table", "--seconds never", "above 0"),
    ("engine.bench.table", "--suites", "expected one argument"),
    ("engine.perft", "chess -1", "from 1 on"),
    ("engine.perft", "chess 1 --option swap", "NAME=VALUE"),
    ("engine.solve", "connect-four --seconds -1", "above 0"),
    ("engine.solve", "connect-four --seconds soon", "above 0"),
    ("engine.solve", "connect-four --nodes 0", "from 1 on"),
    ("engine.solve", "connect-four --seconds 1e300", "at most"),
    ("engine.solve", "connect-four --nodes 10000000000000000", "at most"),
    ("engine.solve", "connect-four --option =1", "NAME=VALUE"),
    (
        "engine.solve",
        "draughts --make-tables --make-book",
        "not allowed with argument --make-tables",
    ),
    (
        "engine.solve",
        "connect-four --make-book --position 44",
        "not allowed with argument --make-book",
    ),
    (
        "engine.solve",
        "draughts --make-tables --nodes 5",
        "argument --nodes: not with --make-tables",
    ),
    ("engine.solve", "connect-four --plies 5", "argument --plies: only with --make-book"),
    ("engine.solve", "connect-four --file f --out f", "argument --out: only with --make-book"),
    ("engine.solve", "connect-four --make-book --plies -1", "from 0 on"),
    ("engine.match.__main__", "sticks --player random --opening-plies -4", "from 0 on"),
    ("engine.match.__main__", "sticks --option rows", "NAME=VALUE"),
    ("engine.match.__main__", "sticks --seed 99999999999999999999", "at most"),
    ("engine.match.__main__", "sticks --concurrency 1000", "256 at most"),
    ("engine.match.ladder", "sticks --games -2", "from 1 on"),
    ("engine.match.ladder", "sticks --top-nodes 0", "from 1 on"),
    ("engine.match.ladder", "sticks --concurrency none", "from 1 on"),
    ("engine.match.ladder", "sticks --concurrency 257", "256 at most"),
    ("engine.match.ablation", "sticks --nodes 0", "from 1 on"),
    ("engine.match.ablation", "sticks --nodes 100000000000000000000000", "at most"),
    ("engine.match.ablation", "sticks --concurrency 1000", "256 at most"),
    ("engine.tune.__main__", "chess --option rows", "NAME=VALUE"),
    ("engine.tune.othello", "--work positions --depth 0", "60 at most"),
    ("engine.tune.othello", "--work positions --seed -1", "from 0 on"),
    ("engine.tune.othello", "--work positions", "--matches or --out"),
    ("engine.teach.__main__", "--game sticks --option rows", "NAME=VALUE"),
]


@pytest.mark.parametrize(
    ("command", "line", "expected"), REFUSED, ids=[f"{name} {line}" for name, line, _ in REFUSED]
)
def test_bad_arguments_are_refused(
    command: str, line: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command exits with 2 and prints one line that says what it expected."""
    with pytest.raises(SystemExit) as ended:
        import_module(command).main(line.split())
    assert ended.value.code == 2
    assert expected in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("command", sorted({"engine.warm", *(name for name, _, _ in REFUSED)}))
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The help of every command shows how it is called."""
    with pytest.raises(SystemExit) as ended:
        import_module(command).main(["--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(
        f"usage: python -m {command.removesuffix('.__main__')} [-h]"
    )


def test_accepted_arguments() -> None:
    """Numbers and options are parsed; an option's value may be empty or contain an equals sign."""
    assert [count("1"), count("400"), count_or_zero("0")] == [1, 400, 0]
    assert [between(0, 28)("0"), between(0, 28)("28"), positive("0.5")] == [0, 28, 0.5]
    assert dict(map(option, ["rows=1-3", "note=a=b", "empty="])) == {
        "rows": "1-3",
        "note": "a=b",
        "empty": "",
    }
    for kind, text in (
        (count, "٣"),
        (count, "1.5"),
        (count, ""),
        (count, "9" * 5000),
        (between(1, 9), "10"),
        (positive, "nan"),
        (positive, "inf"),
    ):
        with pytest.raises(ArgumentTypeError):
            kind(text)
