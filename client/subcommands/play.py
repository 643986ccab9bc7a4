"""`plyroom play`: creates a room and plays in it."""

import difflib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

import click
from click.core import ParameterSource

from client.address import DEFAULT_SERVER, Address, linked_ply, parse_address
from client.program import program
from client.subcommands.connecting import Server, connect_as_guest, find_server
from client.subcommands.full_screen import show_room
from client.subcommands.games import list_games
from client.subcommands.line_mode import Showing, closing_text
from client.subcommands.options import (
    kept_option,
    parse_link_argument,
    room_options,
    typed,
    url_option,
)
from client.subcommands.running import CommandFailed, call_api, run_to_end
from client.subcommands.serve import run_in_place

if TYPE_CHECKING:
    from client.api import GameInfo
    from server.commands import AiSeat, MySeat, OpenSeat

#: The AI's level in `plyroom play` without --level.
DEFAULT_LEVEL = 3
#: The personas of `server.protocol.messages`, repeated here so that `--help` need not import it.
PERSONAS = ("average", "swindler", "random")
#: The strategies of every server, for the help.
STRATEGIES = ("minimax", "negamax", "alphabeta", "average", "max-n", "greedy", "random")
#: The parameters that go with --classic.
CLASSIC_OPTIONS = ("game", "classic", "depth", "evaluator", "start", "options")
#: The default depth of a strategy, in plies, as in `GET /api/strategies`.
DEFAULT_DEPTH = 3
#: The maximum depth of a strategy, in plies, as in `GET /api/strategies`.
MAX_STRATEGY_DEPTH = 30


def parse_clock(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """The text of a time control in the log, from that of the option; None for no clock."""
    if value is None:
        return None
    from server.time_controls import TimeControlError, format_control, parse_people

    try:
        control = parse_people(value)
    except TimeControlError as error:
        raise click.BadParameter(str(error)) from error
    return None if control is None else format_control(control)


@click.command()
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
    "--strategy",
    metavar="NAME",
    help=f"Play a strategy instead of a level: {', '.join(STRATEGIES)}, or an installed one.",
)
@click.option(
    "--depth",
    type=click.IntRange(1, MAX_STRATEGY_DEPTH),
    help=f"The strategy's depth in plies.  [default: {DEFAULT_DEPTH}]",
)
@click.option(
    "--evaluator",
    metavar="NAME",
    help="The strategy's evaluator: estimate, zero, random, all-paths, material:queen=9.",
)
@click.option(
    "--friend", is_flag=True, help="Play a person: prints a link to send them, and waits."
)
@click.option("--one-screen", is_flag=True, help="Play both sides on this terminal.")
@click.option(
    "--names",
    metavar="FIRST,SECOND",
    help="With --one-screen: the names of the two people, which the results show.",
)
@click.option(
    "--classic",
    is_flag=True,
    help="Play as in the first program, without a server: with its prompts and its log.",
)
@click.option("--start", metavar="TEXT", help="Start from this position; for chess, a FEN.")
@click.option(
    "--from",
    "match",
    metavar="MATCH_OR_LINK",
    help="Start from a position of a match: the one of --ply, or of the link.",
)
@click.option("--ply", type=click.IntRange(0), help="The position after this many plies of --from.")
@click.option(
    "--side",
    type=click.Choice(["first", "second", "random"]),
    help="Your side.  [default: first; with --from the side to move]",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the game; see `plyroom games`.",
)
@click.option(
    "--clock",
    callback=parse_clock,
    metavar="CLOCK",
    help="A clock: 5+3 (minutes, and seconds for each turn), 10d5 (delay), 10b5 (Bronstein),"
    " 10+3x30 (byo-yomi), or = and seconds, =300+3.  [default: no clock]",
)
@click.option(
    "--allow-help", is_flag=True, help="With --friend: the bot may help both of you with positions."
)
@click.option(
    "--anyone",
    is_flag=True,
    help="With --friend: anyone may take the seat from the server's list, not only by the link.",
)
@click.option("--unlisted", is_flag=True, help="Keep the room out of the server's list.")
@click.option(
    "--thinking",
    type=click.Choice(["all", "spectators", "after"]),
    default="all",
    help="Who sees the AI's thinking: everyone, only spectators, or nobody before the match is"
    " over.",
)
@url_option
@kept_option
@room_options
def play(
    game: str,
    level: int | None,
    persona: "Literal['average', 'swindler', 'random'] | None",
    strategy: str | None,
    depth: int | None,
    evaluator: str | None,
    friend: bool,
    one_screen: bool,
    names: str | None,
    classic: bool,
    start: str | None,
    match: str | None,
    ply: int | None,
    side: str | None,
    options: tuple[str, ...],
    clock: str | None,
    allow_help: bool,
    anyone: bool,
    unlisted: bool,
    thinking: "Literal['all', 'spectators', 'after']",
    url: Address | None,
    data: Path | None,
    name: str | None,
    brief: bool,
    is_ascii: bool,
    plain: bool,
) -> None:
    """Play GAME against the AI, or with --friend against a person.

    Without --url and --data a server that runs on the folder "data" here is used (make run starts
    one), else that of your data folder; if none runs, one runs on this machine for as long as you
    play. Type moves in the game's notation, or commands (help lists them). In a pipe each line is
    executed when it is your turn, and the command ends with the match.
    """
    import asyncio

    from client.api import fetch_invitation
    from server.commands import AiSeat, Create, Visibility

    if classic:
        play_first_program(_find_game(None, game), depth, evaluator, start, options)
    opponents = (level is not None, persona is not None, strategy is not None, friend, one_screen)
    if sum(opponents) > 1:
        raise click.UsageError(
            "choose one of --level, --persona, --strategy (the AI's), --friend (for a person) and"
            " --one-screen"
        )
    if strategy is None and (depth is not None or evaluator is not None):
        raise click.UsageError("--depth and --evaluator go with --strategy")
    if names is not None and not one_screen:
        raise click.UsageError("--names goes with --one-screen")
    if allow_help and not friend:
        raise click.UsageError("--allow-help goes with --friend: against the AI the bot may help")
    if anyone and not friend:
        raise click.UsageError("--anyone goes with --friend")
    _check_from(match, ply, start, options)
    linked = None if match is None else parse_link_argument(match)[0]
    url, where = linked or url, ""
    if url is None and not _is_given("data"):
        url, where = _usual_server(may_be_own=match is None)
    if friend and url is None:
        raise click.UsageError(
            "--friend needs a server that both players can reach: "
            f"start `{program()} serve`, then add --url {DEFAULT_SERVER}"
        )
    info = _find_game(url, game)
    chosen_options = _parse_options(info, options)
    if level is not None and level > info.levels:
        raise click.BadParameter(
            f"{info.title} has levels 1 to {info.levels}", param_hint="--level"
        )
    if strategy is None and persona is None and level is None:
        if info.levels:
            level = min(DEFAULT_LEVEL, info.levels)
        else:
            strategy = STRATEGIES[0]
    opponent = None if friend else AiSeat(level, persona, strategy, depth, evaluator)

    async def run() -> None:
        async with (
            find_server(url, data) as server,
            connect_as_guest(server, name) as connection,
        ):
            # A friend's seat is for whom the link is sent to.
            is_unlisted = unlisted or server.is_own or (friend and not anyone)
            place_text = _place_text(server, where, is_unlisted)
            if place_text and sys.stderr.isatty():
                click.echo(place_text, err=True)
            place = Place(chosen_options, start)
            if match is not None:
                place = await asyncio.to_thread(_find_place, server.address, info, match, ply)
            visibility: Visibility = "unlisted" if is_unlisted else "public"
            create = Create(
                id=connection.new_id(),
                game=info.id,
                options=place.options,
                seats=_named_seats(names)
                if one_screen
                else _seats(side or ("first", "second")[place.turn], opponent),
                visibility=visibility,
                thinking=thinking,
                start=place.start,
                one_screen=one_screen,
                help=allow_help,
                clock=clock,
            )
            room = (await connection.command(create)).room
            assert isinstance(room, str), "the ack of create names the room"
            invitation = None
            if friend:
                invitation = await asyncio.to_thread(fetch_invitation, server.address, room)
            showing = Showing(
                closing_text(server, name), brief, is_ascii, invitation=invitation,
                place_text=place_text,
            )  # fmt: skip
            await show_room(connection, server.address, room, showing, plain=plain)

    run_to_end(run())


def _usual_server(may_be_own: bool) -> tuple[Address | None, str]:
    """The server of a command that names none, and the words for it: the one that runs in this
    working directory. Without one it is the user's own (None), or the one at the default address.
    """
    from client.own_server import server_here

    if (here := server_here()) is not None:
        return here, "the server that runs here"
    return (None, "") if may_be_own else (parse_address(DEFAULT_SERVER), "the usual server")


def _place_text(server: Server, where: str, is_unlisted: bool) -> str:
    """Where the match is kept; "" where the user has named the server. `where` has the words for a
    server that was found.
    """
    if where:
        text = f"You play on {where}, {server.address}"
        return f"{text}." if is_unlisted else f"{text}, where all see the match."
    if not server.is_own:
        return ""
    if server.data is None:
        return "Nothing of this match is kept."
    where = typed(server.data)
    if server.is_started:
        return f"Your matches are kept in {where}."
    return f"You play on the server of {where}, {server.address}."


def _is_given(option: str) -> bool:
    """Whether the user has typed this option."""
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def play_first_program(
    info: "GameInfo",
    depth: int | None,
    evaluator: str | None,
    start: str | None,
    options: tuple[str, ...],
) -> NoReturn:
    """Hands over to the program of `engine.teach`; raises UsageError for options of a room."""
    from client.own_server import teach_command

    context = click.get_current_context()
    others = [
        each.opts[0]
        for each in context.command.params
        if each.name not in CLASSIC_OPTIONS
        and context.get_parameter_source(each.name or "") is ParameterSource.COMMANDLINE
    ]
    if others:
        raise click.UsageError(
            f"{others[0]} is for a room; --classic goes with --depth, --evaluator, --start and"
            " --option"
        )
    chosen = _parse_options(info, options)
    arguments = [f"--option={name}={value}" for name, value in chosen.items()]
    for name, value in (("depth", depth), ("evaluator", evaluator), ("position", start)):
        arguments += [] if value is None else [f"--{name}={value}"]
    run_in_place(teach_command(f"--game={info.id}", "--classic", *arguments))


def _check_from(
    match: str | None, ply: int | None, start: str | None, options: tuple[str, ...]
) -> None:
    """Raises UsageError for an option that needs --from, or contradicts it."""
    if match is None and ply is not None:
        raise click.UsageError("--ply goes with --from")
    if match is not None and start is not None:
        raise click.UsageError("choose one of --start and --from")
    if match is not None and options:
        raise click.UsageError("with --from the match gives the options of the game")


@dataclass(frozen=True)
class Place:
    """Where a match starts: `start` is the position as text, None for the usual one.

    `turn` is the seat to move.
    """

    options: dict[str, str]
    start: str | None
    turn: int = 0


def _find_place(address: Address, info: "GameInfo", match: str, ply: int | None) -> Place:
    """The position of a match after `ply` plies, or that of the link to it.

    Raises PlyroomError, and CommandFailed where no match can start.
    """
    from client.api import fetch_match, fetch_position

    _, match_id = parse_link_argument(match)
    record = fetch_match(address, match_id)
    if record.game != info.id:
        raise CommandFailed(f"that is a match of {record.title}, not of {info.title}")
    line = fetch_position(address, match_id, linked_ply(match) or 0 if ply is None else ply)
    if line.over is not None:
        raise CommandFailed(f"the match is over in this position: {line.over}")
    return Place(record.options, line.start, line.views[0].turn or 0)


def _find_game(url: Address | None, name: str) -> "GameInfo":
    """The game with this id, title or alias; raises BadParameter with a suggestion without one."""
    games = call_api(lambda: list_games(url))
    for game in games:
        if name.lower() in (game.id, game.title.lower(), *game.aliases):
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


def _named_seats(names: str | None) -> "tuple[MySeat, MySeat]":
    """The seats of two people on one screen, from their names if given; raises BadParameter."""
    from client.terminal.names import ON_ONE_SCREEN
    from server.commands import MySeat

    if names is None:
        return MySeat(ON_ONE_SCREEN[0]), MySeat(ON_ONE_SCREEN[1])
    first, comma, second = (part.strip() for part in names.partition(","))
    if not (first and comma and second) or "," in second:
        raise click.BadParameter("two names with a comma: Mia,Tom", param_hint="--names")
    return MySeat(first), MySeat(second)


def _seats(side: str, ai: "AiSeat | None") -> "tuple[MySeat | OpenSeat | AiSeat, ...]":
    """The seats of a new room: one for the user, the other for the AI, or without one a friend."""
    import secrets

    from server.commands import MySeat, OpenSeat

    my_seat = secrets.randbelow(2) if side == "random" else int(side == "second")
    opponent = OpenSeat() if ai is None else ai
    return (MySeat(), opponent) if my_seat == 0 else (opponent, MySeat())
