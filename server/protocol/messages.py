"""Every message that crosses a WebSocket in protocol version 1, with its limits.

Each text frame holds one JSON object whose field `t` names its type. A command carries an `id`
chosen by the client; the server answers it with exactly one `ack` or `error` that has the same id.
An ack of a command that changes a room means that its events are committed. `server.protocol.codec`
parses and formats the messages, `server.protocol.views` makes them of a room's values. The commands
and the events are those of `server.commands` and `server.events`; this module has their frames.

This module is pure: no sockets, no clock.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from engine.search.job import NO_COUNTS, Counts, DepthBest, RootMove
from engine.view import BoardView, MoveView, PositionView
from server.codes import Code
from server.commands import ClientCommand, CommandId, Count, Create, RoomId
from server.events import Occupant, Player, Word
from server.protocol.assessments import Assessment, Candidate
from server.series import Score
from server.time_controls import UNTIMED

#: The protocol version of this server.
PROTOCOL = 1
#: Maximum length of a client's frame, in bytes.
MAX_FRAME_BYTES = 8192
#: Maximum nesting of objects and lists in a client's frame.
MAX_DEPTH = 8


class Incoming(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """A message from a client."""


class Hello(Incoming, frozen=True, tag="hello"):
    """The first message of a connection. It identifies the client by its secret `token`.

    A client without a token is identified by the handshake's `Authorization: Bearer …` or the
    browser's cookie. With none of them, or with an unknown cookie, the server creates a guest and
    returns the guest's token once, in `welcome`. An unknown token is refused.

    `name` names or renames the guest; `welcome` has the name that others see: on one line, in
    Normalization Form C and without what nobody can see, 1 to 24 code points long. Names like those
    of the server, its bot, an AI, a level or a strategy are refused with `name.refused`. A person
    who had one earlier is shown as a guest with a number.
    """

    protocol: int
    token: Annotated[str, Meta(max_length=128)] | None = None
    name: Annotated[str, Meta(max_length=200)] | None = None


class Ping(Incoming, frozen=True, tag="ping"):
    """Asks for a `pong`. Any message within 20 s keeps the connection open."""

    id: CommandId | None = None


class Join(Incoming, frozen=True, tag="join", kw_only=True):
    """Follows a room, or resumes following it after a reconnect.

    The server answers with `ack` and `joined`, sends the missed events or a `snapshot`, and then
    every later event. `since` is the version of the last event that the client has. The client
    receives a `snapshot` when `since` is 0 or too far behind, or when `epoch` is not the server's.
    """

    id: CommandId
    room: RoomId
    since: Count = 0
    epoch: Annotated[str, Meta(max_length=36)] | None = None


class Leave(Incoming, frozen=True, tag="leave", kw_only=True):
    """Stops following a room. A player keeps their seat."""

    id: CommandId
    room: RoomId


class CommandFrame(Struct, frozen=True):
    """A command with its room.

    In the frame they are one object: `t`, `id` and `room`, then the command's other fields. Only
    `server.protocol.codec` reads and writes it: msgspec's own encoder would nest the command.
    """

    room: RoomId
    command: ClientCommand

    @property
    def id(self) -> str:
        """The id of the command."""
        return self.command.id


class WatchLobby(Incoming, frozen=True, tag="watch_lobby", kw_only=True):
    """Subscribes to the list of public rooms, or unsubscribes from it."""

    id: CommandId
    on: bool = True


#: Every frame about one room.
RoomFrame = CommandFrame | Join | Leave
#: Every message that a client may send. A command stands in its CommandFrame.
ClientMessage = Hello | Ping | Create | Join | Leave | ClientCommand | WatchLobby
#: Every frame that a client may send, as `server.protocol.codec` parses it.
ClientFrame = Hello | Ping | Create | RoomFrame | WatchLobby


class RoomDescription(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The properties of a room that do not change during a match.

    The game, what belongs to it, and `start` are those of the last match. When the next match is of
    another game, the server sends `joined` again, after `started`.
    `levels` is 0 for a game without levels, whose AI seats play strategies; `search` is `teach`
    then. `level_names` are the levels' names, the lowest first. `view` is null when this server
    does not have the game. `start`, `one_screen`, `takeback` and `rated` mean the same as in
    `created`. `goal` says in a sentence what a player of the game tries to do,
    and `options_text` are the options in words.
    """

    game: str
    title: str
    options: dict[str, str]
    visibility: Word
    host: str
    created_ms: int
    levels: int
    view: BoardView | None
    start: str | None = None
    one_screen: bool = False
    takeback: bool = True
    search: Word = "production"
    level_names: tuple[str, ...] = ()
    rated: bool = False
    goal: str = ""
    options_text: str = ""


class Played(Struct, frozen=True, omit_defaults=True):
    """One move of a match. The fields mean the same as in `moved`.

    `text` and `number` are filled in for old logs too, unless this server no longer has the game.
    `seat` is there only where it is not the ply modulo 2: after an extra turn, and in a match that
    the second seat began.
    """

    move: str
    text: str | None = None
    number: str | None = None
    forced: bool = False
    seat: int | None = None


class Substitution(Struct, frozen=True):
    """From the move at `ply` on, `occupant` played the seat: an AI for a player who had gone, or
    the player again.
    """

    ply: int
    seat: int
    occupant: Occupant


class MatchResult(Struct, frozen=True, omit_defaults=True):
    """The result of a match. The fields mean the same as in `finished`.

    `substitutions` are there over HTTP only; on the socket they are in the match's state.
    """

    winner: int | None
    how: Word
    reason: str
    points: tuple[int, int] | None = None
    substitutions: tuple[Substitution, ...] = ()


class ClockState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The clock of a match.

    `control` is the text of its time control, and `left_ms` are the times that both sides had left
    at `since_ms`, in ms since 1970. Since then the side of the seat `running` is charged; null
    before both sides have finished their first turn, and after the match. `used_ms` is the time
    that its turn had used before, of a delay, and `move_ms` the part of it that belongs to the
    present move, before the clock stood: `spent_ms` of `moved` has it too. `held` says why the
    clock stands. `stages` and `periods` are those of both sides, as in `moved`. `first_ms` means
    the same as in `started`.
    """

    control: str
    left_ms: tuple[int, int]
    since_ms: int
    running: int | None = None
    used_ms: int = 0
    held: Word | None = None
    stages: tuple[int, int] | None = None
    periods: tuple[int, int] | None = None
    move_ms: int = 0
    first_ms: int | None = None


class MatchState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A match with its result so far. The start position and the moves define the position.

    `seats` are the players of now, or of the end. `substitutions` says who played from which ply
    on, where a player went and the AI played on. `thinking` means the same as in `started`.
    """

    id: str
    number: int
    start: str
    rules: str
    seats: tuple[Occupant, ...]
    moves: tuple[Played, ...]
    over: MatchResult | None = None
    substitutions: tuple[Substitution, ...] = ()
    thinking: Word = "all"
    clock: ClockState | None = None


class Proposal(Struct, frozen=True, omit_defaults=True):
    """An open offer that is neither of a draw nor of a rematch.

    The fields mean the same as in `offered`. `v` is the version of that event; only a proposal of
    the next game has it.
    """

    seat: int
    what: Word
    to_ply: int | None = None
    v: int | None = None
    game: str | None = None
    options: dict[str, str] | None = None
    seats: tuple[int, ...] | None = None
    level: int | None = None
    title: str | None = None
    options_text: str = ""
    clock: str | None = None


class ChatLine(Struct, frozen=True, omit_defaults=True):
    """One line of chat with the version and the time of its event.

    A server of an earlier version omits the identity of its author. `by`, `answers` and `links`
    mean the same as in `said`.
    """

    v: int
    at: int
    name: str
    text: str
    to: Word = "room"
    identity: str = ""
    by: Word = ""
    answers: int | None = None
    links: bool = False


class OpenOffer(Struct, frozen=True, omit_defaults=True):
    """A player's open offer of a room's next match: `what` is `rematch`, or `next` with the title
    of the proposed game.
    """

    seat: int
    what: Word
    title: str = ""


class RoomSummary(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A public room in the lobby's list.

    `state` is `open`, `playing` or `finished`.
    `length` is the length of its match as text ("12 moves"), counted as the game counts moves.
    `options_text` are its options in words.
    `away` lists the seats of a room that waits for a player whose people have had no connection to
    it for 30 s, on any node. They may come back, and the seat beside them can be taken.
    `offers` are the open offers of the next match, between two matches.
    `clock` is the text of the matches' time control, null for none, and `speed` its class:
    `bullet`, `blitz`, `rapid`, `classical` or `untimed`. `times` is the clock of a running match.
    """

    room: str
    game: str
    title: str
    options: dict[str, str]
    seats: tuple[Occupant | None, ...]
    state: Word
    created_ms: int
    ply: int = 0
    watching: int = 0
    length: str = ""
    options_text: str = ""
    away: tuple[int, ...] = ()
    offers: tuple[OpenOffer, ...] = ()
    clock: str | None = None
    speed: Word = UNTIMED
    times: ClockState | None = None


class Outgoing(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """A message to a client."""


class Welcome(Outgoing, frozen=True, tag="welcome", kw_only=True):
    """The answer to `hello`.

    If `epoch` differs from that of an earlier welcome, the client joins its rooms again with
    `since` 0. `notice` is a sentence to show: the guest of the cookie was not found, and this is a
    new one. `nodes` is the number of nodes that are up; with more than one, clients open a socket
    for each room that they enter.
    """

    protocol: int
    identity: str
    name: str
    epoch: str
    at: int
    token: str | None = None
    notice: str | None = None
    nodes: int = 1


class Ack(Outgoing, frozen=True, tag="ack", omit_defaults=False):
    """The command succeeded.

    `v` is the version of its last event, null when it logged none. `room` is present only in the
    answer to `create`.
    """

    id: str
    v: int | None
    room: str | msgspec.UnsetType = msgspec.UNSET


class Error(Outgoing, frozen=True, tag="error", omit_defaults=False):
    """The command was refused and changed nothing; only after `store.retry` is the outcome unknown.

    `id` is null when the server could not read one from the message.
    """

    id: str | None
    code: Code
    message: str


class Pong(Outgoing, frozen=True, tag="pong"):
    """The answer to `ping`. `at` is the server's clock in ms since 1970."""

    at: int
    id: str | None = None


class Joined(Outgoing, frozen=True, tag="joined", kw_only=True):
    """The client now follows the room. Sent again when `frozen` or the game changes.

    `v` is the version of its newest event and `seat` the client's own seat. `frozen` is set when
    the room can be read but not played, and is the error code that says why. `may` lists the
    commands that the viewer may give, like the message `may`. A server of an earlier version omits
    it; the client may then try any command. `start_view` is the position in which the room's first
    match will start; null once it has started. `chat_commands` has the names of the bot's commands,
    which a player types after a `/`.
    """

    room: str
    v: int
    epoch: str
    description: RoomDescription
    seat: int | None = None
    frozen: str | None = None
    may: tuple[str, ...] | None = None
    start_view: PositionView | None = None
    chat_commands: tuple[str, ...] = ()


class May(Outgoing, frozen=True, tag="may", kw_only=True):
    """What the viewer may do now, besides `move` and `claim`, which `turn` permits.

    - `may` holds the types of commands that the room would accept. `sit` and `add_ai` concern each
      empty seat, `remove_ai` each seat that an AI holds. `accept` and `decline` concern the offer
      that is open, `decline` also one's own. `offer_draw` and `rematch` are listed where they
      accept the opponent's offer, too.
    - `see_thinking` is no command: the viewer may see the AI's thinking about the room's match, and
      the searches of its positions (`POST /api/trace`).
    - It is a hint, so that clients need not implement the rules of a room. The server checks each
      command again when it arrives.
    - The server sends it to the players and to the host whenever their list changes: after the
      events that changed it, or when time has passed. Spectators receive their list in `joined`,
      and again when the right to see the thinking begins or ends.
    """

    room: str
    v: int
    may: tuple[str, ...]


class Snapshot(Outgoing, frozen=True, tag="snapshot", kw_only=True):
    """The whole room at version `v`, as this viewer may see it.

    The client applies later events to it.

    `offers` lists the seats with an open offer: of a draw while a match is running, otherwise of a
    rematch. `proposals` lists the other open offers: the requests to take moves back, and the
    proposal of the next game. `thinking` and `help` are the room's settings for its next matches,
    as in `configured`. `muted` lists the people whom the host has muted, `barred` those who may not
    sit here any more. `series` has the points of the players against each other, over all matches
    of the room that have a result. `clock` is the text of the next matches' time control.
    """

    room: str
    v: int
    seats: tuple[Occupant | None, ...]
    match: MatchState | None
    offers: tuple[int, ...] = ()
    chat: tuple[ChatLine, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    thinking: Word = "all"
    help: bool = False
    muted: tuple[Player, ...] = ()
    barred: tuple[Player, ...] = ()
    series: tuple[Score, ...] = ()
    clock: str | None = None


class EventFrame(Outgoing, frozen=True, tag="event"):
    """One event of a room, with the fields of its kind. `at` is in ms since 1970."""

    room: str
    v: int
    at: int


class View(Outgoing, frozen=True, tag="view", kw_only=True):
    """The board at version `v`, the same for every viewer."""

    room: str
    v: int
    match: str
    ply: int
    view: PositionView


class Turn(Outgoing, frozen=True, tag="turn", kw_only=True):
    """The legal moves at version `v`, sent only to the player to move.

    `claim` is the reason for which that player may claim a draw, null when there is none.
    """

    room: str
    v: int
    match: str
    ply: int
    moves: tuple[MoveView, ...]
    claim: str | None = None


class Thinking(Outgoing, frozen=True, tag="thinking", kw_only=True):
    """The state of an AI seat's search. May be dropped.

    - `state` is `absent` when no engine is connected and the match waits for one.
    - `wait` says what a `queued` search waits for, in words: "waits for a free search process". It
      is empty where the wait has only begun.
    - `score` is from that seat's point of view, in the game's units. A forced win is 30000 minus
      the plies to it.
    - `number` is the label of the move that is being searched, as in `moved`.
    - `ready` is the progress of compiling the game, in percent, and null when the game is
      compiled. A game is compiled once per installation.
    - `warming` means that the search is shorter than the level's because the game is not compiled
      yet.
    - A strategy has no `moves`. Its `value` is in its own units, as text; only with the evaluator
      `estimate` is the `score` in the game's units, otherwise it is 1, 0 or -1. `log` is what the
      strategy writes about its search, when it is done: lines of text, at most 16 KiB.
    - The persona `average` has both: its scores are means over the opponent's replies, and its
      `value` says so: "+312 on average". A mean has no chance to win, and proves no forced win.
    - `depths` are the last 32 depths of the search.
    - `assessment` is the search in words. A server of an earlier version omits it.
    - `withheld` is a sentence that says why this viewer may not see the search; it is empty for all
      others. The message then has the state of the search and not its results.
    - `played` is the move that the seat plays after this search, when it is done.
    """

    room: str
    match: str
    ply: int
    seat: int
    state: Literal["absent", "warming", "queued", "searching", "done"]
    depth: int = 0
    score: int = 0
    nodes: int = 0
    nps: int = 0
    time_ms: int = 0
    pv: tuple[str, ...] = ()
    moves: tuple[RootMove, ...] = ()
    number: str = ""
    warming: bool = False
    ready: Annotated[int, Meta(ge=0, le=99)] | None = None
    value: str = ""
    log: str = ""
    counts: Counts = NO_COUNTS
    depths: tuple[DepthBest, ...] = ()
    assessment: Assessment | None = None
    withheld: str = ""
    wait: str = ""
    played: str = ""


class Arrow(Struct, frozen=True):
    """An arrow on the board, along the cells of a move; with a single cell, a mark on it.

    `kind` is `best` for the best move, `other` for another one, and `threat` for a move that the
    opponent would play.
    """

    cells: tuple[str, ...]
    kind: Word = "best"


class Answer(Outgoing, frozen=True, tag="answer", kw_only=True):
    """An answer of the room's bot to the recipient alone. It is not in the log.

    `v` is the version of the line that it answers, or 0. `candidates` are the moves that it names.
    The client draws the `arrows` until the position changes. An answer to no line has its kind in
    `about`: a `hint`, or a comment of the `coach`.
    """

    room: str
    v: int
    text: str
    arrows: tuple[Arrow, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    about: Word = ""


class Presence(Outgoing, frozen=True, tag="presence", kw_only=True):
    """Which seats are connected (an AI seat always is) and how many spectators watch.

    While the opponent of a person has gone from a running match, `gone_ms` has for that seat the
    time until the other player may claim the match, in ms from this message on; 0 means that the
    player has been gone for long enough. It is null for all other seats. The time begins anew when
    the server cannot be sure that it would know of a new connection. It stands still while the
    other player is not in the room either, and while the server heard nobody.

    For players, `elsewhere` has the seats whose people are not connected to the room, but are
    connected to this server: on another page of it, such as the lobby or a replay. That is for
    people to read: the time counts all the same. Spectators do not learn it.

    May be dropped.
    """

    room: str
    seats: tuple[bool, ...]
    watching: int
    gone_ms: tuple[int | None, ...] = ()
    elsewhere: tuple[int, ...] = ()


class Lobby(Outgoing, frozen=True, tag="lobby", kw_only=True):
    """The list of public rooms. May be dropped.

    With `full` true it is the whole list; otherwise `rooms` holds the rooms that changed and `gone`
    the ids of those that left the list.
    """

    full: bool
    rooms: tuple[RoomSummary, ...] = ()
    gone: tuple[str, ...] = ()


class Notification(Outgoing, frozen=True, tag="notification", kw_only=True):
    """What waits for a player in a room that no connection of the player follows. May be dropped.

    The server sends it to all connections of the player whenever it changes. `what` is `turn`, also
    `started` before the first move, `over` when a match has ended, or what the opponent offers:
    `draw`, `takeback`, `rematch` or `next`. It is empty when nothing waits any more, or after the
    first change in the room with the player in it. `text` says it in a sentence. Nothing waits in a
    room against an AI, nor on one screen.
    """

    room: str
    what: Word = ""
    text: str = ""


#: Every message that the server may send, besides events.
ServerMessage = (
    Welcome
    | Ack
    | Error
    | Pong
    | Joined
    | May
    | Snapshot
    | View
    | Turn
    | Thinking
    | Answer
    | Presence
    | Lobby
    | Notification
)
