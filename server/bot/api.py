"""The interface of chat commands. A command is a function from a question to a reply.

    @command("dice", "throws a die", is_public=lambda room: True)
    def dice(ask: Ask) -> Answer:
        return Answer(f"You throw a {1 + ask.v % 6}.", is_public=True)

Packages register their commands as entry points of the group `plyroom.chat`; see
docs/how-to/chat-commands.md. A command runs in a thread for at most COMMAND_S, and gets no store
and no connections. In place of an answer it may request a search, or a command of the room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from msgspec import Struct

from engine.game import Game, Position
from engine.null_move import has_null_moves
from engine.search.job import Job, Result
from server.codes import Code
from server.commands import Command
from server.protocol.assessments import Candidate as Candidate
from server.protocol.messages import Arrow as Arrow
from server.protocol.wording import StoredThought
from server.rooms import permissions
from server.rooms.evolve import position_at
from server.rooms.model import Match, Room, Viewer
from server.rooms.refusals import NO_MATCH, NO_SEAT, Refusal

#: Time limit for one call of a command, in seconds.
COMMAND_S = 2.0

#: The condition of a command: returns None, or the reason to refuse it from this viewer.
When = Callable[[Room, Viewer], Refusal | None]


def always(room: Room, viewer: Viewer) -> Refusal | None:
    """Allows a command at any time."""
    return None


def never(room: Room) -> bool:
    """Says that the answers of a command are always private."""
    return False


def after_start(room: Room, viewer: Viewer) -> Refusal | None:
    """Allows a command once the room has had a match, or has one now."""
    return NO_MATCH if room.match is None else None


def with_help(room: Room, viewer: Viewer) -> Refusal | None:
    """Allows a command that helps with the positions of the match, where the room gives help."""
    return after_start(room, viewer) or permissions.position_help(room, viewer)


def for_players(room: Room, viewer: Viewer) -> Refusal | None:
    """Allows a command to the holders of seats."""
    return NO_SEAT if viewer.seat is None else None


def with_null_moves(room: Room, viewer: Viewer) -> Refusal | None:
    """Allows a command that passes the turn, in games that know what that would be."""
    game = room.game
    if game is None or has_null_moves(game, room.options):
        return None
    return Refusal(
        Code.HELP_NONE, f"in {game.title} the turn cannot be passed, so no threat is known"
    )


class Need(StrEnum):
    """What a command needs, for lists of commands that say which of them work now.

    A match, now or before; help with its position; a seat; an AI that plays; thoughts of an AI; or
    a game in which the turn can be passed.
    """

    MATCH = "match"
    HELP = "help"
    SEAT = "seat"
    AI = "ai"
    THOUGHTS = "thoughts"
    PASS = "pass"


#: What the conditions of this module need.
_NEEDS: dict[When, tuple[Need, ...]] = {
    after_start: (Need.MATCH,),
    with_help: (Need.MATCH, Need.HELP),
    for_players: (Need.SEAT,),
    with_null_moves: (Need.PASS,),
}


class Ask(Struct, frozen=True):
    """A question: the room in which it was asked, and the person who asked.

    - `words` follow the command in the line.
    - `v` is the version of the line, 0 for a question without one.
    - `thoughts` are the AI's searches for its moves in the room's match, by ply. Only a command
      with `needs_thoughts` gets them.
    - `switches` are the names of the switches that are on for the asker.
    - `at_ms` is the time of the answer, in ms since 1970.
    """

    room: Room
    viewer: Viewer
    words: tuple[str, ...] = ()
    v: int = 0
    thoughts: Mapping[int, StoredThought] = {}
    language: str = "en"
    switches: frozenset[str] = frozenset()
    at_ms: int = 0

    @property
    def match(self) -> Match | None:
        """The running match, or the last one."""
        return self.room.match

    @property
    def game(self) -> Game | None:
        """The room's game; None if this server does not have it."""
        return self.room.game

    def position(self, ply: int | None = None) -> Position | None:
        """The position of the match at a ply, or now; None if this server cannot play the match.

        Raises GameError and GameFault.
        """
        match = self.room.match
        if match is None or match.position is None or ply in (None, match.ply):
            return None if match is None else match.position
        return position_at(self.room, match, ply)


class Answer(Struct, frozen=True):
    """What the bot says: to the asker alone, or to all readers of the question.

    A private answer may have several lines, arrows for the asker's board, and moves with their
    chances. A public answer is a single line of chat.
    """

    text: str
    is_public: bool = False
    arrows: tuple[Arrow, ...] = ()
    candidates: tuple[Candidate, ...] = ()


class Search(Struct, frozen=True):
    """Requests a search, and a call of `then` with its result.

    The job needs a limit of nodes. The search counts against the asker's limits.
    """

    job: Job
    then: Callable[[Result], Reply]


class Act(Struct, frozen=True):
    """Requests a command of the room with the asker as its actor, and says `text` when it is done.

    The bot chooses the command's id.
    """

    command: Command
    text: str


class Switch(Struct, frozen=True):
    """Turns a switch of the asker on or off, and says `text`.

    The switch belongs to the asker in this room, on all of their connections. It lasts while the
    room is open on the node. One that `/NAME on` and `/NAME off` turn is found again in the room's
    last lines of chat, after a restart of the server or on another node.
    """

    name: str
    is_on: bool
    text: str


Reply = Answer | Search | Act | Switch
#: The function of a command.
CommandFunction = Callable[[Ask], Reply]


class ChatCommand(Struct, frozen=True):
    """A command of the chat: its name without the slash, and a few words for the list of commands.

    - `when` says when it is allowed. The bot checks it again before it answers.
    - `cost` is the maximum number of searches for one question.
    - `needs_thoughts` says whether the question has the AI's searches.
    - `is_public` says whether the answer in a room would be public. Where it would not, only the
      asker sees the line `/NAME`, and a public answer to it is sent to the asker alone.
    - `conditions` are those of this module that a `when` of the command's own contains.
    - `is_about_ai` says whether there is nothing to answer where no AI plays.
    """

    name: str
    about: str
    run: CommandFunction
    when: When = always
    cost: int = 0
    needs_thoughts: bool = False
    is_public: Callable[[Room], bool] = never
    conditions: tuple[When, ...] = ()
    is_about_ai: bool = False

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the command needs, as far as its conditions are those of this module."""
        needs = [need for when in (self.when, *self.conditions) for need in _NEEDS.get(when, ())]
        of_ai = ((Need.AI, self.is_about_ai), (Need.THOUGHTS, self.needs_thoughts))
        return (*needs, *(need for need, is_needed in of_ai if is_needed))


def command(
    name: str,
    about: str,
    when: When = always,
    cost: int = 0,
    needs_thoughts: bool = False,
    is_public: Callable[[Room], bool] = never,
    conditions: tuple[When, ...] = (),
    is_about_ai: bool = False,
) -> Callable[[CommandFunction], ChatCommand]:
    """Returns a decorator that turns a function into a chat command. See ChatCommand."""

    def decorate(run: CommandFunction) -> ChatCommand:
        return ChatCommand(
            name, about, run, when, cost, needs_thoughts, is_public, conditions, is_about_ai
        )

    return decorate
