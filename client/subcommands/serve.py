"""`plyroom serve`, and the commands that pass their arguments to a program of their own."""

import os
import subprocess
import sys
from typing import NoReturn

import click


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.option("--port", help="Port to listen on; 0 takes a free one.  [default: 8000]")
@click.option("--host", help="Address to listen on.  [default: every network of this machine]")
@click.option("--data", help="Folder for the database.  [default: data]")
@click.option(
    "--database",
    help="A PostgreSQL database to use instead.  [env: PLYROOM_DATABASE, PLYROOM_DATABASE_FILE]",
)
@click.pass_context
def serve(
    context: click.Context,
    port: str | None,
    host: str | None,
    data: str | None,
    database: str | None,
) -> None:
    """Serve Plyroom to browsers and terminals.

    Further options go to the server: see `python -m server --help`.
    """
    from client.own_server import server_command

    options = [("--port", port), ("--host", host), ("--data", data), ("--database", database)]
    arguments = [part for name, value in options if value is not None for part in (name, value)]
    run_in_place(server_command(*arguments, *context.args))


def run_in_place(command: list[str]) -> NoReturn:
    """Runs another program in place of this one, and exits with its exit code."""
    from client.own_server import server_environ

    if os.name == "posix":
        os.execve(command[0], command, server_environ())
    sys.exit(subprocess.call(command, env=server_environ()))


def _program(name: str, summary: str) -> click.Command:
    """A command that passes its arguments, including --help, to a program."""

    @click.command(
        name,
        short_help=summary,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    @click.pass_context
    def command(context: click.Context) -> None:
        from client.own_server import admin_command, teach_command, worker_command

        match name:
            case "worker":
                run_in_place(worker_command(*context.args))
            case "teach":
                run_in_place(teach_command(*context.args))
            case _:
                run_in_place(admin_command(name, *context.args))

    return command


#: The lessons of game search.
teach = _program("teach", "Teach game search: lessons, logs, pictures and questions.")
#: The commands that are programs of the server.
SERVER_PROGRAMS = (
    _program("migrate", "Bring a database to the schema of this version."),
    _program("worker", "Run an engine worker for all servers that share a broker."),
    _program("backup", "Write the whole database to a file, even while servers run."),
    _program("restore", "Fill an empty database from a backup."),
    _program(
        "verify", "Check every stored room: its log, its moves and the tables derived from them."
    ),
    _program("calibration", "Compare the AI's chances to win with the results of stored matches."),
)
