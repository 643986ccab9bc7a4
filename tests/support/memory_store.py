"""A store in memory: the fake of the tests, which virtual time can drive because it has no threads.

It passes the same contract tests as the other backends. Each call is atomic, since it does not
await between its changes. The data is lost when the process ends.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import assert_never

from msgspec import structs
from msgspec.structs import replace

from server.ids import IdentityId, MatchId, RoomId
from server.store.base import (
    DUE_PAGE,
    KEPT_CHANGE_MS,
    MAX_HEARTBEAT_MS,
    NO_NODE,
    Append,
    CommandKey,
    Condition,
    Conflict,
    DaySpan,
    DueRoom,
    Duplicate,
    ExpiryPage,
    Identity,
    LastBeat,
    Listing,
    MatchFinished,
    MatchPage,
    MatchStarted,
    NewRoom,
    Projection,
    Rescheduled,
    RoomHead,
    RoomVersion,
    StoredEvent,
    StoredMatch,
    StoredRoom,
    StoreUnavailable,
    TakenRoom,
    Thought,
    day_of,
    match_page,
    wall_clock_ms,
)
from server.store.match_columns import Players, clock_of, latest_matches, players_of
from server.store.match_filter import (
    EVERY_MATCH,
    SCAN_LIMIT,
    Key,
    MatchFilter,
    parse_winner,
    scan_end,
)
from server.store.people import shown_event, shown_identity, shown_match, shown_room
from tests.support.memory_analyses import AnalysisTables, MemoryAnalyses


def entry_changed_ms(was_listed: bool, stored_ms: int, listed: bool, at_ms: int) -> int:
    """The rule of `server.store.base.ENTRY_CHANGED_MS`: the `changed_ms` of a room's row after an
    entry at a time.
    """
    if not was_listed and not listed and stored_ms >= at_ms - KEPT_CHANGE_MS:
        return stored_ms
    return at_ms


def early_bound(stored_ms: int | None, due_ms: int | None, at_ms: int) -> int | None:
    """The rule of `server.store.base.EARLY_BOUND`: the wake-up time of a room after an append."""
    if stored_ms is not None and due_ms is not None and at_ms < stored_ms <= due_ms:
        return stored_ms
    return due_ms


@dataclass(slots=True)
class _Room:
    """A room's row and its log."""

    host: str
    node: str
    due_ms: int | None
    changed_ms: int
    listed: bool = False
    summary: bytes = b"{}"
    seen_day: int | None = None
    taken_from: str | None = None
    events: list[StoredEvent] = field(default_factory=list)
    commands: dict[CommandKey, tuple[int, int]] = field(default_factory=dict)


@dataclass(slots=True)
class MemoryTables:
    """The rows that the sub-interfaces of a store share."""

    rooms: dict[str, _Room] = field(default_factory=dict)
    created: dict[tuple[str, str], str] = field(default_factory=dict)
    matches: dict[str, StoredMatch] = field(default_factory=dict)
    public: set[str] = field(default_factory=set)
    players: dict[str, Players] = field(default_factory=dict)
    #: The winners of finished matches.
    winners: dict[str, int | None] = field(default_factory=dict)
    thoughts: dict[tuple[str, int], Thought] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    tokens: dict[bytes, str] = field(default_factory=dict)
    permanent: set[str] = field(default_factory=set)
    analyses: AnalysisTables = field(default_factory=AnalysisTables)


class MemoryStore:
    """See `server.store.base.Store`."""

    def __init__(self, now_ms: Callable[[], int] = wall_clock_ms) -> None:
        self.epoch = secrets.token_hex(8)
        self.installation = secrets.token_hex(8)
        self.tables = MemoryTables()
        self.logs = MemoryLogs(self.tables)
        self.projections = MemoryProjections(self.tables)
        self.nodes = MemoryNodes(self.tables, now_ms)
        self.analyses = MemoryAnalyses(self.tables.analyses, now_ms)
        self.identities = MemoryIdentities(self.tables)
        self.expiry = MemoryExpiry(self.tables)
        self._bus_key = secrets.token_bytes(32)

    async def bus_key(self) -> bytes:
        await asyncio.sleep(0)
        return self._bus_key

    async def check(self) -> None:
        await asyncio.sleep(0)

    def condition(self) -> Condition:
        return Condition("ok")


class MemoryLogs:
    """See `server.store.base.LogStore`."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._matches = tables.matches
        self._rooms = tables.rooms

    async def create_room(self, new: NewRoom) -> str | None:
        await asyncio.sleep(0)
        earlier = self._tables.created.get((new.host, new.create_id))
        if earlier is not None:
            return earlier
        append = new.append
        if append.room in self._rooms:
            raise Conflict(f"room {append.room} exists already")
        self._refuse_duplicate_rows(append)
        self._tables.created[new.host, new.create_id] = append.room
        self._rooms[append.room] = _Room(new.host, append.node, append.due_ms, new.created_ms)
        self._write(append)
        return None

    async def append(self, append: Append) -> None:
        await asyncio.sleep(0)
        room = self._rooms.get(append.room)
        if room is None or len(room.events) != append.expected_v:
            raise Conflict(f"room {append.room} is not at v {append.expected_v}")
        if append.command is not None and append.command in room.commands:
            raise Duplicate(*room.commands[append.command])
        self._refuse_duplicate_rows(append)
        self._write(append)

    def _refuse_duplicate_rows(self, append: Append) -> None:
        for projection in append.projections:
            is_duplicate_match = (
                isinstance(projection, MatchStarted) and projection.match in self._matches
            )
            is_duplicate_thought = (
                isinstance(projection, Thought)
                and (projection.match, projection.v) in self._tables.thoughts
            )
            if is_duplicate_match or is_duplicate_thought:
                raise Conflict(f"the store has match {projection.match} already")  # type: ignore[union-attr]

    def _write(self, append: Append) -> None:
        room = self._rooms[append.room]
        room.events += append.events
        room.node, room.taken_from = append.node, None
        room.due_ms = early_bound(room.due_ms, append.due_ms, append.events[-1].at_ms)
        if append.command is not None:
            room.commands[append.command] = (
                append.expected_v + 1,
                append.expected_v + len(append.events),
            )
        for projection in append.projections:
            self._project(append.room, projection, append.events[-1].at_ms)

    def _project(self, room: str, projection: Projection, at_ms: int) -> None:
        match projection:
            case Listing(listed, summary):
                row = self._rooms[room]
                row.changed_ms = entry_changed_ms(row.listed, row.changed_ms, listed, at_ms)
                row.listed, row.summary = listed, summary
            case MatchStarted() as m:
                self._matches[m.match] = StoredMatch(
                    MatchId(m.match), RoomId(room), m.game, m.number, m.options, m.seats, m.start,
                    m.rules, m.first_v, m.started_ms,
                    last_v=None, finished_ms=None, plies=None, over=None,
                    clock=m.clock, speed=m.speed, public=m.public,
                )  # fmt: skip
                self._tables.players[m.match] = Players(m.first, m.second)
                if m.public:
                    self._tables.public.add(m.match)
            case MatchFinished() as m:
                if m.match in self._matches:
                    self._matches[m.match] = replace(
                        self._matches[m.match],
                        last_v=m.last_v,
                        finished_ms=m.finished_ms,
                        plies=m.plies,
                        over=m.over,
                    )
                    self._tables.winners[m.match] = m.winner
            case Thought() as thought:
                self._tables.thoughts[thought.match, thought.v] = thought
            case _:
                assert_never(projection)

    async def created_room(self, host: str, create_id: str) -> str | None:
        await asyncio.sleep(0)
        return self._tables.created.get((host, create_id))

    async def head(self, room: str) -> RoomHead | None:
        await asyncio.sleep(0)
        row = self._rooms.get(room)
        if row is None:
            return None
        return RoomHead(len(row.events), row.node, row.due_ms, row.seen_day, row.taken_from)

    async def heads(self, rooms: Sequence[str]) -> dict[str, int]:
        await asyncio.sleep(0)
        return {room: len(self._rooms[room].events) for room in rooms if room in self._rooms}

    async def events(self, room: str, after_v: int, limit: int = 1000) -> list[StoredEvent]:
        await asyncio.sleep(0)
        row = self._rooms.get(room)
        return (
            [shown_event(event) for event in row.events[after_v : after_v + limit]] if row else []
        )

    async def find_command(self, room: str, key: CommandKey) -> tuple[int, int] | None:
        await asyncio.sleep(0)
        row = self._rooms.get(room)
        return row.commands.get(key) if row else None


class MemoryProjections:
    """See `server.store.base.ProjectionStore`."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._matches = tables.matches

    async def rooms(self, limit: int, since_ms: int = 0) -> list[StoredRoom]:
        await asyncio.sleep(0)
        return self._entries(lambda row: row.listed and row.changed_ms >= since_ms)[:limit]

    async def mark_rooms_followed(self, rooms: Sequence[str], at_ms: int) -> None:
        await asyncio.sleep(0)
        for room_id in rooms:
            if room_id in self._tables.rooms:
                row = self._tables.rooms[room_id]
                row.changed_ms = max(row.changed_ms, at_ms)

    async def hosted_rooms(self, host: IdentityId, since_ms: int, limit: int) -> list[StoredRoom]:
        await asyncio.sleep(0)
        return self._entries(lambda row: row.host == host and row.changed_ms >= since_ms)[:limit]

    async def entries(self, rooms: Sequence[str]) -> list[StoredRoom]:
        await asyncio.sleep(0)
        wanted = frozenset(rooms)
        return [each for each in self._entries(lambda row: True) if each.room in wanted]

    def _entries(self, is_wanted: Callable[[_Room], bool]) -> list[StoredRoom]:
        """The entries of the wanted rooms, latest first."""
        entries = [
            shown_room(StoredRoom(RoomId(room_id), row.summary, row.changed_ms))
            for room_id, row in self._tables.rooms.items()
            if is_wanted(row)
        ]
        return sorted(entries, key=lambda room: -room.changed_ms)

    async def player_matches(self, player: str, running: int, finished: int) -> list[StoredMatch]:
        await asyncio.sleep(0)
        own = [
            match
            for match_id, match in self._matches.items()
            if player in structs.astuple(self._tables.players[match_id])
        ]
        return latest_matches(map(shown_match, own), running, finished)

    async def room_matches(self, room: str, limit: int) -> list[StoredMatch]:
        await asyncio.sleep(0)
        own = [match for match in self._matches.values() if match.room == room]
        latest = sorted(own, key=lambda match: -match.number)[:limit]
        return [shown_match(match) for match in latest]

    async def fill_players(self, limit: int) -> int:
        await asyncio.sleep(0)
        players = self._tables.players
        empty = [match_id for match_id in self._matches if players[match_id].first is None][:limit]
        for match_id in empty:
            players[match_id] = players_of(self._matches[match_id].seats)
        return len(empty)

    async def fill_winners(self, limit: int) -> int:
        await asyncio.sleep(0)
        winners = self._tables.winners
        unfilled = [match_id for match_id, winner in winners.items() if winner is None][:limit]
        for match_id in unfilled:
            winners[match_id] = self._winner(match_id)
        return len(unfilled)

    async def fill_clocks(self, limit: int) -> int:
        await asyncio.sleep(0)
        unfilled = [match for match in self._matches.values() if match.speed is None][:limit]
        for match in unfilled:
            clock = clock_of(self._tables.rooms[match.room].events[match.first_v - 1].body)
            self._matches[match.match] = replace(match, clock=clock.text, speed=clock.speed)
        return len(unfilled)

    def _winner(self, match_id: str) -> int:
        """The winner of a finished match."""
        winner = self._tables.winners[match_id]
        return parse_winner(self._matches[match_id].over or b"") if winner is None else winner

    async def matches(
        self,
        limit: int,
        before: Key | None,
        wanted: MatchFilter = EVERY_MATCH,
        *,
        after: Key | None = None,
        scan_limit: int = SCAN_LIMIT,
    ) -> MatchPage:
        await asyncio.sleep(0)
        rows = {
            (row.finished_ms, row.match): row
            for row in self._matches.values()
            if row.finished_ms is not None and wanted.is_dated(row.finished_ms)
        }
        is_newer = after is not None
        order = sorted(rows, reverse=not is_newer)
        if after is not None:
            order = [key for key in order if key > after]
        elif before is not None:
            order = [key for key in order if key < before]
        ends = [
            next((key[0] for key in islice(found, scan_limit, None)), None)
            for found in self._indexed(wanted, order)
        ]
        end_ms = scan_end(ends, before, after)
        if end_ms is not None:
            order = [key for key in order if (key[0] < end_ms if is_newer else key[0] > end_ms)]
        found = [shown_match(rows[key]) for key in order if self._is_listed(rows[key], wanted)]
        return match_page(found[:limit], limit, end_ms, is_newer=is_newer)

    def _indexed(self, wanted: MatchFilter, order: Sequence[Key]) -> list[Iterator[Key]]:
        """The keys that each index of a query has, in this order."""
        tables = self._tables
        if wanted.player is not None:
            return [
                (key for key in order if getattr(tables.players[key[1]], seat) == wanted.player)
                for seat in ("first", "second")
            ]
        if wanted.game is not None:
            return [(key for key in order if self._matches[key[1]].game == wanted.game)]
        return [(key for key in order if key[1] in tables.public)]

    def _is_listed(self, row: StoredMatch, wanted: MatchFilter) -> bool:
        """Whether a finished match is in the list."""
        players = structs.astuple(self._tables.players[row.match])
        return (
            bool(row.plies)
            and (
                row.match in self._tables.public
                or (wanted.player is not None and wanted.viewer in players)
            )
            and wanted.accepts(
                row.game,
                players,
                self._winner(row.match),
                row.plies or 0,
                row.finished_ms or 0,
                row.speed,
            )
        )

    async def match(self, match: MatchId) -> StoredMatch | None:
        await asyncio.sleep(0)
        row = self._matches.get(match)
        return shown_match(row) if row is not None else None

    async def thoughts(self, match: MatchId) -> list[Thought]:
        await asyncio.sleep(0)
        return sorted(
            (thought for thought in self._tables.thoughts.values() if thought.match == match),
            key=lambda thought: thought.ply,
        )


class MemoryNodes:
    """See `server.store.base.NodeStore`."""

    def __init__(self, tables: MemoryTables, now_ms: Callable[[], int]) -> None:
        self.now_ms = now_ms
        self._tables = tables
        self._alive_until_ms: dict[str, int] = {}
        self._beats_ms: dict[str, int] = {}

    async def take_over_due_rooms(
        self,
        now_ms: int,
        node: str,
        all_nodes: bool,
        limit: int = DUE_PAGE,
        except_for: Collection[RoomVersion] = (),
    ) -> list[TakenRoom]:
        await asyncio.sleep(0)
        alive = self._alive()
        taken_over: list[TakenRoom] = []
        for room_id, room in self._tables.rooms.items():
            is_due = room.due_ms is not None and room.due_ms <= max(now_ms, room.events[-1].at_ms)
            if (
                is_due
                and room.node != node
                and (room_id, len(room.events)) not in except_for
                and (all_nodes or room.node not in alive)
                and len(taken_over) < limit
            ):
                room.taken_from = room.node if room.taken_from is None else room.taken_from
                taken_over.append(TakenRoom(RoomId(room_id), room.taken_from))
                room.node = node
        return taken_over

    async def end_takeover(self, node: str, room: str) -> None:
        await asyncio.sleep(0)
        row = self._tables.rooms.get(room)
        if row is not None and row.node == node:
            row.taken_from = None

    async def has_due_clock(self, node: str) -> bool:
        await asyncio.sleep(0)
        rooms = self._tables.rooms
        return any(
            match.finished_ms is None
            and match.clock is not None
            and rooms[match.room].node == node
            and rooms[match.room].due_ms is not None
            for match in self._tables.matches.values()
        )

    async def reschedule(self, node: str, rooms: Sequence[Rescheduled]) -> None:
        await asyncio.sleep(0)
        for room_id, v, due_ms in rooms:
            room = self._tables.rooms[room_id]
            if room.node == node and len(room.events) == v:
                room.due_ms = due_ms

    async def release_rooms(self, node: str, rooms: Sequence[RoomVersion]) -> None:
        await asyncio.sleep(0)
        for room_id, v in rooms:
            room = self._tables.rooms[room_id]
            if room.node == node and len(room.events) == v:
                room.node = NO_NODE

    async def own_due_rooms(
        self, node: str, before_ms: int, after: DueRoom | None = None, limit: int = DUE_PAGE
    ) -> list[DueRoom]:
        await asyncio.sleep(0)
        due = sorted(
            DueRoom(room.due_ms, RoomId(room_id))
            for room_id, room in self._tables.rooms.items()
            if room.node == node and room.due_ms is not None and room.due_ms <= before_ms
        )
        return [room for room in due if after is None or room > after][:limit]

    async def heartbeat(self, node: str, alive_for_ms: int, at_ms: int | None = None) -> int:
        await asyncio.sleep(0)
        now_ms = self.now_ms()
        self._alive_until_ms[node] = now_ms + min(alive_for_ms, MAX_HEARTBEAT_MS)
        self._beats_ms[node] = now_ms if at_ms is None else at_ms
        return now_ms

    def forget_heartbeats(self) -> None:
        """Loses the heartbeats of all nodes, as a restored database has none."""
        self._alive_until_ms.clear()
        self._beats_ms.clear()

    async def last_beat(self, node: str) -> LastBeat | None:
        await asyncio.sleep(0)
        alive, beats_ms = self._alive(), self._beats_ms
        meant = beats_ms.keys() - alive if node == NO_NODE else beats_ms.keys() & {node}
        last = max(meant, key=self._alive_until_ms.__getitem__, default=None)
        return None if last is None else LastBeat(beats_ms[last], last in alive)

    async def alive_nodes(self) -> frozenset[str]:
        await asyncio.sleep(0)
        return self._alive()

    def _alive(self) -> frozenset[str]:
        now_ms = self.now_ms()
        return frozenset(
            node
            for node, alive_until_ms in self._alive_until_ms.items()
            if now_ms <= alive_until_ms <= now_ms + MAX_HEARTBEAT_MS
        )


class MemoryIdentities:
    """See `server.store.base.IdentityStore`."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._identities = tables.identities

    async def add_guest(self, identity: Identity, token_hash: bytes, created_ms: int) -> None:
        await asyncio.sleep(0)
        if identity.id in self._identities or token_hash in self._tables.tokens:
            raise StoreUnavailable("the identity or its token exists already")
        self._identities[identity.id] = replace(
            identity, seen_day=day_of(created_ms), created_ms=created_ms
        )
        self._tables.tokens[token_hash] = identity.id

    async def by_token(self, token_hash: bytes) -> Identity | None:
        await asyncio.sleep(0)
        key = self._tables.tokens.get(token_hash)
        return shown_identity(self._identities[key]) if key is not None else None

    async def find(self, identity: IdentityId) -> Identity | None:
        await asyncio.sleep(0)
        row = self._identities.get(identity)
        return shown_identity(row) if row is not None else None

    async def rename(self, identity: IdentityId, name: str) -> None:
        await asyncio.sleep(0)
        if identity in self._identities:
            self._identities[identity] = replace(self._identities[identity], name=name)


class MemoryExpiry:
    """See `server.store.base.ExpiryStore`."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._identities = tables.identities
        self._rooms = tables.rooms

    async def mark_identities_seen(self, identities: Sequence[str], day: int) -> frozenset[str]:
        await asyncio.sleep(0)
        known = frozenset(identities) & self._identities.keys()
        for key in known:
            before = self._identities[key]
            self._identities[key] = replace(before, seen_day=_later_day(before.seen_day, day))
        return known

    async def mark_permanent(self, identity: IdentityId) -> None:
        await asyncio.sleep(0)
        if identity in self._identities:
            self._tables.permanent.add(identity)

    async def expire_identities(self, after: str, span: DaySpan, limit: int) -> ExpiryPage:
        await asyncio.sleep(0)
        page = sorted(key for key in self._identities if key > after)[:limit]
        deleted = set()
        for key in page:
            identity = self._identities[key]
            if key in self._tables.permanent:
                continue
            if identity.seen_day is None:
                self._identities[key] = replace(identity, seen_day=span.today)
            elif identity.seen_day < span.before_day:
                deleted.add(key)
                del self._identities[key]
        self._tables.tokens = {
            token: key for token, key in self._tables.tokens.items() if key not in deleted
        }
        return ExpiryPage(tuple(sorted(deleted)), page[-1] if len(page) == limit else None)

    async def mark_rooms_seen(self, rooms: Sequence[str], day: int) -> frozenset[str]:
        await asyncio.sleep(0)
        known = frozenset(rooms) & self._rooms.keys()
        for room in known:
            self._rooms[room].seen_day = _later_day(self._rooms[room].seen_day, day)
        return known

    async def expire_rooms(self, after: str, span: DaySpan, limit: int) -> ExpiryPage:
        await asyncio.sleep(0)
        page = sorted(room_id for room_id in self._rooms if room_id > after)[:limit]
        rooms_with_match = {match.room for match in self._tables.matches.values()}
        deleted = []
        for room_id in page:
            room = self._rooms[room_id]
            if room_id in rooms_with_match:
                continue
            if room.seen_day is None:
                room.seen_day = span.today
            elif room.seen_day < span.before_day:
                deleted.append(room_id)
                del self._rooms[room_id]
        self._tables.created = {
            key: room for key, room in self._tables.created.items() if room in self._rooms
        }
        return ExpiryPage(tuple(deleted), page[-1] if len(page) == limit else None)


def _later_day(day: int | None, other: int) -> int:
    return other if day is None else max(day, other)
