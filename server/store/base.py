"""The interface of a store, and the guarantees of every backend.

A store has a sub-interface for each kind of data, such as `store.logs` and `store.identities`.
`append` and `create_room` return only after the commit. All that one call writes is committed
together or not at all. The versions `v` of a room count 1, 2, 3, … without a gap. The events of a
command key (room, identity, id) are committed at most once.

All backends pass the same contract tests. Database rows never leave a backend; callers receive the
structs below.
"""

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple, Protocol

from msgspec import Struct

from server.ids import IdentityId, MatchId, RoomId
from server.store.match_filter import EVERY_MATCH, SCAN_LIMIT, Key, MatchFilter, scan_rest

#: The audiences of an event: everyone in the room, spectators only, and the author of a line of
#: chat only. Feeds hide an event from everyone if they do not know its audience.
EVERYONE, SPECTATORS, AUTHOR = 0, 1, 2

#: Longest validity of a heartbeat, in ms: one that expires later was written before the store's
#: clock was set back.
MAX_HEARTBEAT_MS = 60_000
#: The node of a released room; no node has this name.
NO_NODE = ""
#: Maximum number of due rooms that one query returns.
DUE_PAGE = 500


def wall_clock_ms() -> int:
    """Milliseconds since 1970, by this machine's clock."""
    return time.time_ns() // 1_000_000


#: The length of a day, in ms.
DAY_MS = 24 * 3_600_000


def day_of(at_ms: int) -> int:
    """The UTC day of a time, counted from 1970."""
    return at_ms // DAY_MS


def batched(ids: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    """Yields the ids in slices of at most `size`, each short enough for one statement."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


class StoreError(Exception):
    """The store could not carry out the operation; the message says why."""


class Conflict(StoreError):
    """The compare-and-set failed: the room's head is not at the expected version.

    The caller reads the newer events and decides again.
    """


class Duplicate(StoreError):
    """The command was committed earlier; its events are `first_v` to `last_v`."""

    def __init__(self, first_v: int, last_v: int) -> None:
        super().__init__(f"the command was committed as v {first_v} to {last_v}")
        self.first_v = first_v
        self.last_v = last_v


class StoreUnavailable(StoreError):
    """The store failed; a write may or may not be committed.

    The caller looks up its command key to learn which.
    """


class StoreReadOnly(StoreUnavailable):
    """The store answers but takes no writes: it is read-only, or its disk is full."""


class StoreDamaged(StoreUnavailable):
    """The store answers, but a page that the call needs is damaged."""


class Condition(Struct, frozen=True):
    """What a store can do: "read-only" takes no writes, "damaged" has pages that cannot be read.

    `reason` is its last message about that.
    """

    name: Literal["ok", "read-only", "damaged"]
    reason: str = ""


#: The condition of a store that works.
WORKING = Condition("ok")


class StoredEvent(Struct, frozen=True):
    """An entry of a room's log; `body` is the event's JSON, `at_ms` its time in ms since 1970."""

    v: int
    at_ms: int
    audience: int
    body: bytes


class CommandKey(Struct, frozen=True):
    """The idempotency key of a command; unique within its room."""

    identity: str
    id: str


class Listing(Struct, frozen=True):
    """The lobby's entry for a room; `summary` is JSON.

    Only rooms with `listed` are in the lobby's list.
    """

    listed: bool
    summary: bytes


class MatchStarted(Struct, frozen=True):
    """The row of a new match; `options` and `seats` are JSON, `first` and `second` the players (see
    server/store/match_columns.py), `clock` the text of its time control, None for none, and `speed`
    the class of that.
    """

    match: str
    game: str
    number: int
    options: bytes
    seats: bytes
    start: str
    rules: str
    first_v: int
    started_ms: int
    public: bool
    first: str | None = None
    second: str | None = None
    clock: str | None = None
    speed: str | None = None


class MatchFinished(Struct, frozen=True):
    """The result of a match; `over` is JSON. `winner` is that of `match_filter.winner_of`, or None
    as an older program leaves it.
    """

    match: str
    last_v: int
    finished_ms: int
    plies: int
    over: bytes
    winner: int | None


class Thought(Struct, frozen=True):
    """The AI's analysis of its move: `body` is JSON, `v` the move's event."""

    match: str
    v: int
    ply: int
    body: bytes


Projection = Listing | MatchStarted | MatchFinished | Thought


class Append(Struct, frozen=True):
    """Events to append after `expected_v`, with their projections, in one transaction.

    `node` becomes responsible for the room's wake-up at `due_ms`, and no takeover is open any more.
    The store may keep an earlier time: see EARLY_BOUND.
    """

    room: str
    expected_v: int
    events: tuple[StoredEvent, ...]
    node: str
    due_ms: int | None = None
    command: CommandKey | None = None
    projections: tuple[Projection, ...] = ()


#: The wake-up time of a room after an append, in SQL, for the row `{row}` and the values `{new}`.
#: It is the stored time, if that is in the future at the time of the append's last event and not
#: later than the new one; else the new one. So most moves of a match with a clock change no indexed
#: column, and PostgreSQL need not touch the index. A node that wakes the room and finds nothing due
#: calls `reschedule`.
EARLY_BOUND = (
    "CASE WHEN {row}.due_ms > {new}.at_ms AND {row}.due_ms <= {new}.due_ms"
    " THEN {row}.due_ms ELSE {new}.due_ms END"
)

#: Time for which the entry of a room in no list keeps its `changed_ms` when it changes, in ms.
KEPT_CHANGE_MS = 60_000
#: The `changed_ms` of a room's row `{row}` after an append with the entry `{new}`, in SQL: the time
#: of the append, or the stored one if the room is in no list, before and now, and changed within
#: KEPT_CHANGE_MS. So a finished match, the offer of the next one, and what people do in an unlisted
#: room change no indexed column, and PostgreSQL need not touch the index.
ENTRY_CHANGED_MS = (
    "CASE WHEN NOT {row}.listed AND NOT {new}.listed"
    f" AND {{row}}.changed_ms >= {{new}}.changed_ms - {KEPT_CHANGE_MS}"
    " THEN {row}.changed_ms ELSE {new}.changed_ms END"
)


class NewRoom(Struct, frozen=True):
    """A room to create with its first events; only one room is created for (host, create_id)."""

    append: Append
    game: str
    public: bool
    host: str
    create_id: str
    created_ms: int


class RoomHead(Struct, frozen=True):
    """The head of a room's log, the node responsible for its wake-up, and the last day on which the
    room was open (None: never).

    `taken_from` is the node that was responsible before the takeovers since the last event; None
    without one, and after `end_takeover`.
    """

    v: int
    node: str
    due_ms: int | None
    seen_day: int | None = None
    taken_from: str | None = None


class Identity(Struct, frozen=True):
    """An identity that may hold seats, and the last day on which it was seen (None: never).

    `created_ms` is the time of its creation, in ms since 1970; None if it is unknown.
    """

    id: IdentityId
    name: str
    seen_day: int | None = None
    created_ms: int | None = None


class StoredMatch(Struct, frozen=True):
    """A match; `last_v`, `finished_ms`, `plies` and `over` are None while it is running. It is
    `public` if its room is; None, as for an unlisted one, where nobody knows.

    `clock` and `speed` are as in MatchStarted. `speed` is None where an older program started the
    match, until `fill_clocks` has filled in both.
    """

    match: MatchId
    room: RoomId
    game: str
    number: int
    options: bytes
    seats: bytes
    start: str
    rules: str
    first_v: int
    started_ms: int
    last_v: int | None
    finished_ms: int | None
    plies: int | None
    over: bytes | None
    clock: str | None = None
    speed: str | None = None
    public: bool | None = None


class MatchPage(Struct, frozen=True):
    """A page of a list of matches, newest first.

    `rest` is set if a query stopped before it had found a whole page: the list goes on there.
    """

    rows: list[StoredMatch]
    rest: Key | None = None


def match_page(
    found: list[StoredMatch], limit: int, end_ms: int | None, *, is_newer: bool
) -> MatchPage:
    """The page of the matches that a scan found, up to those that finished at `end_ms`.

    A scan for newer matches has found the oldest one first.
    """
    is_cut = end_ms is not None and len(found) < limit
    rest = scan_rest(end_ms, is_newer=is_newer) if is_cut and end_ms is not None else None
    return MatchPage(found[::-1] if is_newer else found, rest)


class StoredRoom(Struct, frozen=True):
    """A room's entry in the lobby; `summary` is JSON.

    `changed_ms` is the time of its last change, or at which it last had a follower; up to
    KEPT_CHANGE_MS before that for a room that is in no list.
    """

    room: RoomId
    summary: bytes
    changed_ms: int


#: The states of an analysis: waiting, running on a node, complete, or failed.
AnalysisState = Literal["queued", "running", "done", "failed"]


class Analysis(Struct, frozen=True):
    """The analysis of a finished match; there is at most one for each match.

    While it is running, `node` has the lease until `lease_ms` by the store's clock. `engine` names
    what the results depend on besides the moves, "" before the analysis has begun. `plies` is the
    number of positions, `done_plies` that of the stored results. `reason` says why it failed.
    """

    match: MatchId
    state: AnalysisState
    asked_by: IdentityId
    asked_ms: int
    node: str
    lease_ms: int
    engine: str
    plies: int
    done_plies: int
    reason: str


class AnalysedPly(Struct, frozen=True):
    """The result for the position of a match after `ply` plies; `body` is JSON."""

    ply: int
    body: bytes


class AnalysisUsage(Struct, frozen=True):
    """The analyses of an identity: those that are queued or running, and those requested lately."""

    unfinished: int
    requested: int


class DaySpan(Struct, frozen=True):
    """The days of an expiry pass: rows last seen before `before_day` expire on day `today`."""

    today: int
    before_day: int


class DueRoom(NamedTuple):
    """A room and its wake-up time in ms since 1970. Due rooms sort by wake-up time."""

    due_ms: int
    room: RoomId


class RoomVersion(NamedTuple):
    """A room and the version of its last event."""

    room: RoomId
    v: int


class TakenRoom(NamedTuple):
    """A room that a node has taken over, and the node before: `taken_from` of its head."""

    room: RoomId
    earlier_node: str


class Rescheduled(NamedTuple):
    """The wake-up time of a room whose last event has the version `v`."""

    room: RoomId
    v: int
    due_ms: int


class LastBeat(NamedTuple):
    """The last heartbeat of a node, in ms since 1970 by the clock with which it gives events their
    times, and whether the node still counts as alive.
    """

    at_ms: int
    is_alive: bool


class ExpiryPage(Struct, frozen=True):
    """The result of one expiry pass over a page of rows.

    `deleted` holds the ids of the deleted rows. `next` is the id of the page's last row, None after
    the last page.
    """

    deleted: tuple[str, ...]
    next: str | None


class LogStore(Protocol):
    """The rooms' logs, with their heads and command keys."""

    async def create_room(self, new: NewRoom) -> str | None:
        """Commits a new room and returns None.

        If (host, create_id) has created a room before, creates none and returns that room's id.
        """

    async def created_room(self, host: str, create_id: str) -> str | None:
        """The id of the room that (host, create_id) created; None if there is none."""

    async def append(self, append: Append) -> None:
        """Commits events. Raises Conflict, Duplicate or StoreUnavailable."""

    async def head(self, room: str) -> RoomHead | None:
        """The head of the room's log; None for a room that does not exist."""

    async def heads(self, rooms: Sequence[str]) -> dict[str, int]:
        """The heads of these rooms, without unknown rooms."""

    async def events(self, room: str, after_v: int, limit: int = 1000) -> list[StoredEvent]:
        """The log entries after `after_v`, in order, at most `limit` of them."""

    async def find_command(self, room: str, key: CommandKey) -> tuple[int, int] | None:
        """The first and last v of the events that a command made; None if it made none."""


class ProjectionStore(Protocol):
    """The tables that an append writes with its events: the lobby's list, the matches, the AI's
    analyses of its moves.
    """

    async def rooms(self, limit: int, since_ms: int = 0) -> list[StoredRoom]:
        """The rooms of the lobby's list that changed or had a follower since then, latest first."""

    async def mark_rooms_followed(self, rooms: Sequence[str], at_ms: int) -> None:
        """Records that these rooms had a follower at that time."""

    async def hosted_rooms(self, host: IdentityId, since_ms: int, limit: int) -> list[StoredRoom]:
        """The rooms that an identity created, listed or not, that changed or had a follower since
        then, latest first.
        """

    async def entries(self, rooms: Sequence[str]) -> list[StoredRoom]:
        """The entries of these rooms, listed or not, as far as they exist."""

    async def player_matches(self, player: str, running: int, finished: int) -> list[StoredMatch]:
        """The matches of a player, public or not: at most that many running and finished ones.

        The running ones come first, each group latest first. `player` is a key as in
        server/store/match_columns.py.
        """

    async def room_matches(self, room: str, limit: int) -> list[StoredMatch]:
        """The last `limit` matches of a room, latest first, running or finished."""

    async def fill_players(self, limit: int) -> int:
        """Fills in the players of at most `limit` matches that an older program started.

        Returns the number of these matches.
        """

    async def fill_winners(self, limit: int) -> int:
        """Does the same for the winners; `matches` filters by the winner before and after."""

    async def fill_clocks(self, limit: int) -> int:
        """Does the same for the time controls and their classes, from the logs of the rooms."""

    async def matches(
        self,
        limit: int,
        before: Key | None,
        wanted: MatchFilter = EVERY_MATCH,
        *,
        after: Key | None = None,
        scan_limit: int = SCAN_LIMIT,
    ) -> MatchPage:
        """Finished public matches with at least one move.

        `before` is the key of the previous page's last match, or its `rest`. With `after` in its
        place, that of a page's first match, the answer has the matches that are next newer. It
        looks at no more than `scan_limit` matches of the player, or of the game, or of all.
        """

    async def match(self, match: MatchId) -> StoredMatch | None:
        """One match, public or not, running or finished."""

    async def thoughts(self, match: MatchId) -> list[Thought]:
        """The AI's analyses of a match's moves, ordered by ply."""


class NodeStore(Protocol):
    """The nodes that are alive, and the rooms that one of them has to wake up."""

    async def take_over_due_rooms(
        self,
        now_ms: int,
        node: str,
        all_nodes: bool,
        limit: int = DUE_PAGE,
        except_for: Collection[RoomVersion] = (),
    ) -> list[TakenRoom]:
        """Makes `node` responsible for due rooms of dead nodes; returns these rooms.

        With `all_nodes`, it takes over those of all other nodes, dead or alive. It leaves out the
        rooms of `except_for` that have had no event since that version. A wake-up that was
        due when the room's last event was written is due even if `now_ms` is earlier: clocks
        differ and may be set back. After a failed call, the result may include rooms for which this
        node is responsible already.

        Which node was responsible before is remembered with the room, also if the next node dies in
        its turn, until an event is appended or `end_takeover` is called.
        """

    async def end_takeover(self, node: str, room: str) -> None:
        """Forgets which node was responsible before, if `node` still is."""

    async def has_due_clock(self, node: str) -> bool:
        """Whether a match with a clock is running in a room of `node` that has a wake-up time."""

    async def reschedule(self, node: str, rooms: Sequence[Rescheduled]) -> None:
        """Writes the wake-up times of rooms of `node`, at most DUE_PAGE of them.

        Leaves out rooms that have had an event since that version.
        """

    async def release_rooms(self, node: str, rooms: Sequence[RoomVersion]) -> None:
        """Lets any other node take over these rooms of `node`, as if `node` were dead.

        There are at most DUE_PAGE of them. Leaves out rooms that have had an event since that
        version.
        """

    async def own_due_rooms(
        self, node: str, before_ms: int, after: DueRoom | None = None, limit: int = DUE_PAGE
    ) -> list[DueRoom]:
        """The rooms for which `node` is responsible and that are due by `before_ms`.

        They are sorted by wake-up time: at most `limit` of those that follow `after`.
        """

    async def heartbeat(self, node: str, alive_for_ms: int, at_ms: int | None = None) -> int:
        """Records that a node is alive for the next `alive_for_ms`, at most MAX_HEARTBEAT_MS.

        `at_ms` is the time by the node's own clock, which `last_beat` gives; None for the store's.
        Returns the store's time in ms since 1970. The heartbeat expires by the store's clock, so
        that nodes whose clocks differ do not declare each other dead.
        """

    async def last_beat(self, node: str) -> LastBeat | None:
        """The last heartbeat of a node; None for an unknown node. That of NO_NODE is the last one
        of all dead nodes: one of them was responsible for a released room before.

        The store remembers a dead node for a day, and for as long as it is responsible for a room
        that has a wake-up time, or one from which such a room was taken over.
        """

    async def alive_nodes(self) -> frozenset[str]:
        """The nodes whose heartbeat has not expired, by the store's clock."""


class AnalysisStore(Protocol):
    """The analyses of finished matches: a queue, leases of the nodes that run them, and results.

    Leases and times are by the store's clock.
    """

    async def usage(self, identity: IdentityId, window_ms: int) -> AnalysisUsage:
        """The analyses of an identity; `requested` counts those of the last `window_ms`."""

    async def request(self, match: MatchId, identity: IdentityId, plies: int) -> bool:
        """Queues the analysis of a match, unless it is queued, running or done.

        Returns whether it queued the analysis.
        """

    async def find(self, match: MatchId) -> Analysis | None:
        """The analysis of a match."""

    async def count_ahead(self, analysis: Analysis) -> int:
        """The number of queued analyses that start before this one, as identities take turns.

        Those that are running do not count.
        """

    async def claim(self, node: str, lease_ms: int, per_identity: int) -> Analysis | None:
        """Makes `node` run a queued analysis, or one whose lease has ended, for `lease_ms` ms.

        Returns it; None if there is none. At most `per_identity` analyses of an identity run at a
        time (0: any number). Identities take turns: first comes the one with the fewest running
        analyses, then the one whose last analysis ended first.
        """

    async def begin(self, analysis: Analysis, engine: str, plies: int) -> bool:
        """Records the engine and the number of positions of an analysis that its node has claimed.

        `done_plies` becomes the number of results of that engine. Returns False if the lease is
        lost.
        """

    async def add_ply(self, analysis: Analysis, result: AnalysedPly, lease_ms: int) -> bool:
        """Stores the result for a ply, unless there is one, and renews the lease.

        Returns False, and stores nothing, if the node no longer runs the analysis.
        """

    async def renew(self, analysis: Analysis, lease_ms: int) -> bool:
        """Renews the lease of an analysis. Returns False if it is lost."""

    async def end(self, analysis: Analysis, state: AnalysisState, reason: str = "") -> bool:
        """Ends a node's run: as done, as failed, or as queued for another node.

        Returns False if the lease is lost.
        """

    async def end_leases(self) -> None:
        """Ends the leases of all nodes: for the start of a node that is the store's only user."""

    async def plies(
        self, match: MatchId, engine: str, before: int | None = None
    ) -> list[AnalysedPly]:
        """The results of an engine for a match, ordered by ply: all, or those before a ply."""


class IdentityStore(Protocol):
    """The identities and the hashes of their tokens."""

    async def add_guest(self, identity: Identity, token_hash: bytes, created_ms: int) -> None:
        """Adds a guest, not yet permanent, who was last seen on the day of `created_ms`."""

    async def by_token(self, token_hash: bytes) -> Identity | None:
        """The identity with a token hash; None if there is none."""

    async def find(self, identity: IdentityId) -> Identity | None:
        """The identity with an id; None if there is none."""

    async def rename(self, identity: IdentityId, name: str) -> None:
        """Changes an identity's name. Existing events keep the old name."""


class ExpiryStore(Protocol):
    """The days on which identities and rooms were last seen, and the deletion of old ones."""

    async def mark_identities_seen(self, identities: Sequence[str], day: int) -> frozenset[str]:
        """Records that the identities were seen on that day; returns the ids that exist."""

    async def mark_permanent(self, identity: IdentityId) -> None:
        """Marks a guest as permanent, before the guest takes a seat or creates a room.

        Does nothing for an unknown identity.
        """

    async def expire_identities(self, after: str, span: DaySpan, limit: int) -> ExpiryPage:
        """Runs one expiry pass over the `limit` identities that follow `after`.

        Deletes guests who are not permanent and were last seen before `span.before_day`. Identities
        that were never seen count as seen on `span.today`.
        """

    async def mark_rooms_seen(self, rooms: Sequence[str], day: int) -> frozenset[str]:
        """Records that the rooms were open on that day; returns the ids that exist."""

    async def expire_rooms(self, after: str, span: DaySpan, limit: int) -> ExpiryPage:
        """Runs one expiry pass over the `limit` rooms that follow `after`.

        Deletes rooms, with their logs, that never had a match and were last seen before
        `span.before_day`. Rooms that were never seen count as seen on `span.today`.
        """


class Store(Protocol):
    """All state that must outlive the process, in a sub-interface for each kind of data."""

    @property
    def epoch(self) -> str:
        """A random token that names the store's history.

        A restore from a backup changes it, which makes clients resync from scratch.
        """

    @property
    def installation(self) -> str:
        """The id of this installation, 16 hexadecimal digits, which no restore changes.

        It is made once, and in every backup. It names what clients keep: cookies, tokens.
        """

    @property
    def logs(self) -> LogStore: ...

    @property
    def projections(self) -> ProjectionStore: ...

    @property
    def nodes(self) -> NodeStore: ...

    @property
    def analyses(self) -> AnalysisStore: ...

    @property
    def identities(self) -> IdentityStore: ...

    @property
    def expiry(self) -> ExpiryStore: ...

    async def bus_key(self) -> bytes:
        """The secret key with which nodes authenticate each other's messages.

        It is random, made at the first call, the same for every node, and sent to no client.
        """

    async def check(self) -> None:
        """Raises StoreUnavailable unless the store answers."""

    def condition(self) -> Condition:
        """What the store can do, as far as the calls of this node have shown lately."""
