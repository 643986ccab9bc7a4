"""`python -m server.bench NAME`: runs one of the benchmarks of the server; `--list` lists them.

docs/how-to/benchmarks.md says what each of them prints.
"""

from collections.abc import Sequence
from importlib import import_module

import click

#: The module of each benchmark, whose `main` is its command. Only the chosen one is imported.
BENCHMARKS = {
    "ai-matches": "server.bench.ai_matches",
    "analyses": "server.bench.analyses",
    "bus": "server.bench.bus",
    "cluster": "server.bench.cluster",
    "cluster-load": "server.bench.cluster_load",
    "exports": "server.bench.exports",
    "first-moves": "server.bench.first_moves",
    "flags": "server.bench.flags",
    "hints": "server.bench.hints",
    "moves": "server.bench.moves",
    "peers": "server.bench.peers.measure",
    "restart": "server.bench.restart",
    "traces": "server.bench.traces",
}


class Benchmarks(click.Group):
    """The benchmarks by their names."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(BENCHMARKS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in BENCHMARKS:
            return None
        command = import_module(BENCHMARKS[cmd_name]).main
        assert isinstance(command, click.Command)
        return command


def print_list(ctx: click.Context, parameter: click.Parameter, is_asked: bool) -> None:
    """Prints the benchmarks, a line each, and ends the program."""
    if is_asked:
        for name in BENCHMARKS:
            command = benchmarks.get_command(ctx, name)
            assert command is not None
            click.echo(f"{name:14}{command.get_short_help_str(limit=100)}")
        ctx.exit()


@click.group(cls=Benchmarks, subcommand_metavar="NAME [OPTIONS]")
@click.option(
    "--list", is_flag=True, is_eager=True, expose_value=False, callback=print_list,
    help="List the benchmarks.",
)  # fmt: skip
def benchmarks() -> None:
    """Run one of the benchmarks of the server; NAME --help has its options."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the program. It exits with 2 for a name that is no benchmark's."""
    benchmarks.main(arguments, prog_name="python -m server.bench")


if __name__ == "__main__":
    main()
