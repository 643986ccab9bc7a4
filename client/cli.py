"""The `plyroom` command.

Results go to stdout, messages to stderr. The exit code is 0, 1 (failed) or 2 (wrong usage). Each
command is a module of `client.subcommands`, which imports what it needs when it runs, so that
`plyroom --help` is quick.
"""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click
from click.core import ParameterSource

from client.address import Address
from client.program import first_steps, program
from client.subcommands.analyse import analyse
from client.subcommands.export import export
from client.subcommands.full_screen import fills_terminal, show_lobby
from client.subcommands.games import games
from client.subcommands.join import join
from client.subcommands.options import (
    as_option,
    ascii_option,
    kept_option,
    plain_option,
    url_option,
)
from client.subcommands.play import play
from client.subcommands.replay import replay
from client.subcommands.rooms import rooms
from client.subcommands.running import run_to_end
from client.subcommands.serve import SERVER_PROGRAMS, serve, teach
from client.subcommands.watch import watch

#: Maximum number of servers that `plyroom` alone names, where no full screen can be shown.
MAX_SERVERS = 2


def _version() -> str:
    try:
        return version("plyroom")
    except PackageNotFoundError:
        return "0+unknown"


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
)
@click.version_option(_version(), prog_name="plyroom")
@url_option
@kept_option
@as_option
@ascii_option
@plain_option
@click.pass_context
def main(
    context: click.Context,
    url: Address | None,
    data: Path | None,
    name: str | None,
    is_ascii: bool,
    plain: bool,
) -> None:
    """Board games with people and with an AI whose thinking anyone can watch.

    Without a command, the lobby of the server at --url fills the terminal; without an address it
    asks for one, or starts a server. Screen readers and braille displays need plain lines: --plain,
    or PLYROOM_PLAIN=1 in the environment, and a command such as play.
    """
    if context.invoked_subcommand is not None:
        given = [
            parameter.opts[0]
            for parameter in main.params
            if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        ]
        if given:
            command = context.invoked_subcommand
            raise click.UsageError(
                f"{given[0]} stands after the command: {program()} {command} ... {given[0]}"
            )
        return
    if plain:
        raise click.UsageError(
            f"plain lines need a command: {program()} play chess --plain starts a match,"
            f" {program()} rooms lists rooms, {program()} --help has the others"
        )
    if not fills_terminal(plain):
        from client.own_server import servers_here

        servers = servers_here() if url is None else ()
        running = [f"A server runs here: {each}" for each in servers]
        intro = "Board games with people and with an AI whose thinking anyone can watch."
        lines = [intro, *first_steps(), *running[:MAX_SERVERS]]
        click.echo("\n".join(lines), err=True)
        context.exit(2)
    run_to_end(show_lobby(url, data, name, is_ascii))


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
