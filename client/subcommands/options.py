"""The options that several commands have, and the arguments that name a room or a match."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click

from client.address import DEFAULT_SERVER, Address, BadAddress, parse_address, parse_link

#: What decorators of click take and return.
Command = TypeVar("Command", bound=Callable[..., object])


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


def _expand_user(
    context: click.Context, parameter: click.Parameter, value: Path | None
) -> Path | None:
    try:
        return None if value is None else value.expanduser()
    except RuntimeError as error:
        raise click.BadParameter(f"{value}: there is no such user") from error


def user_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for the user's own matches: in $XDG_DATA_HOME or its equivalent on this system."""
    if environ.get("XDG_DATA_HOME"):
        return Path(environ["XDG_DATA_HOME"]) / "plyroom"
    if sys.platform == "win32" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "plyroom" / "data"
    return Path(environ.get("HOME") or Path.home()) / ".local" / "share" / "plyroom"


def typed(folder: Path) -> str:
    """A folder as a person types it in a shell: "~/.local/share/plyroom"."""
    home = Path.home()
    quoted = shlex.quote(str(folder))
    if quoted == str(folder) and folder.is_relative_to(home) and folder != home:
        return f"~/{folder.relative_to(home)}"
    return quoted


def _kept_folder(
    context: click.Context, parameter: click.Parameter, value: Path | None
) -> Path | None:
    if value is None:
        return user_folder()
    return None if str(value) == NO_DATA else _expand_user(context, parameter, value)


#: The value of --data with which nothing is kept.
NO_DATA = "none"

data_option = click.option(
    "--data",
    callback=_expand_user,
    type=click.Path(file_okay=False, path_type=Path),
    help="The data folder that it is in, of your own server; none needs to run.",
)
kept_option = click.option(
    "--data",
    callback=_kept_folder,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the matches of your own server (without --url); none keeps nothing."
    "  [default: ~/.local/share/plyroom]",
)
as_option = click.option(
    "--name",
    "--as",
    "name",
    metavar="NAME",
    help="Your name in the room; each name is a separate guest.",
)
plain_option = click.option(
    "--plain",
    is_flag=True,
    help="Plain lines of text instead of the full screen, also for screen readers and braille"
    " displays.  [env: PLYROOM_PLAIN=1]",
)
ascii_option = click.option(
    "--ascii",
    "is_ascii",
    is_flag=True,
    envvar="PLYROOM_ASCII",
    help="Letters for the pieces, in place of figures and dark squares.  [env: PLYROOM_ASCII]",
)
brief_option = click.option(
    "--brief", is_flag=True, help="Do not print the board after moves; type b to see it."
)


def room_options(command: Command) -> Command:
    """The options of the commands that show a room: who the user is, and how it is drawn."""
    for option in (plain_option, ascii_option, brief_option, as_option):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print lines of JSON.")


def parse_link_argument(text: str) -> tuple[Address | None, str]:
    """The server, if the text names one, and the id; raises UsageError for any other text."""
    try:
        return parse_link(text)
    except BadAddress as error:
        raise click.UsageError(str(error)) from error


def locate(text: str, url: Address | None) -> tuple[Address, str]:
    """The server and the id; a bare id belongs to the server of --url, or to the usual one."""
    from client.own_server import usual_server

    linked_server, room_id = parse_link_argument(text)
    return linked_server or url or usual_server(), room_id
