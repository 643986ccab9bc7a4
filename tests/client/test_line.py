"""Plain line mode on a terminal and in a pipe: its output and the commands that it sends.

A fake room, which follows the server's rules, stands in for the server.
"""

import asyncio
import io
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from client.address import parse_address
from client.api import Invitation, Reading
from client.errors import Refused, Unreachable
from client.terminal.line import InputEnded, LineMode, print_messages
from client.terminal.output import Output
from server.commands import (
    AiSeat,
    Chat,
    Decline,
    Move,
    MySeat,
    NextGame,
    OfferDraw,
    OpenSeat,
    Rematch,
    RemoveAi,
    Resign,
    Sit,
)
from server.events import Offered, Said, Unknown
from tests.support.fake_room import ADA, BOB, CYD, FakeRoom
from tests.support.scripted_server import Link, memory
from tests.support.terminals import Terminal
from tests.support.virtual_time import run_virtual

ADDRESS = parse_address("http://script")


class TypedLines:
    """A `LineSource` that returns a line every half second, so that other tasks can run."""

    def __init__(self, *lines: str) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        for line in lines:
            self.type(line)

    def type(self, line: str) -> None:
        self._lines.put_nowait(line)

    async def next(self) -> str | None:
        line = await self._lines.get()
        await asyncio.sleep(0.5)
        return line

    def end(self) -> "TypedLines":
        """Ends the input after the lines that were typed."""
        self._lines.put_nowait(None)
        return self


class CapturedOutput:
    """An `Output` whose two streams can be read."""

    def __init__(self, interactive: bool) -> None:
        stream = Terminal if interactive else io.StringIO
        self.stdout, self.stderr = stream(), stream()
        self.output = Output(self.stdout, self.stderr, interactive)

    @property
    def data(self) -> str:
        return self.stdout.getvalue()

    @property
    def messages(self) -> str:
        return self.stderr.getvalue()


def play(
    room: FakeRoom,
    lines: TypedLines,
    *,
    interactive: bool = False,
    other_player: Callable[[LineMode], Awaitable[None]] | None = None,
    connections: int = 1,
    **settings: Any,
) -> CapturedOutput:
    """Runs line mode to its end and returns its output."""
    run = CapturedOutput(interactive)

    async def main() -> None:
        async with memory(*[room.serve] * connections) as c:
            mode = LineMode(c, ADDRESS, "r", lines, run.output, **settings)
            playing = asyncio.ensure_future(other_player(mode)) if other_player else None
            await mode.run()
            if playing:
                await playing

    try:
        run_virtual(main())
    finally:
        print(run.data, run.messages, sep="\n--- stderr\n")
    return run


def test_the_transcript_of_a_match_in_a_pipe() -> None:
    """Data goes to stdout, messages to stderr; the run ends with the match."""
    run = play(FakeRoom(), TypedLines("b2", "c2", "a2"))
    assert (
        run.data
        == """\
 3  .  .  .
 2  .  .  .
 1  .  .  .
    a  b  c
Crosses to move
? Crosses to move
1. Crosses: b2
2. Noughts: a1
 3  .  .  .
 2  .  X  .
 1 [O] .  .
    a  b  c
[ ] last move
Crosses to move
? Crosses to move
3. Crosses: c2
4. Noughts: b1
 3  .  .  .
 2  .  X  X
 1  O [O] .
    a  b  c
[ ] last move
Crosses to move
? Crosses to move
5. Crosses: a2
 3  .  .  .
 2 *X**X**X*
 1  O  O  .
    a  b  c
* * winning row
You won: three in a row.
"""
    )
    assert (
        run.messages
        == """\
Tic-tac-toe. Room r: http://script/room/r
Crosses: Ada, Noughts: AI level 1
Get three in a row.
  AI level 1 (Noughts): depth 2, +7, 1.23 k nodes, a1
  AI level 1 (Noughts): depth 2, +7, 1.23 k nodes, b1
"""
    )


def test_a_match_on_a_terminal_continues_with_a_rematch_until_the_user_quits() -> None:
    run = play(FakeRoom(), TypedLines("b2", "resign", "yes", "rematch", "q"), interactive=True)
    assert "1. Crosses: b2\n" in run.data
    assert run.data.count("You lost: you resigned.\n") == 1
    assert "rematch or quit > " in run.data
    assert "Match 2: AI level 1 (Crosses) against Ada (Noughts)\n" in run.data
    assert run.data.endswith("Noughts to move\nYour move (or help) > ")


def test_the_end_of_the_input_quits_on_a_terminal_and_fails_in_a_pipe() -> None:
    assert "Your move" in play(FakeRoom(), TypedLines().end(), interactive=True).data
    with pytest.raises(InputEnded):
        play(FakeRoom(), TypedLines("b2").end())


def test_without_a_terminal_a_line_waits_for_this_players_turn() -> None:
    """All moves can be piped in at once: each waits until the AI has moved. Here the AI begins."""
    run = play(FakeRoom(seats=(AiSeat(1), MySeat())), TypedLines("b2", "c3", "b3", "c2"))
    assert re.findall(r"\d\. \w+: \w\d", run.data) == [
        "1. Crosses: a1",
        "2. Noughts: b2",
        "3. Crosses: b1",
        "4. Noughts: c3",
        "5. Crosses: c1",
    ]
    assert run.data.endswith("You lost: three in a row.\n")


def test_an_invalid_line_is_reported_on_stderr_and_the_prompt_repeated() -> None:
    run = play(FakeRoom(), TypedLines("d9", "b2", "b2", "c2", "a2"))
    assert run.messages.count("error: ") == 2
    assert "error: no: move.malformed. Moves: a1, a2, a3, b1, b2, b3, c1, c2, c3." in run.messages
    assert run.data.count("? Crosses to move") == 5


def test_what_people_write_is_read_by_the_server() -> None:
    """The reader's move is played and what it says is printed; its refusals are shown, a question
    without the list of moves. Without an answer the server gets the text.
    """
    asked = []

    async def read_move(match: str, ply: int, text: str) -> Reading:
        asked.append((match, ply, text))
        match text:
            case "1. b2!":
                return Reading("b2")
            case "Nc2":
                return Reading("c2", "Nc2 is read as c2")
            case "2":
                raise Refused("move.ambiguous", "2 can be any of: a2, c2")
            case "zz9":
                raise Refused("move.malformed", "'zz9' is not a move of Tic-tac-toe")
            case "A9":
                raise Refused("move.illegal", "there is no a9 on this board")
        raise Unreachable("no server")

    lines = TypedLines("zz9", "A9", "1. b2!", "2", "Nc2", "a 2!")
    with pytest.raises(InputEnded):
        play(FakeRoom(), lines.end(), read_move=read_move)
    lines = TypedLines("zz9", "A9", "1. b2!", "2", "Nc2", "a2")
    run = play(FakeRoom(), lines, read_move=read_move)
    assert "error: 'zz9' is neither a move nor a command here. Moves: a1, a2" in run.messages
    assert "error: there is no a9 on this board. Moves: a1, a2" in run.messages
    assert "error: 2 can be any of: a2, c2.\n" in run.messages
    assert "Nc2 is read as c2\n" in run.messages
    assert "b2 is read" not in run.messages
    assert {(ply, text) for _, ply, text in asked} >= {(0, "zz9"), (0, "1. b2!"), (2, "Nc2")}
    assert run.data.endswith("You won: three in a row.\n")


def test_commands_that_show_something_print_to_stdout() -> None:
    run = play(
        FakeRoom(),
        TypedLines(
            "l",
            "m",
            "b2",
            "l",
            "t",
            "p",
            "pieces b",
            "help",
            "b",
            "/hi all",
            "chat you too",
            "resign",
        ),
    )
    assert "No move yet.\n" in run.data
    assert "Moves: a1, a2, a3, b1, b2, b3, c1, c2, c3\n" in run.data
    assert "\n2. Noughts: a1\n" in run.data
    assert "The AI has reported no scores.\n" in run.data
    assert "\na1 nought, b2 cross\n" in run.data
    assert "\nb2 cross\n" in run.data
    assert "say TEXT" in run.data
    assert "<Ada> hi all\n" in run.data
    assert "<Ada> you too\n" in run.data


def test_a_refusal_by_the_server_is_printed() -> None:
    run = play(FakeRoom(), TypedLines("abort", "yes", "abort", "rematch", "q"), interactive=True)
    assert "error: no: match.over\n" in run.messages
    assert "No result: the match was aborted.\n" in run.data
    assert "Match 2: " in run.data


def test_a_user_on_a_terminal_confirms_a_resignation() -> None:
    """Any answer but yes continues the match; in a pipe the command needs no answer."""
    run = play(FakeRoom(), TypedLines("resign", "no", "b2", "q"), interactive=True)
    assert "Resign the match? yes or no > " in run.data
    assert "The match goes on.\n" in run.messages
    assert "1. Crosses: b2\n" in run.data
    assert "You lost" in play(FakeRoom(), TypedLines("resign")).data
    run = play(FakeRoom(), TypedLines("resign yes", "q"), interactive=True)
    assert "You lost" in run.data
    assert "yes or no" not in run.data


def test_a_prompt_follows_every_line_on_a_terminal() -> None:
    """A spectator and a player who waits have a prompt too; it says what the room waits for."""
    run = play(
        FakeRoom(seats=(AiSeat(1), OpenSeat())), TypedLines("/hi", "moves", "q"), interactive=True
    )
    assert run.data.count("Waiting for a player (or help) > ") == 3
    assert run.data.endswith("> ")
    assert "/hello" in run.messages, "a spectator reads how to chat and to leave"


def test_a_prompt_that_only_says_what_is_awaited_is_erased() -> None:
    """On a terminal that can erase a line, a new line replaces it; other prompts stay."""
    run = CapturedOutput(True)
    run.output = Output(run.stdout, run.stderr, True, erases=True)
    run.output.prompt("Bob is to move", is_waiting=True)
    run.output.print("<Bob> hello")
    run.output.prompt("Your move")
    run.output.print("<Bob> go on")
    assert run.data == (
        "Bob is to move > \r\x1b[K<Bob> hello\nBob is to move > \r\x1b[K"
        "Your move > \n<Bob> go on\nYour move > "
    )


def test_brief_leaves_the_boards_out() -> None:
    run = play(FakeRoom(), TypedLines("b2", "resign"), brief=True)
    assert (
        run.data
        == """\
? Crosses to move
1. Crosses: b2
2. Noughts: a1
? Crosses to move
You lost: you resigned.
"""
    )


@pytest.mark.parametrize("command", ["move", "chat"])
def test_a_connection_lost_before_an_ack_changes_no_output(command: str) -> None:
    """If a command is committed but its ack is lost, every event is still printed once."""
    lines = ("/once", "b2", "c2", "a2")
    undisturbed = play(FakeRoom(), TypedLines(*lines))
    room = FakeRoom()
    room.cut_before_ack = {command}
    run = play(room, TypedLines(*lines), connections=2)
    assert run.data == undisturbed.data


def test_the_opponents_seat_moves_chat_and_presence_are_printed() -> None:
    room = FakeRoom(seats=(MySeat(), OpenSeat()))

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(5)
        await room.act(BOB, Sit(id="1", seat=1))
        await asyncio.sleep(5)
        await room.send_presence(True, True)
        await room.act(BOB, Move(id="2", ply=1, move="a1"))
        await room.act(BOB, Chat(id="3", text="hello"))
        await room.send_presence(True, False)
        await room.send_presence(True, True)
        await room.send_presence(True, False, elsewhere=(1,))
        await room.send_presence(True, False)
        await room.send_presence(True, True)

    invitation = Invitation("http://friend.example/room/r")
    run = play(room, TypedLines("b2", "resign"), other_player=other_player, invitation=invitation)
    assert "Room r: http://friend.example/room/r\n" in run.messages
    assert "Crosses: Ada, Noughts: nobody yet\nGet three in a row.\nSend the link" in run.messages
    assert "Bob takes a seat: Noughts.\n" in run.messages
    assert "Match 1: Ada (Crosses) against Bob (Noughts)\n" in run.data
    assert "2. Noughts: a1\n" in run.data
    assert "<Bob> hello\n" in run.data
    near = "Bob is on another page of this server.\nBob has gone.\nBob is back.\n"
    assert f"Bob has gone.\nBob is back.\n{near}" in run.messages


def test_nobody_is_missed_on_an_empty_seat_nor_oneself() -> None:
    """Whoever left a seat, on whatever page, is not its player any more."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.send_presence(False, False, elsewhere=(0, 1))
        await room.send_presence(False, False)
        await room.send_presence(True, False)
        await room.act(BOB, Sit(id="1", seat=1))

    run = play(room, TypedLines("resign"), other_player=other_player)
    assert "Bob takes a seat" in run.messages
    for sentence in ("has gone", "another page", "is back"):
        assert sentence not in run.messages


def test_a_link_that_nobody_else_can_open_says_so() -> None:
    only_here = Invitation("http://127.0.0.1:8000/room/r", "Only this computer can open the link.")
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    run = play(room, TypedLines("quit"), interactive=True, invitation=only_here)
    assert "Only this computer can open the link." in run.messages
    assert "Send the link" not in run.messages


def test_a_player_who_has_just_sat_down_is_not_reported_as_back() -> None:
    """The presence after `seat_taken` prints nothing; a later loss of the connection does."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.send_presence(True, False)
        await room.act(BOB, Sit(id="1", seat=1))
        await room.send_presence(True, True)
        await room.act(BOB, Chat(id="2", text="hello"))
        await room.send_presence(True, False)
        await room.send_presence(True, True)

    run = play(room, TypedLines("resign"), other_player=other_player)
    presence = [line for line in run.messages.splitlines() if "Bob " in line]
    assert presence == [
        "Bob takes a seat: Noughts.",
        "Bob has gone.",
        "Bob is back.",
    ]


def test_offers_of_a_rematch_by_both_players_are_printed() -> None:
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    lines = TypedLines()
    run = CapturedOutput(True)

    async def main() -> None:
        async with memory(room.serve) as c:
            mode = LineMode(c, ADDRESS, "r", lines, run.output)
            running = asyncio.ensure_future(mode.run())
            await asyncio.sleep(1)
            await room.act(BOB, Sit(id="1", seat=1))
            await asyncio.sleep(1)
            lines.type("resign")
            lines.type("yes")
            await asyncio.sleep(2)
            await room.act(BOB, Rematch(id="2"))
            await asyncio.sleep(1)
            lines.type("decline")
            await asyncio.sleep(1)
            lines.type("rematch")
            await asyncio.sleep(1)
            await room.act(BOB, Decline(id="3"))
            await asyncio.sleep(1)
            lines.type("quit")
            await running

    run_virtual(main())
    assert run.messages.endswith(
        "Bob offered a rematch. Type accept or decline.\n"
        "Ada declined the rematch.\n"
        "Ada offered a rematch.\n"
        "Bob declined the rematch.\n"
    )


def test_an_evening_of_two_games_and_its_score_are_printed() -> None:
    """A proposal, its answers, the new game with its sides, and the score after two matches."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    lines = TypedLines()

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=1))
        await room.act(BOB, Resign(id="2"))
        await asyncio.sleep(1)
        lines.type("next no-such-game")
        lines.type("next sticks same")
        await asyncio.sleep(3)
        await room.act(BOB, Decline(id="3", what="next"))
        await room.act(BOB, NextGame("4", "sticks", {"rows": "1-3-5-7"}))
        await asyncio.sleep(1)
        lines.type("accept")
        await asyncio.sleep(1)
        await room.act(BOB, Resign(id="5"))
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other_player)
    printed = " ".join((run.data + run.messages).split())
    for line in (
        "error: no: game.unknown",
        "Ada proposes the next game: Sticks (Rows of 1, 2 and 3 sticks), on the same sides.",
        "Bob declined Sticks.",
        "Bob proposes the next game: Sticks (Rows of 1, 3, 5 and 7 sticks), with the sides swapped."
        " Type accept or decline.",
        "Match 2: Sticks 1 |",
        "Sticks (Rows of 1, 3, 5 and 7 sticks). First: Bob, Second: Ada",
        "Score: Ada 2 : 0 Bob.",
    ):
        assert line in printed


def test_joining_takes_the_free_seat() -> None:
    run = play(FakeRoom(seats=(AiSeat(1), OpenSeat()), host=BOB), TypedLines("resign"), sit=True)
    assert "Get three in a row.\nYou play Noughts.\n" in run.messages
    assert "Ada takes a seat" not in run.messages
    assert "Match 1: AI level 1 (Crosses) against Ada (Noughts)\n" in run.data
    seats = (AiSeat(1), OpenSeat())
    run = play(FakeRoom(seats=seats, host=BOB), TypedLines("q"), sit=True, interactive=True)
    assert "You play Noughts." in run.messages
    assert "You are watching" not in run.messages


def test_joining_a_room_whose_match_is_over_plays_the_next_match() -> None:
    """In a pipe the end of the earlier match does not end the run, which asks for a rematch."""
    room = FakeRoom(seats=(AiSeat(1), AiSeat(1)), host=BOB)
    room.play_out()
    room.decide(BOB, RemoveAi(id="1", seat=1))
    run = play(room, TypedLines("resign"), sit=True)
    assert "Crosses win: three in a row.\n" in run.data
    assert "You have the seat Noughts.\n" in run.messages
    assert "Match 2: Ada (Crosses) against AI level 1 (Noughts)\n" in run.data
    assert run.data.rstrip().endswith("You lost: you resigned.")


def test_joining_a_full_room_watches_and_a_seated_player_keeps_the_seat() -> None:
    run = play(FakeRoom(seats=(AiSeat(1), AiSeat(1)), host=BOB), TypedLines(), sit=True)
    assert "Both seats are taken: you are watching.\n" in run.messages
    assert run.data.count("to move\n") == 7
    run = play(FakeRoom(), TypedLines("resign"), sit=True)
    assert "You hold a seat here: Crosses." in run.messages


def test_a_prompt_that_is_interrupted_is_shown_again() -> None:
    room = FakeRoom()

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(0.2)
        await room.act(BOB, Chat(id="3", text="hello"))

    run = play(room, TypedLines("q"), interactive=True, other_player=other_player)
    assert run.data.endswith("Your move (or help) > \n<Bob> hello\nYour move (or help) > ")


def test_a_room_of_a_newer_version_is_shown_and_cannot_be_played() -> None:
    """The reason, the players and the chat are printed, and a command is refused."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    room.decide(BOB, Sit(id="1", seat=1))
    room.decide(ADA, Move(id="2", ply=0, move="b2"))
    room.append(Unknown("noted", b'{"kind":"noted","by":"bob"}'))
    room.append(Said("i2", "Bob", "hello"))
    room.append(Offered(1, "takeback"))
    run = play(room, TypedLines("resign", "q"), interactive=True)
    sentence = "This room was made by a newer Plyroom; it can be read here and played elsewhere."
    assert sentence in run.messages
    assert "Crosses: Ada, Noughts: Bob" in run.messages
    assert "room.newer" in run.messages.splitlines()[4]
    assert "<Bob> hello" in run.data
    assert "offered" not in run.messages


def test_a_full_room_is_shown_and_cannot_be_played() -> None:
    """The reason is printed, and the refusal of a line of chat."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    while not room.room.is_full:
        room.append(Said("i2", "Bob", "hello"))
    run = play(room, TypedLines("say hello", "q"), interactive=True)
    assert "This room is full: it takes no more events, but it can be read." in run.messages
    assert "error: no: room.full" in run.messages


def test_the_host_says_who_sees_the_thinking() -> None:
    """`thinking after` configures the room between matches, and the new setting is printed."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    run = play(room, TypedLines("thinking after", "q"), interactive=True)
    assert "What the AI thinks is shown after each match." in run.messages
    assert room.room.thinking == "after"


def test_the_host_allows_the_bots_help() -> None:
    """`allow-help on` configures the room before a match, and the new setting is printed."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    run = play(room, TypedLines("allow-help", "allow-help on", "q"), interactive=True)
    assert "error: type allow-help on or allow-help off; now the bot does not help" in run.messages
    assert "The bot may help both players with positions now." in run.messages
    assert room.room.help


def test_a_later_snapshot_does_not_introduce_the_room_again() -> None:
    """After a restart of the server with another log, the room is announced as up to date."""
    run = CapturedOutput(True)

    async def first(link: Link) -> None:
        await link.hello("e1")
        await link.joined(v=4, epoch="e1")

    async def second(link: Link) -> None:
        await link.hello("e2")
        await link.joined(v=3, epoch="e2")
        lines.type("q")
        await link.idle()

    lines = TypedLines()

    async def main() -> None:
        async with memory(first, second) as c:
            await LineMode(c, ADDRESS, "r", lines, run.output).run()

    run_virtual(main())
    assert run.messages == (
        "Tic-tac-toe. Room r: http://script/room/r\n"
        "First: nobody yet, Second: nobody yet\n"
        "You are watching. Type / and a text to say something (/hello), help for the\n"
        "  commands, quit to leave.\n"
        "The room is up to date again.\n"
    )


@pytest.mark.parametrize("line", ["draw", "decline", "b", "/hello", "d9", "zz", ""])
def test_every_line_on_the_players_turn_repeats_the_prompt(line: str) -> None:
    run = play(FakeRoom(), TypedLines(line, "q"), interactive=True)
    assert run.data.count("Your move (or help) > ") == 2
    assert run.data.endswith("Your move (or help) > ")


@pytest.mark.parametrize("line", ["b", "m", "/hello", "b2", "zz", "accept", "resign", ""])
def test_every_line_after_a_match_repeats_the_prompt(line: str) -> None:
    run = play(FakeRoom(), TypedLines("resign", "yes", line, "q"), interactive=True)
    assert run.data.count("rematch or quit > ") == 2
    assert run.data.endswith("rematch or quit > ")


def test_a_prompt_that_no_longer_applies_is_not_shown_again() -> None:
    """If the opponent resigns during the prompt for a move, the prompt for a rematch follows.

    While this player's offer is open, the prompt does not suggest another one.
    """
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    lines = TypedLines()

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=1))
        await asyncio.sleep(1)
        await room.act(BOB, Resign(id="2"))
        lines.type("rematch")
        await asyncio.sleep(1)
        await room.act(BOB, Rematch(id="3"))
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other_player)
    prompts = re.findall(r"[A-Za-z][^\n>]* > ", run.data)
    assert prompts == [
        "Waiting for a player (or help) > ", "Waiting for a player (or help) > ",
        "Your move (or help) > ", "next GAME, rematch or quit > ",
        "quit, or wait for another match > ",
        "Bob is to move (or help) > ",
    ]  # fmt: skip
    assert run.data.count("You won: Noughts resigned.\n") == 1


def test_a_prompt_changes_with_the_permitted_commands() -> None:
    """When the opponent declines a rematch, a new prompt suggests another one."""
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    lines = TypedLines()

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=1))
        await asyncio.sleep(1)
        await room.act(BOB, Resign(id="2"))
        lines.type("rematch")
        await asyncio.sleep(1)
        await room.act(BOB, Decline(id="3"))
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other_player)
    assert run.data.endswith("quit, or wait for another match > \nnext GAME, rematch or quit > ")


def test_a_move_from_another_terminal_of_this_player_ends_the_prompt() -> None:
    room = FakeRoom(seats=(MySeat(), OpenSeat()))
    lines = TypedLines()

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=1))
        await asyncio.sleep(1)
        await room.act(ADA, Move(id="2", ply=0, move="b2"))
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other_player)
    assert run.data.endswith("Your move (or help) > \n1. Crosses: b2\nBob is to move (or help) > ")


def test_a_side_that_moves_again_is_told_so() -> None:
    """A last seed in one's own store gives the move after it, to either side."""
    room = FakeRoom("kalah", seats=(MySeat(), OpenSeat()))
    lines = TypedLines()

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=1))
        for ply, (actor, move) in enumerate(((ADA, "c1"), (ADA, "a1"), (BOB, "d2"), (BOB, "a2"))):
            await asyncio.sleep(1)
            await room.act(actor, Move(id=str(ply + 2), ply=ply, move=move))
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other_player)
    asked = re.findall(r"(?:Your move|Bob) ?[a-z ]*\(or help\)", run.data)
    assert list(dict.fromkeys(asked)) == [
        "Your move (or help)",
        "Your move again (or help)",
        "Bob is to move (or help)",
        "Bob moves again (or help)",
    ]


def test_a_spectator_is_not_asked_to_answer_an_offer() -> None:
    """The offer is printed without the request to accept or decline it."""
    room = FakeRoom(seats=(OpenSeat(), OpenSeat()), host=BOB)
    lines = TypedLines()

    async def other_player(mode: LineMode) -> None:
        await asyncio.sleep(1)
        await room.act(BOB, Sit(id="1", seat=0))
        await room.act(CYD, Sit(id="2", seat=1))
        await room.act(BOB, OfferDraw(id="3"))
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other_player)
    assert "Bob offered a draw.\n" in run.messages


def test_a_room_that_does_not_exist_is_refused() -> None:
    async def script(link: Link) -> None:
        await link.hello()
        await link.refuse(await link.expect("join"), "room.unknown")
        await link.idle()

    async def main() -> None:
        async with memory(script) as c:
            await LineMode(c, ADDRESS, "r", TypedLines(), CapturedOutput(False).output).run()

    with pytest.raises(Refused, match=r"room\.unknown"):
        run_virtual(main())


def test_messages_as_json_end_with_the_match() -> None:
    run = CapturedOutput(False)

    async def main() -> None:
        async with memory(FakeRoom(seats=(AiSeat(1), AiSeat(1)), host=BOB).serve) as c:
            await print_messages(c, "r", run.output)

    run_virtual(main())
    lines = run.data.splitlines()
    assert lines[0].startswith('{"t":"joined","room":"r"')
    assert lines[1].startswith('{"t":"snapshot","room":"r"')
    assert any(
        line.startswith('{"t":"event","room":"r","v":5,"at":0,"kind":"moved"') for line in lines
    )
    assert lines[-1].startswith('{"t":"view"')
