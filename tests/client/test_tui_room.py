"""A room on the whole terminal: keys, mouse and words, with a fake room in the server's place."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import pytest
from rich.color import Color
from textual.widgets import Input

from client.address import parse_address
from client.errors import PlyroomError
from client.model import Model
from client.terminal.colours import FIXED_COLOURS
from client.terminal.commands import PERMITTED_AS, CommandName, is_permitted
from client.tui.board_pane import BoardPane
from client.tui.pages import TextPane
from client.tui.panels import notes
from client.tui.room import RoomScreen, Visit, menu_entries
from client.tui.sheets import Menu, Question
from engine.view import BoardView, Kind, PositionView, SeatView, Site, Sites
from server.commands import (
    AiSeat,
    Chat,
    Move,
    MySeat,
    OfferDraw,
    OpenSeat,
    Rematch,
    Resign,
    Sit,
    Takeback,
)
from server.events import Held, Muted, Occupant, Said, SeatLeft
from server.ids import IdentityId
from server.rooms.model import Actor
from tests.support.fake_room import BOB, CYD, FakeRoom
from tests.support.full_screen import FullScreen, running
from tests.support.scripted_server import Link, Message, joined, memory

ADDRESS = parse_address("http://script")
PLAYER = Model(room="r", me="i1", seats=(Occupant("i1", "Ada"), None))
#: The server's time at first, in ms since 1970.
START_MS = 1_700_000_000_000


class Terminal(FullScreen):
    """A room on the whole terminal, and what the server received."""

    def __init__(self, shown: FullScreen, screen: RoomScreen, link: Link) -> None:
        super().__init__(shown.app, shown.pilot)
        self.room = screen
        self.link = link

    async def type(self, line: str) -> None:
        """Types a line and Enter."""
        self.room.query_one(Input).value = line
        await self.pilot.press("enter")

    async def sent(self, tag: str, since: int = 0) -> dict[str, object]:
        """Waits until the server has received a message of this type; returns it."""
        await self.until(
            lambda: any(each["t"] == tag for each in self.link.seen[since:]), f"sent {tag}"
        )
        return next(each for each in self.link.seen[since:] if each["t"] == tag)

    async def permit(self, room: FakeRoom, *may: str) -> None:
        """Lets the server permit these commands, and waits until the application knows."""
        await room.send_may(*may)
        await self.until(lambda: self.room.model.may == may, str(may))

    async def click(self, cell: str) -> None:
        """Clicks on a cell of the board."""
        board = self.room.query_one(BoardPane)
        assert board.picture is not None
        box = board.picture.boxes[cell]
        middle = (box.col + box.width // 2, box.row + box.height // 2)
        await self.pilot.click(BoardPane, offset=middle)


@asynccontextmanager
async def terminal(
    room: FakeRoom, columns: int = 80, rows: int = 24, waits: bool = False
) -> AsyncIterator[Terminal]:
    """Runs the application in a room until the end of the block."""
    links: list[Link] = []
    failures: list[PlyroomError] = []

    async def serve(link: Link) -> None:
        links.append(link)
        await room.serve(link)

    async with memory(serve) as connection:
        visit = Visit(connection, ADDRESS, "r")
        apps: list[FullScreen] = []
        screen = RoomScreen(
            visit,
            FIXED_COLOURS,
            False,
            failures.append,
            lambda is_taken: apps[0].app.take_mouse(is_taken),
        )
        async with running(lambda: screen, columns, rows) as shown:
            apps.append(shown)
            connection.on_state = shown.app.show_state
            yielded = Terminal(shown, screen, links[0])
            await yielded.until(lambda: screen.model.v and (waits or screen.model.view), "a view")
            yield yielded
    assert not failures


def of_two(
    game: str = "tic-tac-toe", clock: str | None = None, now_ms: Callable[[], int] = int
) -> FakeRoom:
    """A room of Ada, who is the user, and Bob."""
    room = FakeRoom(game, (MySeat(), OpenSeat()), clock=clock, now_ms=now_ms)
    room.decide(BOB, Sit("sit", 1))
    return room


def moves(room: FakeRoom) -> list[str]:
    match = room.room.match
    assert match is not None
    return [played.move for played in match.moves]


async def test_an_evening_in_one_room() -> None:
    """Moves by typing, keys and mouse; chat, an offer, a question before resigning, a rematch."""
    room = of_two()
    async with terminal(room) as screen:
        await screen.shows("Crosses X: Ada (you)", "Noughts O: Bob", "No move yet.")
        await screen.shows("Crosses to move", "Your move, such as b2 (or help)")
        # An answer of the bot has arrows, which are letters on the cells until the next move.
        arrows = [{"cells": ["b2"], "kind": "best"}, {"cells": ["c3"], "kind": "other"}]
        answer = {"t": "answer", "room": "r", "v": 0, "text": "Play b2.", "arrows": arrows}
        await screen.link.send(answer)
        await screen.shows("Play b2.", "   A  ", "   B  ")
        # Moves that its text numbers have their numbers.
        await screen.link.send(answer | {"text": "The best moves: 1) b2; 2) c3"})
        await screen.shows("The best moves:", "   1  ", "   2  ")
        await screen.hides("   A  ", "   B  ")
        await screen.type("b2")
        await screen.shows("1. b2")
        await screen.hides("   1  ", "   2  ")
        await room.act(BOB, Move("m1", 1, "a1"))
        await screen.shows("2. a1")
        # The first key moves the cursor from the last move, a1.
        await screen.press("right", "right", "up", "space")
        await screen.until(lambda: moves(room) == ["b2", "a1", "c2"], "a move by keys")
        await room.act(BOB, Move("m2", 3, "a3"))
        await screen.until(lambda: screen.room.model.moves, "my turn")
        await screen.click("a2")
        await screen.until(lambda: moves(room)[-1] == "a2", "a move by mouse")
        await screen.shows("You won: three in a row.", "rematch")
        await screen.type("hint")
        await screen.shows("There is no hint, because no match is being played")
        assert not any("Looking for" in line for line, _ in screen.room._log)
        since = len(screen.link.seen)
        await screen.press("f2")
        await screen.sent("rematch", since)
        await screen.shows("You offer a rematch.")
        await screen.type("/hello there")
        await screen.press("ctrl+t", "ctrl+t")
        await screen.shows("<Ada> hello there")
        # A word of this screen or of line mode is never said; nor is a misspelt one without say.
        entry, since = screen.room.query_one(Input), len(screen.link.seen)
        for line in ("/flip", "/bell", "/reslgn"):
            await screen.type(line)
        await screen.shows("Did you mean resign?")
        assert entry.value == "resign"
        assert [each for each in screen.link.seen[since:] if each["t"] == "chat"] == []
        await screen.type("say reslgn")
        await screen.shows("<Ada> reslgn")
        # The rematch swaps the sides, which is said until the first move of one's own.
        await room.act(BOB, Rematch("rematch"))
        await screen.shows("Crosses to move  You play Noughts in this match.")
        await room.act(BOB, Move("m3", 0, "b2"))
        await screen.shows("Your turn: Noughts to move  You play Noughts in this match.")
        await screen.type("a1")
        await screen.hides("You play Noughts")


async def test_offers_are_answered_by_keys_words_and_the_mouse() -> None:
    """A bar names the offer and its answers; F2 and F3 give them, a click does too."""
    room = of_two("chess")
    async with terminal(room) as screen:
        await screen.type("e4")
        await screen.until(lambda: moves(room), "e4")
        await room.act(BOB, Move("m1", 1, "e7e5"))
        await room.act(BOB, OfferDraw("draw"))
        await screen.shows("Bob offers a draw.", "F2 accept", "F3 decline")
        await screen.press("f3")
        await screen.sent("decline")
        await screen.until(lambda: not screen.room.model.offers, "declined")
        await room.act(BOB, Takeback("back", 2))
        await screen.shows("Bob asks to take a move back.")
        line = next(i for i, each in enumerate(screen.lines()) if "F2 accept" in each)
        await screen.pilot.click(offset=(screen.lines()[line].index("accept"), line))
        await screen.sent("accept")
        await screen.until(lambda: moves(room) == ["e2e4"], "taken back")


async def test_of_two_offers_the_one_that_is_shown_is_answered() -> None:
    """F9 withdraws the user's request beside the opponent's draw; F3 declines their request beside
    the user's draw.
    """
    room = of_two("chess")
    async with terminal(room) as screen:
        await screen.type("e4")
        await screen.until(lambda: moves(room), "e4")
        await screen.type("takeback")
        await screen.shows("You ask to take a move back.", "F9 withdraw")
        await room.act(BOB, OfferDraw("draw"))
        await screen.shows("Bob offers a draw.", "F3 decline")
        await screen.press("f9")
        await screen.until(lambda: not room.room.takeback_offers, "withdrawn")
        assert room.room.offers == (1,)
        await screen.press("f3")
        await screen.until(lambda: not room.room.offers, "declined")
        await room.act(BOB, Move("m1", 1, "e7e5"))
        await room.act(BOB, Takeback("back", 2))
        await screen.type("draw")
        await screen.shows("Bob asks to take a move back.", "You offer a draw.")
        await screen.press("f3")
        await screen.until(lambda: not room.room.takeback_offers, "declined")
        await screen.type("takeback")
        await screen.shows("You ask to take 2 moves back.")
        assert room.room.offers == (0,)


async def test_a_clock_that_does_not_run_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message counts down to when the first turn is due, and says that a held clock stands."""
    now_ms = [START_MS]
    room = of_two("tic-tac-toe", "300+3", lambda: now_ms[0])
    async with terminal(room) as screen:
        monkeypatch.setattr(screen.room._visit.connection, "server_ms", lambda: now_ms[0])
        await screen.press("left")
        await screen.shows("Crosses to move", "(move in 0:30, or the match ends)")
        now_ms[0] += 20_000
        screen.room._tick()
        await screen.shows("(move in 0:10, or the match ends)")
        await screen.type("b2")
        await room.act(BOB, Move("m1", 1, "a1"))
        await screen.until(lambda: len(moves(room)) == 2, "two moves")
        await screen.hides("move in")
        match = screen.room.model.match
        assert match is not None
        await room.tell(Held(match.id, "maintenance", now_ms[0]))
        await screen.shows("(clock stopped)")


async def test_resigning_asks_first() -> None:
    """`resign` opens a question: n goes on, y resigns; so does leaving a running match."""
    room = of_two()
    async with terminal(room) as screen:
        await screen.type("b2")
        await screen.until(lambda: moves(room), "b2")
        await room.act(BOB, Move("m1", 1, "a1"))
        await screen.until(lambda: screen.room.model.permits("resign"), "may resign")
        for answer in ("n", "escape"):
            await screen.type("resign")
            await screen.until(lambda: isinstance(screen.app.screen, Question), "the question")
            await screen.press(answer)
            await screen.until(lambda: screen.app.screen is screen.room, "the room")
            if answer == "n":
                await screen.type("resign")
                await screen.press("ctrl+c")  # is no answer that resigns
                await screen.until(lambda: screen.app.screen is screen.room, "the room")
        await screen.press("ctrl+d")
        await screen.shows("Leave the room?")
        await screen.press("n")
        assert all(message["t"] != "resign" for message in screen.link.seen)
        await screen.type("resign")
        await screen.shows("Resign the match?")
        await screen.press("y")
        await screen.sent("resign")
        await screen.shows("You lost: ")


async def test_resigning_by_the_mouse_alone() -> None:
    """The line of keys is clicked: the list of words, the keys of the board, and the way back."""
    room = of_two()
    async with terminal(room) as screen:
        await screen.click("b2")
        await room.act(BOB, Move("m1", 1, "a1"))
        await screen.until(lambda: screen.room.model.permits("resign"), "may resign")
        await screen.click_on("Esc: keys")
        await screen.click_on("f flip")
        await screen.until(lambda: screen.room._is_flipped, "turned")
        assert screen.room._has_keys
        await screen.click_on("Esc: type")
        await screen.shows("Enter: send")
        await screen.click_on("?: help")
        await screen.click_on("resign the match")
        await screen.click_on("y yes")
        await screen.shows("You lost: you resigned.")


async def test_every_word_that_leaves_asks_first() -> None:
    """While the user's match runs; and chat that begins with a command does nothing."""
    async with terminal(of_two()) as screen:
        entry = screen.room.query_one(Input)
        await screen.type("/accept my apologies")
        await screen.shows("To say it to the room: say accept my apologies (accept stands alone")
        assert entry.value == "say accept my apologies"
        for word in ("/quit!", "/ quit", "/ leave", "quit now", "exit"):
            await screen.type(word)
            await screen.shows("Leave the room? The match stays open,", "resign first.")
            await screen.press("n")
            await screen.until(lambda: screen.app.screen is screen.room, "the room")
        await screen.type("bye")
        await screen.shows("To say it to the room: say bye")
        await screen.type("/quit")
        await screen.shows("Leave the room?")
        await screen.press("y")
        await screen.until(lambda: not screen.app.is_running, "the end")
        assert not {"chat", "accept"} & {message["t"] for message in screen.link.seen}


async def test_a_room_that_nothing_follows_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """If line mode ends behind the screen no dead picture stays, under no sheet either; each sheet
    is closed as by Esc: the mouse comes back from the terminal.
    """
    async with terminal(of_two()) as screen:
        taken: list[bool] = []
        monkeypatch.setattr(screen.app, "take_mouse", taken.append)
        await screen.press("escape", "c")
        await screen.shows("http://script/room/r", "█")
        await screen.until(lambda: taken == [False], "the mouse given back")
        screen.room._ask("Sure?")
        await screen.shows("Sure?")
        screen.room._lines.put("quit")
        await screen.until(lambda: screen.room not in screen.app.screen_stack, "the end")
        assert taken == [False, True]


async def test_ctrl_c_twice_leaves() -> None:
    room = of_two()
    async with terminal(room) as screen:
        # Enter of a terminal that was not yet the program's, as after Ctrl-Z.
        await screen.press(*"b2", "ctrl+j")
        await screen.until(lambda: moves(room), "b2")
        await screen.press("ctrl+c")
        await screen.shows("Leave the room?")
        await screen.press("ctrl+c")
        await screen.until(lambda: not screen.app.is_running, "the end")


async def test_a_choice_by_letter() -> None:
    """Moves with one path are asked for by letter, as a promotion is; Esc plays none."""
    room = FakeRoom("chess", (MySeat(), OpenSeat()))
    room.decide(BOB, Sit("sit", 1))
    played = ["h2h4", "g7g5", "h4g5", "a7a6", "g5g6", "a6a5", "g6h7", "a5a4"]
    actors = (room.room.seats[0], room.room.seats[1])
    assert None not in actors
    ada = Actor(IdentityId("i1"), "Ada")
    for ply, move in enumerate(played):
        room.decide((ada, BOB)[ply % 2], Move(f"p{ply}", ply, move))
    async with terminal(room) as screen:
        await screen.click("h7")
        await screen.click("g8")
        await screen.shows("Which move?", "q  queen")
        await screen.press("escape")
        await screen.until(lambda: screen.app.screen is screen.room, "the room")
        await screen.click("h7")
        await screen.click("g8")
        await screen.shows("Which move?")
        await screen.press("r")
        await screen.until(lambda: len(moves(room)) == 9, "a promotion")
        assert moves(room)[-1] == "h7g8r"


#: What is typed for the commands that need more than their word.
ARGUMENTS = {
    CommandName.SIT: "sit", CommandName.AI: "ai 1", CommandName.NEXT: "next othello",
    CommandName.MUTE_ALL: "mute-all Bob", CommandName.UNMUTE_ALL: "unmute-all Bob",
    CommandName.BAR: "bar Bob", CommandName.ALLOW_HELP: "allow-help on",
}  # fmt: skip


@pytest.mark.parametrize("name", PERMITTED_AS)
def test_the_menu_offers_what_the_server_permits(name: CommandName) -> None:
    """A command stands in the menu if `may` lists it, and only then."""
    for may in ((), (PERMITTED_AS[name],)):
        level = Occupant("a", "AI level 3", kind="ai", level=3)
        model = Model(room="r", seats=(None, level), may=may)
        listed = {entry.word for entry in menu_entries(model)}
        assert (name.value in listed) == bool(may)
        assert {each for each in PERMITTED_AS if each.value in listed} == {
            each for each in PERMITTED_AS if is_permitted(each, model)
        }


def test_a_spectator_has_no_bell() -> None:
    labels = [{entry.word for entry in menu_entries(model)} for model in (Model(room="r"), PLAYER)]
    assert {"bell", "flip"} - labels[0] == {"bell"}
    assert {"bell", "flip"} <= labels[1]


async def test_choosing_in_the_menu() -> None:
    """Enter gives a command of the menu, or puts its word into the line where it needs more."""
    room = of_two()
    async with terminal(room) as screen:
        await screen.permit(room, "resign", "mute")
        listed = [entry.word for entry in menu_entries(screen.room.model)]
        await screen.press("question_mark", *["down"] * listed.index("mute-all"), "enter")
        entry = screen.room.query_one(Input)
        await screen.until(lambda: entry.value == "mute-all ", "the word in the line")
        await screen.press("escape")
        await screen.press("f1", *["down"] * listed.index("resign"), "enter")
        await screen.shows("Resign the match?")


class Refusing(FakeRoom):
    """A room that refuses every command, so that nothing changes."""

    async def _command(self, message: Message, link: Link) -> None:
        await link.refuse(message, "not.now")


async def test_every_permitted_word_reaches_the_server() -> None:
    """Each word, typed in the input line, becomes its command; resign and abort ask first."""
    room = Refusing("tic-tac-toe", (MySeat(), AiSeat(1)))
    room.append(SeatLeft(0))
    room.append(Muted("i2", "Bob"))
    room.append(Said("i2", "Bob", "hi"))
    async with terminal(room) as screen:
        for name, tag in PERMITTED_AS.items():
            since = len(screen.link.seen)
            await screen.permit(room, tag)
            await screen.type(ARGUMENTS.get(name, name.value))
            if tag in ("resign", "abort"):
                await screen.until(lambda: isinstance(screen.app.screen, Question), "the question")
                await screen.press("y")
            if name is CommandName.EASIER:
                await screen.shows("has levels 1 to")
            else:
                await screen.sent(tag, since)


async def test_the_line_of_state_names_the_sides_of_a_score() -> None:
    async with terminal(of_two("othello")) as screen:
        await screen.shows("Black to move; Black 2, White 2")


async def test_signs_without_coordinates_are_explained() -> None:
    """Where the board shows them: a board of figures shows no letters."""
    async with terminal(of_two("coin-friends")) as screen:
        await screen.shows("Signs: F1 friend one, F2 friend two, numbers in cents; empty: h")
    kinds = {"w": Kind("white stone", 0, text="W"), "b": Kind("black stone", 1, text="B")}
    seats = (SeatView("White", "#ffffff"), SeatView("Black", "#000000"))
    board = BoardView(Sites((Site("A", 0, 0), Site("B", 1, 0))), kinds, seats)
    view = PositionView({"A": "w"}, 0, "")
    assert notes(board, view, is_ascii=True) == ["Signs: W white stone; empty: B"]
    assert notes(board, view, is_ascii=False) == []


async def test_hostile_names_and_chat_are_only_text() -> None:
    """A wide name, markup, escape codes and unknown events: no code reaches the terminal."""
    wide = "黒" * 12
    room = FakeRoom("tic-tac-toe", (MySeat(), OpenSeat()))
    room.decide(Actor(IdentityId("i2"), wide), Sit("sit", 1))
    async with terminal(room, 100, 20) as screen:
        await screen.press("ctrl+t", "ctrl+t")
        assert screen.link is not None
        await room.act(CYD, Chat("c1", "[bold]no[/bold] [@click=app.exit]x[/]"))
        await room.act(CYD, Chat("c2", "\x1b[31mred\x07 \x9b2J end"))
        await screen.link.send(
            {"t": "event", "room": "r", "v": room.room.v + 1, "at": 0, "kind": "from_tomorrow"}
        )
        await screen.link.send({"t": "message_of_tomorrow", "room": "r"})
        await screen.shows("[bold]no[/bold] [@click=app.exit]x[/]", "[31mred 2J end", wide)
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in "".join(screen.lines()))


async def test_what_a_newer_server_sends_breaks_nothing() -> None:
    """Messages, events, fields and values that this client does not know are passed over, and what
    it knows of them is shown: the user reads on and plays on.
    """
    room = FakeRoom("gomoku", (MySeat(), OpenSeat()))
    room.decide(BOB, Sit("sit", 1))
    async with terminal(room) as screen:
        await screen.shows("Black to move", "Bob", "No move yet.")
        v, match = room.room.v, room.room.match
        assert match is not None
        body: Message = {"room": "r", "match": match.id, "ply": 0, "seat": 1, "v": v}
        for message in (
            {"t": "fireworks", **body},
            {"t": "presence", **body, "seats": [True, True], "watching": 3, "moods": ["glad"]},
            {"t": "thinking", **body, "state": "dreaming", "colour": "blue"},
            {"t": "may", **body, "may": ["resign", "teleport"]},
            {"t": "answer", **body, "text": "Sing.",
             "arrows": [{"cells": ["h8", "zz99"], "kind": "song"}]},
            {"t": "view", **body, "view": {"pieces": {"h8": "dragon", "zz9": "black"}, "turn": 0,
             "text": "Black to move", "marks": {"glow": ["h8"], "last": ["q99"]}, "smell": 1}},
        ):  # fmt: skip
            await screen.link.send(message)
        await screen.shows("3 watching", "Sing.", " ?")
        for kind in ("exploded", "said"):  # the second one has no field that is known
            v += 1
            await screen.link.send({"t": "event", "room": "r", "v": v, "at": 0, "kind": kind})
        await screen.until(lambda: screen.room.model.v == v, "the events")
        await screen.is_whole()
        since = len(screen.link.seen)
        await screen.type("a1")
        assert (await screen.sent("move", since))["move"] == "a1"
        for key in ("ctrl+t", "ctrl+t", "ctrl+t", "ctrl+t", "f1"):
            await screen.press(key)
        await screen.shows("What you can do now", "resign the match")
        await screen.press("escape")
        # Looks that this client does not know: the board is the usual one, pieces are letters.
        seats = [{"name": name, "colour": "#000000"} for name in ("Black", "White")]
        board = {"kind": "grid", "cols": 3, "rows": 3, "style": "lava", "origin": "inside"}
        kinds = {
            "black": {"name": "black stone", "side": 0, "shape": "flame"},
            "dragon": {"name": "dragon", "side": 0, "shape": "wing", "sprite": "drake"},
        }
        newer = joined("r", v)
        newer["description"]["view"] = {"board": board, "kinds": kinds, "seats": seats}
        await screen.link.send(newer)
        view = {"pieces": {"a1": "dragon", "b2": "black"}, "turn": 0, "text": "Black to move"}
        await screen.link.send({"t": "view", **body, "v": v, "view": view})
        await screen.shows(" D ", " B ", "Black: Ada (you)")
        await screen.is_whole()


async def test_any_size() -> None:
    """From 40 by 12 up the board, the message and the input line are there; the cursor is seen."""
    room = of_two("gomoku")
    async with terminal(room, 40, 12) as screen:
        await screen.shows("> ", "Black to move", "?  t")
        await screen.click_on("?  t")
        await screen.shows("What you can do now")
        await screen.click_on("Esc goes back")
        for column in range(14):
            await screen.press("down" if column % 2 else "left")
        board = screen.room.query_one(BoardPane)
        await screen.until(lambda: board.cursor is not None, "a cursor")
        await screen.shows(">┼<")
        await screen.press("ctrl+t")
        await screen.shows("Moves", "No move yet.")
        for size in ((120, 40), (80, 24), (60, 50), (40, 12)):
            await screen.pilot.resize_terminal(*size)
            await screen.has_rows(size[1])
            assert all(len(line) >= size[0] - 2 for line in screen.lines())
            await screen.shows("Black to move")


async def test_the_prompt_does_not_run_into_the_keys() -> None:
    """On a small screen it is as short as it must be: no advice to type help, then no example."""
    async with terminal(of_two(), 40, 12) as screen:
        for columns, prompt in ((40, "b2 (or help) "), (36, "b2    "), (28, "move      ")):
            await screen.pilot.resize_terminal(columns, 12)
            await screen.shows(prompt)
            row = next(line for line in screen.lines() if line.startswith("> "))
            assert row.endswith("  ?  t"), row


async def test_castling_by_the_king_and_its_rook() -> None:
    """The rook after the king castles, and the log of the room says how the picks were read."""
    room = of_two("chess")
    async with terminal(room) as screen:
        for ply, move in enumerate(["e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5"]):
            if ply % 2:
                await room.act(BOB, Move(f"m{ply}", ply, move))
            else:
                await screen.type(move)
                await screen.until(lambda: len(moves(room)) % 2 == 1, "the move")
        await screen.until(lambda: bool(screen.room.model.moves), "my turn")
        await screen.click("e1")
        await screen.click("h1")
        await screen.until(lambda: moves(room)[-1] == "e1g1", "castled")
        await screen.shows("e1 h1 is read as e1-g1")
        assert ("e1 h1 is read as e1-g1", True) in screen.room._log
        await room.act(BOB, Move("m7", 7, "a7a6"))
        await screen.shows("Your turn: White to move")


async def test_a_line_has_the_colour_of_who_drew_it() -> None:
    """The moves of the match say which side drew it, also after an extra turn."""
    room = of_two("dots-and-boxes")
    async with terminal(room) as screen:
        await screen.type("a1b1")
        await screen.shows("━━━")
        await room.act(BOB, Move("m1", 1, "a1a2"))
        await screen.shows("┃")
        pane = screen.room.query_one(BoardPane)
        assert pane.picture is not None
        inks = {text[0]: ink for row in pane.picture.rows for text, ink in row if text[0] in "━┃"}
        red, blue = "color(160)", "color(31)"
        assert (inks["━"].colour, inks["┃"].colour) == (red, blue)
        for bar, figure, colour in (("#below", "○", red), ("#above", "●", blue)):
            line = screen.room.query_one(bar, TextPane).render_line(0)
            shown = [each.style.color for each in line if each.text == figure and each.style]
            wanted = Color.parse(colour).get_truecolor()
            assert [each and each.get_truecolor() for each in shown] == [wanted]


async def test_waiting_for_a_friend_shows_the_link() -> None:
    """The link stands below the board until there is something to say; the bar opens it and its QR
    code by F2.
    """
    room = FakeRoom("chess", (MySeat(), OpenSeat()))
    async with terminal(room, waits=True) as screen:
        await screen.shows("Waiting for a player.", "F2 show the link to send")
        await screen.shows("http://script/room/r")
        await screen.type("moves")
        await screen.shows("The match has not begun.")
        await screen.hides("http://script/room/r")
        screen.room.log_line("one\n\ntwo", is_notice=True)
        await screen.shows("one; two")
        await screen.press("enter")
        await screen.shows("http://script/room/r")
        await screen.press("f2")
        await screen.shows("http://script/room/r", "█")
        # The mouse is the terminal's now: nothing on the sheet waits for a click.
        await screen.click_on("Esc goes back")
        await screen.click_on("y copies it")
        is_copied = bool(screen.app.clipboard)
        assert not is_copied
        await screen.press("y")
        await screen.shows("Copied, if the terminal allows it.  Esc goes back")
        assert screen.app.clipboard == "http://script/room/r"
        await screen.press("escape")
        # A user of the mouse keeps it, and comes back by it.
        await screen.click_on("show the link to send")
        await screen.click_on("y copies it")
        await screen.shows("Shift and the mouse select it", "Copied")
        await screen.click_on("Esc goes back")
        await screen.until(lambda: screen.app.screen is screen.room, "the room")
        await room.act(BOB, Sit("sit", 1))
        await screen.shows("Black: Bob", "White to move")


async def test_keys_of_the_board() -> None:
    """Esc gives the letters to the board: flip, bell, link, help, leave; Tab takes them back."""
    room = of_two("chess")
    async with terminal(room, 100, 40) as screen:
        first = [line for line in screen.lines() if line.startswith(" 8 ")]
        assert first
        await screen.shows("> Your move", "Esc: keys")
        await screen.press("escape")
        await screen.shows("KEYS: f flip")
        await screen.hides("> Your move")
        await screen.press("tab")
        await screen.shows("> Your move", "Esc: keys")
        await screen.press("escape", "f")
        await screen.until(
            lambda: screen.lines()[-5].startswith("     h") or "h   " in "".join(screen.lines()),
            "turned",
        )
        await screen.press("b")
        await screen.shows("The bell is off")
        await screen.press("c")
        await screen.shows("http://script/room/r", "█")
        await screen.press("escape", "question_mark")
        await screen.until(lambda: isinstance(screen.app.screen, Menu), "the menu")
        await screen.press("escape", "tab")
        await screen.press(*"flip", "enter")
        await screen.until(lambda: not screen.room._is_flipped, "turned back")


async def test_a_small_board_scrolls_around_the_cursor() -> None:
    """What the cursor is on is in sight, and no row or tab is left over from before."""
    room = of_two("hex")
    async with terminal(room, 40, 12) as screen:
        board = screen.room.query_one(BoardPane)
        for key in [*["down"] * 7, *["up"] * 6, "ctrl+t", "ctrl+t"]:
            await screen.press(key)
            await screen.is_whole(key)
            if key in ("up", "down") and board.region:
                assert board.picture is not None
                assert board.cursor is not None
                row = board.picture.boxes[board.cursor].row - board._offset[0]
                assert 0 <= row < board.size.height
        await screen.pilot.resize_terminal(80, 24)
        await screen.has_rows(24)
        for name in ("Chat", "People", "Moves", "Thinking"):
            await screen.press("ctrl+t")
            await screen.is_whole(name)
            tabs = screen.room.query_one("#tabs", TextPane).render_line(0)
            chosen = [each.text for each in tabs if each.style and each.style.reverse]
            assert chosen == [name]


async def test_a_tab_follows_its_end_until_the_user_scrolls() -> None:
    """Long messages leave the board whole and do not push the end of the chat out of sight; what
    the user has scrolled to stays, until they scroll to the end again.
    """
    room = of_two("chess")
    async with terminal(room) as screen:
        screen.room.action_show_tab(2)
        board = [line[:36] for line in screen.lines()[2:19]]

        def has_errors(count: int) -> bool:
            return sum("'nonsense' is" in line for line, _ in screen.room._log) >= count

        for count in range(1, 13):
            await screen.type("nonsense")
            await screen.until(partial(has_errors, count), "an error")
        await screen.shows("│ commands.", "… (tab Chat)")
        await screen.type("e2e4")
        await screen.until(lambda: moves(room), "e2e4")
        await room.act(BOB, Chat("c", "the end"))
        await screen.shows("│ <Bob> the end")
        assert [line[:3] for line in screen.lines()[2:19]] == [line[:3] for line in board]
        await screen.press("pageup")
        await room.act(BOB, Chat("d", "unseen"))
        await screen.shows("<Bob> unseen")  # in the message only
        assert not any("│ <Bob> unseen" in line for line in screen.lines())
        await screen.press(*["pagedown"] * 3)
        await room.act(BOB, Chat("e", "seen"))
        await screen.shows("│ <Bob> seen")
        # The tab of the people fits, so that PageDown is at its end; it shows its beginning still.
        screen.room.action_show_tab(3)
        await screen.press("pagedown")
        await room.tell(Muted("i3", "Cyd"))
        await screen.shows("│ Muted: Cyd")
        muted = [Muted(f"i{n}", f"Cyd {n}") for n in range(4, 30)]
        for event in muted:
            await room.tell(event)
        await screen.until(lambda: len(screen.room.model.muted) == 27, "all muted")
        await screen.shows("│ White: Ada")


async def test_space_where_no_move_begins_says_so() -> None:
    """The word is gone at the next pick."""
    room = of_two("chess")
    async with terminal(room) as screen:
        await screen.click("e5")
        await screen.shows("No move of yours begins with e5.")
        await screen.click("e2")
        await screen.shows("picked e2")
        await screen.hides("No move of yours")
        await screen.click("e4")
        await screen.until(lambda: moves(room), "e4")
        await screen.click("e7")
        await screen.shows("It is not your turn.")


async def test_the_line_completes_and_pasting_is_one_line() -> None:
    """Tab completes moves and words; of a paste only the first line is taken, without codes."""
    from textual.events import Paste

    room = of_two("chess")
    async with terminal(room) as screen:
        entry = screen.room.query_one(Input)
        await screen.press(*"ab")
        await screen.until(lambda: entry._suggestion == "abort", "a completion")
        await screen.press("tab")
        assert entry.value == "abort"
        await screen.press("escape")
        assert entry.value == ""
        entry.post_message(Paste("e2e4\nresign\n"))
        await screen.until(lambda: entry.value == "e2e4", "a paste")


async def test_the_opponent_resigns_and_the_user_leaves() -> None:
    """The end of a match is told; q leaves without a question, and the application ends."""
    room = of_two()
    async with terminal(room) as screen:
        await screen.type("b2")
        await screen.until(lambda: moves(room), "b2")
        await room.act(BOB, Move("m1", 1, "a1"))
        await room.act(BOB, Resign("over"))
        await screen.shows("You won: ")
        await screen.press("escape", "q")
        await screen.until(lambda: not screen.app.is_running, "the end")
