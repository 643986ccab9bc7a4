"""`python -m server.bench`: one program runs the benchmarks of the server by their names."""

import ast
import asyncio
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import click
import pytest

from server.bench.__main__ import BENCHMARKS, main
from server.bench.figures import percentile
from server.bench.flags import FallingFlag
from server.bench.pairs import Pair

#: The folder of the benchmarks.
FOLDER = Path(__file__).parents[2] / "server" / "bench"


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Returns the exit code and what the program wrote to both streams."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_every_command_has_a_name() -> None:
    """Each module with a command is a benchmark, under its own name."""
    commands = {
        f"server.bench.{'.'.join(path.relative_to(FOLDER).with_suffix('').parts)}"
        for path in FOLDER.rglob("*.py")
        if any(
            isinstance(node, ast.FunctionDef)
            and "click.command"
            in {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
            for node in ast.parse(path.read_text("utf-8")).body
        )
    }
    assert commands == set(BENCHMARKS.values())
    for name, module in BENCHMARKS.items():
        assert isinstance(import_module(module).main, click.Command)
        assert name.replace("-", "_") in module.split(".")


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """--list prints each name and what it measures, in a line each."""
    code, out, _ = run("--list", capsys=capsys)
    assert code == 0
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    assert [line[0] for line in lines] == sorted(BENCHMARKS)
    assert all(line[1].endswith(".") for line in lines)


def test_a_name_chooses_the_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    """What follows a name belongs to that benchmark. Without a name, or with a wrong one, the
    program exits with 2 and says what it expects.
    """
    code, out, _ = run("cluster", "--help", capsys=capsys)
    assert code == 0
    assert "--apart" in out
    assert "python -m server.bench cluster" in out
    code, _, err = run("cluster", "--rounds", "x", capsys=capsys)
    assert code == 2
    assert "'x' is not a valid integer" in err
    for wrong in ((), ("clusters",)):
        code, _, err = run(*wrong, capsys=capsys)
        assert code == 2
        assert "python -m server.bench" in err


@pytest.mark.parametrize(("share", "value"), [(0, 1), (0.5, 51), (0.95, 96), (0.99, 100), (1, 100)])
def test_percentiles(share: float, value: int) -> None:
    """A percentile is one of the values; that share of the values does not exceed it."""
    assert percentile(range(100, 0, -1), share) == value


def test_a_match_that_ends_without_its_flag_fails_the_benchmark() -> None:
    """Its figures are an error that names the event, not a wait for the time limit."""

    async def wait() -> None:
        players = (SimpleNamespace(), SimpleNamespace())
        flag = FallingFlag(cast(Pair, SimpleNamespace(room="r", players=players)))
        players[1].on_text(b'{"t":"event","kind":"finished","how":"abort","at":5}')
        async with asyncio.timeout(60):
            await flag.late_ms

    with pytest.raises(AssertionError, match=r"no flag fell.*abort"):
        asyncio.run(wait())
