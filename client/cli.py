"""The `plyroom` command.

Results go to stdout, messages to stderr. The exit code is 0, 1 (failed) or 2 (wrong usage).
"""

import asyncio
import difflib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import click

from client.address import (
    DEFAULT_SERVER,
    Address,
    BadAddress,
    linked_ply,
    parse_address,
    parse_link,
)
from client.errors import PlyroomError, Refused, Unreachable, WrongToken

if TYPE_CHECKING:
    from client.api import GameInfo
    from client.connection import Connection
    from client.model import Model
    from client.terminal.output import Output
    from server.protocol.messages import AiSeat, MySeat, OpenSeat

T = TypeVar("T")

#: Seconds to reconnect to the server that this command started; nothing restarts that server.
OWN_SERVER_RECONNECT_LIMIT_S = 5

#: Seconds to reconnect when no user is at a terminal; on a terminal there is no limit.
RECONNECT_LIMIT_S = 120

#: Codes of refusals that mean wrong usage; the exit code is then 2.
USAGE_CODES = frozenset(
    {"game.unknown", "level.unknown", "option.unknown", "name.refused", "message.malformed"}
)
#: The AI's level in `plyroom play` without --level.
DEFAULT_LEVEL = 3
#: The personas of `server.protocol.messages`, repeated here so that `--help` need not import it.
PERSONAS = ("average", "swindler", "random")

# Each command imports its modules itself, so that `plyroom --help` is quick.


class CommandFailed(click.ClickException):
    """The command failed although its usage was right; exit code 1."""


def _version() -> str:
    try:
        return version("plyroom")
    except PackageNotFoundError:
        return "0+unknown"


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_version(), prog_name="plyroom")
def main() -> None:
    """Board games with people and with an AI whose thinking anyone can watch."""


def _parse_url(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Address | None:
    try:
        return parse_address(value) if value else None
    except BadAddress as error:
        raise click.BadParameter(str(error)) from error


url_option = click.option(
    "--url",
    callback=_parse_url,
    envvar="PLYROOM_URL",
    help=f"The server, for example {DEFAULT_SERVER}.  [env: PLYROOM_URL]",
)
data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the matches of your own server (without --url).  [default: none is saved]",
)
as_option = click.option(
    "--as", "name", metavar="NAME", help="Your name in the room; each name is a separate guest."
)
plain_option = click.option(
    "--plain", is_flag=True, help="Plain lines of text (currently the only mode)."
)
brief_option = click.option(
    "--brief", is_flag=True, help="Do not print the board after moves; type b to see it."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print lines of JSON.")


# --- serve, games


@main.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
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
    _exec(server_command(*arguments, *context.args))


def _exec(command: list[str]) -> NoReturn:
    """Runs another program in place of this one, and exits with its exit code."""
    from client.own_server import server_environ

    if os.name == "posix":
        os.execve(command[0], command, server_environ())
    sys.exit(subprocess.call(command, env=server_environ()))


def _add_server_command(name: str, summary: str) -> None:
    """Adds a command that passes its arguments, including --help, to a program of the server."""

    @main.command(
        name,
        short_help=summary,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    @click.pass_context
    def command(context: click.Context) -> None:
        from client.own_server import admin_command, worker_command

        _exec(
            worker_command(*context.args)
            if name == "worker"
            else admin_command(name, *context.args)
        )


_add_server_command("migrate", "Bring a database to the schema of this version.")
_add_server_command("worker", "Run an engine worker for all servers that share a broker.")
_add_server_command("backup", "Write the whole database to a file, even while servers run.")
_add_server_command("restore", "Fill an empty database from a backup.")
_add_server_command(
    "verify", "Check every stored room: its log, its moves and the tables derived from them."
)


@main.command()
@url_option
@json_option
def games(url: Address | None, as_json: bool) -> None:
    """List the games with their options and levels.

    The games are those of this machine, or those of --url.
    """
    import msgspec

    for game in _call_api(lambda: _list_games(url)):
        if as_json:
            click.echo(msgspec.json.encode(game))
            continue
        levels = f"levels 1 to {game.levels}" if game.levels > 1 else "one level"
        click.echo(f"{game.id}: {game.title}, {levels}")
        for name, option in game.options.items():
            values = [
                f"{value} (default)" if value == option.default else value
                for value in option.offered
            ]
            more = ", or others like these" if option.free else ""
            click.echo(f"    --option {name}=...: {option.title}; {', '.join(values)}{more}")


def _list_games(url: Address | None) -> "tuple[GameInfo, ...]":
    """The games of a server, or of this machine where `url` is None."""
    from client.api import GameInfo, OptionInfo, fetch_games

    if url is not None:
        return fetch_games(url)
    from engine.rules.registry import game_ids, load_game

    def load_info(game_id: str) -> GameInfo:
        game = load_game(game_id)
        options = {
            name: OptionInfo(option.title, option.default, option.offered, option.free)
            for name, option in game.options.items()
        }
        return GameInfo(game.id, game.title, game.levels, options, game.rules.RULES)

    games = []
    for game_id in game_ids():
        try:
            games.append(load_info(game_id))
        # A plug-in's file may raise any exception; the other games stay playable.
        except Exception as error:
            click.echo(f"{game_id} is left out: {type(error).__name__}: {error}", err=True)
    return tuple(games)


# --- play, join, watch


@main.command()
@click.argument("game")
@click.option(
    "--level",
    type=click.IntRange(1, 8),
    help=f"Play the AI at this level.  [default: {DEFAULT_LEVEL}]",
)
@click.option(
    "--persona",
    type=click.Choice(PERSONAS),
    help="Play the AI with this persona instead of a level.",
)
@click.option(
    "--friend", is_flag=True, help="Play a person: prints a link to send them, and waits."
)
@click.option(
    "--side", type=click.Choice(["first", "second", "random"]), default="first", show_default=True
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the game; see `plyroom games`.",
)
@click.option("--unlisted", is_flag=True, help="Keep the room out of the server's list.")
@url_option
@data_option
@as_option
@brief_option
@plain_option
def play(
    game: str,
    level: int | None,
    persona: "Literal['average', 'swindler', 'random'] | None",
    friend: bool,
    side: str,
    options: tuple[str, ...],
    unlisted: bool,
    url: Address | None,
    data: Path | None,
    name: str | None,
    brief: bool,
    plain: bool,
) -> None:
    """Play GAME against the AI, or with --friend against a person.

    Without --url a server runs on this machine for as long as you play. Type moves in the game's
    notation, or commands (help lists them). In a pipe each line is read when it is your turn, and
    the command ends with the match.
    """
    from server.protocol.messages import Create, Visibility

    if (level is not None) + (persona is not None) + friend > 1:
        raise click.UsageError(
            "choose one of --level, --persona (the AI's) and --friend (for a person)"
        )
    if friend and url is None:
        raise click.UsageError(
            "--friend needs a server that both players can reach: "
            f"start `plyroom serve`, then add --url {DEFAULT_SERVER}"
        )
    info = _find_game(url, game)
    chosen_options = _parse_options(info, options)
    if level is not None and level > info.levels:
        raise click.BadParameter(
            f"{info.title} has levels 1 to {info.levels}", param_hint="--level"
        )
    seats = _seats(side, friend, level or min(DEFAULT_LEVEL, info.levels), persona)
    is_own_server = url is None

    async def run() -> None:
        async with (
            _server(url, data) as address,
            _connect(address, name, is_own_server, data) as connection,
        ):
            visibility: Visibility = "unlisted" if unlisted or is_own_server else "public"
            create = Create(
                id=connection.new_id(),
                game=info.id,
                options=chosen_options,
                seats=seats,
                visibility=visibility,
            )
            room = (await connection.command(create)).room
            assert isinstance(room, str), "the ack of create names the room"
            await _run_line_mode(
                connection,
                address,
                room,
                brief=brief,
                invite=friend,
                closing_text=_closing_text(address, is_own_server, data),
            )

    _run(run())


@main.command()
@click.argument("room", metavar="ROOM_OR_LINK")
@url_option
@as_option
@brief_option
@plain_option
def join(room: str, url: Address | None, name: str | None, brief: bool, plain: bool) -> None:
    """Sit down in a room, if a seat is free, and play; otherwise watch."""
    address, room_id = _locate(room, url)

    async def run() -> None:
        async with _connect(address, name) as connection:
            await _run_line_mode(
                connection,
                address,
                room_id,
                brief=brief,
                sit=True,
                closing_text=_closing_text(address),
            )

    _run(run())


@main.command()
@click.argument("room", metavar="ROOM_OR_LINK")
@url_option
@as_option
@brief_option
@json_option
@plain_option
def watch(
    room: str, url: Address | None, name: str | None, brief: bool, as_json: bool, plain: bool
) -> None:
    """Watch a room.

    In a pipe the command ends with the match.
    """
    from client.terminal.line import print_messages

    address, room_id = _locate(room, url)

    async def run() -> None:
        async with _connect(address, name) as connection:
            if as_json:
                await print_messages(connection, room_id, _output(_is_interactive()))
            else:
                await _run_line_mode(
                    connection, address, room_id, brief=brief, closing_text=_closing_text(address)
                )

    _run(run())


@main.command()
@click.argument("match", metavar="MATCH_OR_LINK")
@click.option(
    "--ply", type=click.IntRange(0), help="Print only the position after this many plies."
)
@url_option
@data_option
@json_option
@plain_option
def replay(
    match: str, ply: int | None, url: Address | None, data: Path | None, as_json: bool, plain: bool
) -> None:
    """Replay a match.

    On a terminal you step through it; in a pipe all positions are printed. With --data the match
    is read from that folder, and no server needs to run.
    """
    linked, match_id = _parse_link(match)
    ply = linked_ply(match) if ply is None else ply
    if data is None or linked is not None or url is not None:
        _replay(linked or url or parse_address(DEFAULT_SERVER), match_id, ply, as_json)
        return

    async def run() -> None:
        async with _server(None, data) as address:
            await asyncio.to_thread(_replay, address, match_id, ply, as_json)

    _run(run())


def _replay(address: Address, match_id: str, ply: int | None, as_json: bool) -> None:
    from client.api import fetch_match, fetch_views
    from client.terminal.replay import print_json, print_match, step_through

    record = _call_api(lambda: fetch_match(address, match_id))
    if ply is not None and ply > len(record.moves):
        raise click.BadParameter(f"the match has {len(record.moves)} plies", param_hint="--ply")
    views = (
        _call_api(lambda: fetch_views(address, match_id, 0, len(record.moves)))
        if record.view is not None
        else []
    )
    output = _output(_is_interactive())
    if as_json:
        print_json(record, views, output, ply)
    elif output.interactive:
        step_through(record, views, output, _read_line, ply or 0)
    else:
        print_match(record, views, output, ply)


# --- shared helpers


def _read_line() -> str | None:
    return sys.stdin.readline() or None


def _find_game(url: Address | None, name: str) -> "GameInfo":
    """The game with this id or title; raises BadParameter with a suggestion when there is none."""
    games = _call_api(lambda: _list_games(url))
    for game in games:
        if name.lower() in (game.id, game.title.lower()):
            return game
    ids = [game.id for game in games]
    similar = difflib.get_close_matches(name.lower(), ids, 1, 0.5)
    suggestion = f"Did you mean {similar[0]}? " if similar else ""
    raise click.BadParameter(
        f"there is no game {name!r}. {suggestion}There are: {', '.join(ids)}.", param_hint="GAME"
    )


def _parse_options(game: "GameInfo", arguments: tuple[str, ...]) -> dict[str, str]:
    """The options of `--option NAME=VALUE` by name; raises BadParameter for unknown ones."""
    chosen: dict[str, str] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or name not in game.options:
            known = ", ".join(f"{n}={o.default}" for n, o in game.options.items()) or "none"
            raise click.BadParameter(
                f"{argument!r} is not an option of {game.title}; it has: {known}",
                param_hint="--option",
            )
        option = game.options[name]
        if value not in option.offered and not option.free:
            raise click.BadParameter(
                f"{name} is one of {', '.join(option.offered)}", param_hint="--option"
            )
        chosen[name] = value
    return chosen


def _seats(
    side: str, friend: bool, level: int, persona: "Literal['average', 'swindler', 'random'] | None"
) -> "tuple[MySeat | OpenSeat | AiSeat, ...]":
    """The seats of a new room: one for the user, the other for a friend or the AI."""
    import secrets

    from server.protocol.messages import AiSeat, MySeat, OpenSeat

    my_seat = secrets.randbelow(2) if side == "random" else int(side == "second")
    ai = AiSeat(level) if persona is None else AiSeat(persona=persona)
    opponent = OpenSeat() if friend else ai
    return (MySeat(), opponent) if my_seat == 0 else (opponent, MySeat())


def _parse_link(text: str) -> tuple[Address | None, str]:
    try:
        return parse_link(text)
    except BadAddress as error:
        raise click.UsageError(str(error)) from error


def _locate(text: str, url: Address | None) -> tuple[Address, str]:
    """The server and the id; a bare id belongs to the server of --url, or of this machine."""
    linked, room_id = _parse_link(text)
    return linked or url or parse_address(DEFAULT_SERVER), room_id


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _output(interactive: bool) -> "Output":
    from client.terminal.output import Output, wants_colour

    return Output(sys.stdout, sys.stderr, interactive, wants_colour(sys.stdout))


@asynccontextmanager
async def _server(url: Address | None, data: Path | None) -> AsyncIterator[Address]:
    """Yields `url`, or without one the address of a server that this command starts and stops."""
    if url is not None:
        yield url
        return
    from client.own_server import own_server

    if sys.stderr.isatty():
        click.echo("Starting a server on this machine …", err=True)
    async with own_server(data) as address:
        yield address


@asynccontextmanager
async def _connect(
    address: Address, name: str | None, is_own_server: bool = False, data: Path | None = None
) -> "AsyncIterator[Connection]":
    """Yields a connection as the guest whose token is stored for this server.

    When there is no token, or the server does not know it, the server creates a new guest; in the
    second case the user reads so.
    """
    from client.connection import State, connect
    from client.tokens import TokenFile, state_folder

    output = _output(_is_interactive())
    is_down = False

    def on_state(state: State) -> None:
        nonlocal is_down
        if state is State.CONNECTED:
            if is_down:
                output.report("Connected again.")
            is_down = False
        else:
            is_down = True
            problem = (
                "The server restarts" if state is State.RESTARTING else "The connection is lost"
            )
            output.report(f"{problem}; trying again …")

    tokens = TokenFile(state_folder() / "tokens.json")
    key = _token_key(address, is_own_server, data)
    stored_token = tokens.find(key, name) if key else None
    limit_s = RECONNECT_LIMIT_S if not output.interactive else None
    if is_own_server:
        limit_s = OWN_SERVER_RECONNECT_LIMIT_S

    def connect_with(token: str | None) -> "AbstractAsyncContextManager[Connection]":
        guest_name = name or ("You" if is_own_server else None)
        return connect(
            str(address), token, guest_name, reconnect_limit_s=limit_s, on_state=on_state
        )

    async with AsyncExitStack() as stack:
        try:
            connection = await stack.enter_async_context(connect_with(stored_token))
        except WrongToken:
            connection = await stack.enter_async_context(connect_with(None))
            output.report(
                "Your earlier guest was not found on this server."
                f" You are a new guest now: {connection.name}."
            )
        if key and connection.token is not None and connection.token != stored_token:
            with suppress(OSError):
                tokens.store(key, name, connection.token)
        yield connection


def _token_key(address: Address, is_own_server: bool, data: Path | None) -> str | None:
    """The key under which the token file stores the tokens for a server.

    The server that this command starts is identified by its data folder. Without such a folder the
    key is None, and the tokens are not stored.
    """
    if not is_own_server:
        return str(address)
    return f"data:{data.absolute()}" if data is not None else None


def _closing_text(
    address: Address, is_own_server: bool = False, data: Path | None = None
) -> "Callable[[Model], str]":
    """Returns a function that makes the last message: how to return to the match or replay it."""

    def text(model: "Model") -> str:
        match = model.match.id if model.match else ""
        if is_own_server and data is None:
            return "The match is not saved (see --data)."
        if model.running:
            return (
                "The match is not over."
                if is_own_server
                else f"The match is not over: {address.room_url(model.room)}"
            )
        return (
            f"Replay: plyroom replay {match} --data {data}"
            if is_own_server
            else f"Replay: plyroom replay {address}/match/{match}"
        )

    return text


async def _run_line_mode(
    connection: "Connection",
    address: Address,
    room: str,
    *,
    brief: bool,
    sit: bool = False,
    invite: bool = False,
    closing_text: "Callable[[Model], str]",
) -> None:
    """Runs line mode in a room to its end, then prints the closing text."""
    from client.terminal.keyboard import Lines
    from client.terminal.line import InputEnded, LineMode

    output = _output(_is_interactive())
    mode = LineMode(
        connection,
        address,
        room,
        Lines(sys.stdin.fileno()),
        output,
        sit=sit,
        brief=brief,
        invite=invite,
    )
    try:
        await mode.run()
    except InputEnded as ended:
        raise CommandFailed("the input ended before the match was over") from ended
    finally:
        output.close()
        if mode.model.match is not None:
            output.report(closing_text(mode.model))


def _call_api(request: Callable[[], T]) -> T:
    """Calls a function; turns a PlyroomError into an error message of the command."""
    try:
        return request()
    except PlyroomError as error:
        raise _click_error(error) from error


def _run(main: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine to its end and reports an error in one line.

    SIGTERM, SIGHUP and Ctrl-C cancel it, so that it can clean up.
    """
    try:
        asyncio.run(_cancel_on_signals(main))
    except PlyroomError as error:
        raise _click_error(error) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo("Stopped.", err=True)
        sys.exit(1)


async def _cancel_on_signals(main: Coroutine[Any, Any, None]) -> None:
    """Runs a coroutine in the current task, which SIGTERM and SIGHUP cancel."""
    task = asyncio.current_task()
    assert task is not None, "run by asyncio.run"
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(NotImplementedError, AttributeError):
            loop.add_signal_handler(getattr(signal, name), task.cancel)
    await main


def _click_error(error: PlyroomError) -> click.ClickException:
    """The error for the terminal, with advice on what to do about it."""
    if isinstance(error, Refused):
        if error.code in USAGE_CODES:
            return click.UsageError(error.message)
        if error.code == "room.unknown":
            return CommandFailed(f"{error.message}; the server's first page lists its rooms")
        return CommandFailed(error.message)
    if isinstance(error, Unreachable):
        return CommandFailed(
            f"{error}. Is it running? `plyroom serve` starts one, --url names another."
        )
    return CommandFailed(str(error))
