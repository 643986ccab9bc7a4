"""The browser, line mode, the full screen and the protocol have the same commands for a room."""

import re
from pathlib import Path
from typing import get_args

from client.model import Model
from client.terminal.commands import (
    ROOM_COMMANDS,
    CommandName,
    bar_command,
    help_command,
    mute_command,
    next_command,
    seat_command,
)
from client.tui.room import menu_entries
from engine.view import MoveView
from server.commands import Bar, Command, Configure
from server.events import Occupant, Player
from server.protocol.messages import (
    ChatLine,
    ClientMessage,
    Join,
    Leave,
    MatchState,
    RoomDescription,
    Turn,
)

WEB = Path(__file__).parents[2] / "client" / "web"
#: The commands that line mode sends without a word of their own: it follows the room, and a line
#: that is a move or begins with / is played or said, and /hint asks the bot.
WITHOUT_A_WORD = {"join", "leave", "move", "chat", "hint"}

DESCRIPTION = RoomDescription(
    game="sticks", title="Sticks", options={}, visibility="public", host="ada", created_ms=0,
    levels=8, view=None,
)  # fmt: skip


def protocol_commands() -> set[str]:
    return {
        str(message.__struct_config__.tag)
        for message in get_args(ClientMessage)
        if issubclass(message, Command | Join | Leave)
    }


def browser_commands() -> set[str]:
    """The tags of all messages in the browser's sources; they may contain other words too."""
    sources = "\n".join(path.read_text("utf-8") for path in WEB.rglob("*.js"))
    return set(re.findall(r'"(\w+)"', sources))


def line_mode_commands() -> set[str]:
    """The tags of all messages that a word in line mode sends."""
    ai = Occupant("ai", "AI level 1", kind="ai", level=1)
    empty, full = Model(room="r"), Model(room="r", seats=(ai, None))
    words = [
        (CommandName.SIT, "", empty),
        (CommandName.STAND, "", empty),
        (CommandName.AI, "1", empty),
        (CommandName.AI, "off", full),
    ]
    seats = [seat_command(name, argument, model, "1") for name, argument, model in words]
    types = [type(command) for command in seats if not isinstance(command, str)]
    assert len(types) == len(words)
    configure = help_command(CommandName.ALLOW_HELP, "on", full, "1")
    assert isinstance(configure, Configure)
    types.append(Configure)
    kim = Player("kim", "Kim")
    model = Model(room="r", chat=(ChatLine(1, 0, "Kim", "hi", identity="kim"),), muted=(kim,))
    for name in (CommandName.MUTE_ALL, CommandName.UNMUTE_ALL):
        command = mute_command(name, "kim", model, "1")
        assert not isinstance(command, str)
        types.append(type(command))
    beside = Model(room="r", me="ada", seats=(Occupant("ada", "Ada"), Occupant("kim", "Kim")))
    for argument in ("", "kim"):
        barring = bar_command(CommandName.BAR, argument, beside, "1")
        assert getattr(barring, "identity", None) == "kim"
        types.append(Bar)
    assert isinstance(bar_command(CommandName.BAR, "", empty, "1"), str)
    assert isinstance(bar_command(CommandName.BAR, "olaf", beside, "1"), str)
    described = Model(room="r", description=DESCRIPTION)
    types.append(type(next_command(CommandName.NEXT, "othello", described, "1")))  # type: ignore[arg-type]
    return {str(message.__struct_config__.tag) for message in (*types, *ROOM_COMMANDS.values())}


def test_the_browser_sends_every_command() -> None:
    assert protocol_commands() <= browser_commands()


def test_line_mode_has_a_word_for_every_command() -> None:
    assert line_mode_commands() | WITHOUT_A_WORD == protocol_commands()


def test_the_full_screen_has_every_word_of_line_mode() -> None:
    """The menu of a room lists every command that line mode lists, where the server permits all."""
    level = Occupant("ai", "AI level 1", kind="ai", level=1)
    turn = Turn(room="r", v=1, match="m", ply=0, moves=(MoveView("a", ("a",), "a"),), claim="50")
    match = MatchState(id="m", number=1, start="", rules="", seats=(level, level), moves=())
    model = Model(room="r", seats=(level, None), may=None, turn=turn, match=match)
    listed = {entry.word for entry in menu_entries(model)}
    # The board is always there, and ? lists these words.
    shown = {CommandName.BOARD.value, CommandName.HELP.value}
    assert {name.value for name in CommandName} - shown <= listed


def test_every_word_of_line_mode_is_a_command_or_shows_something() -> None:
    shown = {"board", "moves", "last", "pieces", "thinking", "time", "help", "quit"}
    of_seats = {"sit", "stand", "ai"}
    of_reader = {"mute", "unmute"}
    of_host = {"mute-all", "unmute-all", "bar", "allow-help"}
    of_asker = {"hint"}
    of_guest = {"name"}
    of_next_match = {"next", "easier", "harder"}
    of_room = {name.value for name in ROOM_COMMANDS}
    typed = shown | of_seats | of_reader | of_host | of_asker | of_guest | of_next_match | of_room
    assert typed == {name.value for name in CommandName}


def test_seats_are_named_by_their_sides() -> None:
    """`sit White` takes White's seat if it is free; every other text is answered by a sentence."""
    ada = Occupant("a", "Ada")
    model = Model(room="r", seats=(ada, None))
    assert getattr(seat_command(CommandName.SIT, "second", model, "1"), "seat", None) == 1
    assert seat_command(CommandName.SIT, "first", model, "1") == (
        "There is no free seat first; free: Second."
    )
    full = Model(room="r", seats=(ada, ada))
    assert seat_command(CommandName.SIT, "", full, "1") == "Both seats are taken."
    assert "ai off" in str(seat_command(CommandName.AI, "best", model, "1"))
    assert seat_command(CommandName.AI, "off", model, "1") == "No AI has a seat here."


def test_the_host_allows_help_in_line_mode() -> None:
    """`allow-help on` leaves who may see the thinking; without on or off it says the setting."""
    model = Model(room="r", thinking_setting="spectators")
    assert help_command(CommandName.ALLOW_HELP, "on", model, "1") == Configure(
        "1", thinking="spectators", help=True
    )
    assert "does not help" in str(help_command(CommandName.ALLOW_HELP, "", model, "1"))
    newer = Model(room="r", thinking_setting="friends")
    assert getattr(help_command(CommandName.ALLOW_HELP, "off", newer, "1"), "thinking") == "after"  # noqa: B009
