"""The `plyroom` command.

Results go to stdout, messages to stderr. The exit code is 0, 1 (failed) or 2 (wrong usage). Each
command is a module of `client.subcommands`, which imports what it needs when it runs, so that
`plyroom --help` is quick.
"""

from importlib.metadata import PackageNotFoundError, version

import click

from client.subcommands.analyse import analyse
from client.subcommands.export import export
from client.subcommands.games import games
from client.subcommands.join import join
from client.subcommands.play import play
from client.subcommands.replay import replay
from client.subcommands.rooms import rooms
from client.subcommands.serve import SERVER_PROGRAMS, serve, teach
from client.subcommands.watch import watch


def _version() -> str:
    try:
        return version("plyroom")
    except PackageNotFoundError:
        return "0+unknown"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_version(), prog_name="plyroom")
def main() -> None:
    """Board games with people and with an AI whose thinking anyone can watch."""


for _command in (
    serve,
    *SERVER_PROGRAMS,
    games,
    rooms,
    play,
    join,
    watch,
    replay,
    export,
    analyse,
    teach,
):
    main.add_command(_command)
