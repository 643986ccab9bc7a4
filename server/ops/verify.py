"""Checks a store against itself: complete logs, legal moves, and rows that match their logs.

The check plays every move again by the rules, so it finds the damage that a bad disk, a manual
repair or a bug in the server has done. It only counts moves that it cannot check, because the rules
of the match have changed or its game is missing. In a room that a newer version has written to,
only what comes before that version's first event can be checked, and not the rows beside the log.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Connection, LargeBinary, and_, func, or_, select

from engine.game import Game, GameError, GameFault, Outcome, Position
from server.codes import Code
from server.events import (
    Finished,
    Moved,
    RoomEvent,
    Started,
    TookBack,
    Unknown,
    parse_event_body,
)
from server.ids import RoomId
from server.ops.clocks import faults_of
from server.protocol import messages as wire
from server.protocol.notifications import open_offers
from server.rooms import rules
from server.rooms.model import Match, Room
from server.runtime.projections import log_entry, projections
from server.store import tables as t
from server.store.base import KEPT_CHANGE_MS, Listing, MatchFinished, MatchStarted, StoredEvent
from server.store.people import shown_json
from server.time_controls import UNTIMED

#: Number of rooms in one batch.
BATCH = 200

#: The columns of a match that hold JSON.
MATCH_BODIES = [c.name for c in t.matches.columns if isinstance(c.type, LargeBinary)]

#: Returns the game with an id, or raises UnknownGame.
FindGame = Callable[[str], Game]


class Problem(msgspec.Struct, frozen=True):
    """An inconsistency in the data of a room. `check` is the code of the violated invariant (see
    tests/oracle/history.py), and `v` the event in the room's log, if any.
    """

    check: str
    room: str
    v: int | None
    problem: str


@dataclass
class Report:
    """The result of checking a whole store."""

    rooms: int = 0
    events: int = 0
    moves: int = 0
    #: Moves that were not checked, because this program does not have the rules of the match, or
    #: because a newer version wrote to the room before.
    unjudged: int = 0
    #: Rooms with events, or with fields of events, that this version does not know.
    newer: int = 0
    problems: list[Problem] = field(default_factory=list)


@dataclass
class _Rows:
    """All rows of one room."""

    row: Any
    events: list[Any] = field(default_factory=list)
    commands: list[Any] = field(default_factory=list)
    matches: dict[str, Any] = field(default_factory=dict)
    thoughts: list[Any] = field(default_factory=list)


def verify(
    connection: Connection, find_game: FindGame, report_progress: Callable[[int, int], None]
) -> Report:
    """Checks every room of a snapshot, and that each row belongs to a room or match that exists."""
    report = Report()
    for batch in _batches(connection):
        for rows in batch:
            _RoomCheck(rows, find_game, report).run()
            report.rooms += 1
        report_progress(report.rooms, 0)
    _check_orphans(connection, report)
    _check_analyses(connection, report)
    return report


def _batches(connection: Connection) -> Iterator[list[_Rows]]:
    """Yields the rooms with their rows, in the order of their ids."""
    c = t.rooms.c
    last: str | None = None
    while True:
        query = select(t.rooms).order_by(c.id).limit(BATCH)
        rooms = {
            row.id: _Rows(row)
            for row in connection.execute(query if last is None else query.where(c.id > last))
        }
        if not rooms:
            return
        last = list(rooms)[-1]
        events, commands = t.events.c, t.commands.c
        matches, thoughts = t.matches.c, t.thoughts.c
        for row in connection.execute(
            select(t.events).where(events.room.in_(rooms)).order_by(events.room, events.v)
        ):
            rooms[row.room].events.append(row)
        for row in connection.execute(
            select(t.commands).where(commands.room.in_(rooms)).order_by(commands.first_v)
        ):
            rooms[row.room].commands.append(row)
        room_of_match = {}
        for row in connection.execute(select(t.matches).where(matches.room.in_(rooms))):
            rooms[row.room].matches[row.id] = row
            room_of_match[row.id] = row.room
        for row in connection.execute(
            select(thoughts.match, thoughts.v, thoughts.ply)
            .join(t.matches, matches.id == thoughts.match)
            .where(matches.room.in_(rooms))
            .order_by(thoughts.match, thoughts.v)
        ):
            rooms[room_of_match[row.match]].thoughts.append(row)
        yield list(rooms.values())


def _check_orphans(connection: Connection, report: Report) -> None:
    """Reports rows whose room or match does not exist."""
    for column, owner, description in (
        (t.events.c.room, t.rooms.c.id, "events of a room"),
        (t.commands.c.room, t.rooms.c.id, "commands of a room"),
        (t.matches.c.room, t.rooms.c.id, "matches of a room"),
        (t.thoughts.c.match, t.matches.c.id, "thoughts about a match"),
        (t.analyses.c.match, t.matches.c.id, "an analysis of a match"),
        (t.analysis_plies.c.match, t.analyses.c.match, "results of an analysis"),
    ):
        for name in _orphaned_keys(connection, column, owner):
            report.problems.append(Problem("I3", name, None, f"{description} that does not exist"))


def _check_analyses(connection: Connection, report: Report) -> None:
    """Reports analyses of running matches, and complete ones without a result for each position."""
    c, plies = t.analyses.c, t.analysis_plies.c
    count = (
        select(func.count())
        .where(plies.match == c.match, plies.engine == c.engine)
        .correlate(t.analyses)
        .scalar_subquery()
    )
    query = (
        select(c.match, t.matches.c.room, c.plies, count, t.matches.c.last_v)
        .join(t.matches, t.matches.c.id == c.match)
        .where(or_(t.matches.c.last_v.is_(None), and_(c.state == "done", count != c.plies)))
        .order_by(c.match)
    )
    for match, room, expected, found, last_v in connection.execute(query):
        problem = f"the analysis of match {match} has {found} of {expected} positions"
        if last_v is None:
            problem = f"the running match {match} has an analysis"
        report.problems.append(Problem("I32", room, None, problem))


def _orphaned_keys(connection: Connection, column: Any, owner: Any) -> list[str]:
    """The keys in a column that are not in the column of their owner."""
    query = select(column).where(column.not_in(select(owner))).distinct().order_by(column)
    return [str(row[0]) for row in connection.execute(query)]


class _RoomCheck:
    """Folds one room's log and compares the room's rows with the result."""

    def __init__(self, rows: _Rows, find_game: FindGame, report: Report) -> None:
        self._rows = rows
        self._find_game = find_game
        self._report = report
        self._id: str = rows.row.id
        self._room: Room | None = None
        #: The game with which the room was created, which its row has.
        self._first_game = ""
        #: Whether an event has fields that this version does not know.
        self._has_newer_fields = False
        self._moves: dict[tuple[str, int], Moved] = {}
        self._started: dict[str, MatchStarted] = {}
        self._finished: dict[str, MatchFinished] = {}
        self._listing: tuple[Listing, int] | None = None
        #: The offers that the room's entries have had since a match began or ended: then every
        #: program writes the entry.
        self._offers: set[tuple[wire.OpenOffer, ...]] = {()}

    def _add_problem(self, check: str, problem: str, v: int | None = None) -> None:
        """Adds a problem to the report."""
        self._report.problems.append(Problem(check, self._id, v, problem))

    def run(self) -> None:
        """Checks the room."""
        events = self._rows.events
        self._report.events += len(events)
        numbers = [row.v for row in events]
        if numbers != list(range(1, len(events) + 1)):
            missing = next((n for n, v in enumerate(numbers, 1) if v != n), len(numbers) + 1)
            self._add_problem("I3", f"the log has no entry {missing} but has later ones", missing)
            return
        if self._rows.row.head != len(events):
            self._add_problem(
                "I3", f"the head is {self._rows.row.head}, the log ends at {len(events)}"
            )
        ranges = self._command_ranges()
        is_readable = self._fold(ranges)
        if self._is_newer or self._has_newer_fields:
            self._report.newer += 1
        elif is_readable:
            self._check_row()
            self._check_matches()
            self._check_thoughts()

    @property
    def _is_newer(self) -> bool:
        """Whether a newer version has written to the room, as far as it is folded."""
        return self._room is not None and self._room.frozen is Code.ROOM_NEWER

    def _command_ranges(self) -> list[tuple[int, int]]:
        """The range of versions that each command wrote.

        Together the ranges must cover the log without gap or overlap.
        """
        end, ranges = 0, []
        for row in self._rows.commands:
            key = f"command {row.id!r} of {row.identity!r}"
            if not 1 <= row.first_v <= row.last_v <= len(self._rows.events):
                self._add_problem(
                    "I1", f"{key} made v {row.first_v} to {row.last_v}, which are not in the log"
                )
            elif row.first_v <= end:
                self._add_problem(
                    "I1",
                    f"{key} made v {row.first_v} to {row.last_v}, which another command made",
                    row.first_v,
                )
            else:
                if row.first_v > end + 1:
                    self._add_problem(
                        "I1", f"no command made v {end + 1} to {row.first_v - 1}", end + 1
                    )
                    ranges.append((end + 1, row.first_v - 1))
                ranges.append((row.first_v, row.last_v))
                end = row.last_v
        if end < len(self._rows.events):
            self._add_problem(
                "I1", f"no command made v {end + 1} to {len(self._rows.events)}", end + 1
            )
            ranges.append((end + 1, len(self._rows.events)))
        return ranges

    def _fold(self, ranges: Sequence[tuple[int, int]]) -> bool:
        """Applies the log, one command at a time. Returns False if an entry cannot be read."""
        for first_v, last_v in ranges:
            events: list[RoomEvent] = []
            for row in self._rows.events[first_v - 1 : last_v]:
                try:
                    event = parse_event_body(row.body)
                    self._apply(row, event)
                except (msgspec.DecodeError, ValueError) as error:
                    self._add_problem("I8", f"the entry cannot be read: {error}", row.v)
                    return False
                events.append(_shown(event, row.body))
            assert self._room is not None, "the first entry creates it"
            for change in projections(self._room, events, None):
                match change:
                    case Listing():
                        self._listing = (change, self._rows.events[last_v - 1].at_ms)
                        if any(isinstance(event, Started | Finished) for event in events):
                            self._offers = {()}
                        self._offers.add(open_offers(self._room))
                    case MatchStarted():
                        self._started[change.match] = change
                    case MatchFinished():
                        self._finished[change.match] = change
                    case _:
                        raise AssertionError("no analysis is passed")
        return bool(self._rows.events)

    def _apply(self, row: Any, event: RoomEvent) -> None:
        """Applies one entry and checks it."""
        before, shown = self._room, _shown(event, row.body)
        if before is None:
            self._room = rules.initial_room(RoomId(self._id), shown, row.at_ms, self._find_game)
            self._first_game = self._room.game_id
        else:
            if row.at_ms < before.changed_ms:
                self._add_problem("I3", "its time is before that of the previous entry", row.v)
            self._room = rules.evolve(before, shown, row.at_ms, self._find_game)
            self._check_event(before, event, row.v)
            if not self._is_newer:
                self._check_clock(before, event, row)
        stored = StoredEvent(row.v, row.at_ms, row.audience, row.body)
        if not self._is_newer and not _has_all_fields(event, msgspec.json.decode(row.body)):
            self._has_newer_fields = True
        elif not self._is_newer and log_entry(self._room, event, row.at_ms) != stored:
            self._add_problem("I8", "the entry differs from what this version writes", row.v)

    # --- the moves ---

    def _check_event(self, before: Room, event: RoomEvent, v: int) -> None:
        """Checks an event against the room before it."""
        match = before.match
        if isinstance(event, Moved):
            self._moves[event.match, v] = event
            self._report.moves += 1
        if self._is_newer:
            self._report.unjudged += isinstance(event, Moved)
            return
        if isinstance(event, Moved):
            if match is None or before.running_match is None or match.id != event.match:
                self._add_problem("I9", "a move in a match that is not running", v)
            elif match.position is None:
                self._report.unjudged += 1
            else:
                self._check_move(match, match.position, event, v)
        if isinstance(event, TookBack):
            self._check_takeback(before, event, v)
        if isinstance(event, Finished) and (
            match is None or match.id != event.match or match.over is not None
        ):
            self._add_problem("I11", "a match ends that is not running", v)

    def _check_clock(self, before: Room, event: RoomEvent, row: Any) -> None:
        """Checks that the times of an event follow from those before it."""
        for fault in faults_of(before, event, row.at_ms):
            self._add_problem("I23", fault, row.v)

    def _check_takeback(self, before: Room, event: TookBack, v: int) -> None:
        """Checks that moves of the running match are taken back, to the position of the event.

        `_check_event` is called after the fold, which freezes the room in another position.
        """
        match, room = before.running_match, self._room
        if match is None or match.id != event.match or not 0 <= event.to_ply < match.ply:
            self._add_problem("I18", f"nothing can be taken back to ply {event.to_ply}", v)
            return
        position = match.position
        is_judged = position is not None and match.rules == position.game.digest
        if is_judged and room is not None and room.frozen is not None:
            self._add_problem(
                "I18", f"ply {event.to_ply} has another position than the log says", v
            )

    def _check_move(self, match: Match, position: Position, event: Moved, v: int) -> None:
        """Plays a move again by the rules."""
        try:
            token, after, outcome = position.advance(event.move)
        except GameFault as fault:
            self._add_problem("I9", f"the rules failed on the move {event.move}: {fault}", v)
            return
        except GameError as error:
            if match.rules == position.game.digest:
                self._add_problem("I9", f"the move {event.move} is illegal: {error}", v)
            else:
                self._report.unjudged += 1
            return
        if (event.seat, event.ply) != (position.turn, match.ply):
            self._add_problem("I9", f"it is the turn of seat {position.turn} at ply {match.ply}", v)
        if match.rules != position.game.digest:
            return  # the fold compares the digests and decides whether the match can continue
        if token != event.move or after.digest() != event.digest:
            self._add_problem(
                "I9", f"the move {event.move} leads to another position than the log says", v
            )
        if outcome is not None:
            self._check_end(match, outcome, v)

    def _check_end(self, match: Match, outcome: Outcome, v: int) -> None:
        """Checks that a move that ends the match by the rules is followed by `finished`."""
        next_event: Any = None
        if v < len(self._rows.events):
            try:
                next_event = parse_event_body(self._rows.events[v].body)
            except msgspec.DecodeError:
                return  # reported at that entry
        if isinstance(next_event, Unknown):
            return
        if not isinstance(next_event, Finished) or (
            next_event.match,
            next_event.winner,
            next_event.how,
        ) != (
            match.id,
            outcome.winner,
            "board",
        ):
            self._add_problem(
                "I11",
                f"the match is over on the board (winner: {outcome.winner}),"
                " but the log does not say so",
                v + 1,
            )
        elif next_event.points not in (None, outcome.points):  # nodes of older versions write none
            self._add_problem(
                "I11", f"the points are {next_event.points}, by the rules {outcome.points}", v + 1
            )

    # --- the rows beside the log ---

    def _check_row(self) -> None:
        """Compares the room's own row."""
        room, row = self._room, self._rows.row
        assert room is not None, "the log was folded"
        expected: dict[str, Any] = {
            "game": self._first_game, "public": room.visibility == "public", "host": room.host,
            "created_ms": room.created_ms,
        }  # fmt: skip
        # The time of a forced pass depends on a setting, and older versions wrote another time.
        if room.frozen is None and room.forced_pass() is None:
            due_ms = room.due_ms(pass_after_ms=0)
            # That of a clock may be earlier: see EARLY_BOUND in server/store/base.py.
            is_early = due_ms is not None and row.due_ms is not None and row.due_ms < due_ms
            if not (is_early and room.flag_ms() == due_ms):
                expected["due_ms"] = due_ms
        if self._listing is not None:
            listing, at_ms = self._listing
            expected |= {"listed": listing.listed}
            # Later while the room has followers, and earlier where `ENTRY_CHANGED_MS` keeps it.
            if row.changed_ms < at_ms - (0 if row.listed else KEPT_CHANGE_MS):
                expected |= {"changed_ms": at_ms}
            if not _is_same_entry(row.summary, listing.summary, self._offers):
                self._add_problem("I8", "its entry in the lobby does not follow from its log")
        self._compare("the room's row", row, expected)

    def _check_matches(self) -> None:
        """Compares the rows of the room's matches."""
        for match_id in self._rows.matches.keys() - self._started.keys():
            self._add_problem("I8", f"match {match_id} is listed but not in the log")
        for match_id, start in self._started.items():
            row = self._rows.matches.get(match_id)
            if row is None:
                self._add_problem(
                    "I8", f"match {match_id} is not in the list of matches", start.first_v
                )
                continue
            expected = _match_row(start, self._finished.get(match_id))
            # An older program does not write these columns; they are filled in later.
            for group in t.FILLED_LATER:
                if getattr(row, group[0]) is None:
                    expected |= dict.fromkeys(group)
            bodies = {name: expected.pop(name) for name in MATCH_BODIES}
            self._compare(f"match {match_id}", row, expected)
            for name, body in bodies.items():
                if _json(getattr(row, name)) != _json(body):
                    self._add_problem(
                        "I8",
                        f"{name} of match {match_id} does not follow from the log",
                        start.first_v,
                    )

    def _check_thoughts(self) -> None:
        """Checks that each analysis belongs to a move."""
        for row in self._rows.thoughts:
            moved = self._moves.get((row.match, row.v))
            if moved is None or moved.ply != row.ply:
                self._add_problem(
                    "I8",
                    f"there are thoughts about ply {row.ply} of match {row.match},"
                    " but there is no such move",
                    row.v,
                )

    def _compare(self, description: str, row: Any, expected: dict[str, Any]) -> None:
        """Reports the columns of a row that differ from the expected values."""
        for name, value in expected.items():
            actual = getattr(row, name)
            if actual != value:
                self._add_problem(
                    "I8",
                    f"{name} of {description} is {actual!r}, but {value!r} follows from the log",
                )


def _match_row(start: MatchStarted, end: MatchFinished | None) -> dict[str, Any]:
    """The columns of the row of a match that follow from the log, without its key."""
    started = t.columns_of(MatchStarted, t.matches)
    ended = t.columns_of(MatchFinished, t.matches)
    row = dict.fromkeys(column.name for column in ended)
    for columns, values in ((started, start), (ended, end)):
        if values is not None:
            names = (column.name for column in columns)
            row |= zip(names, msgspec.structs.astuple(values), strict=True)
    return {name: value for name, value in row.items() if name != t.matches.c.id.name}


def _has_all_fields(value: object, stored: Any) -> bool:
    """Whether a value has every field of its stored form; a newer version may add some."""
    match value:
        case msgspec.Struct():
            fields = {*value.__struct_fields__, value.__struct_config__.tag_field}
            return all(
                name in fields and _has_all_fields(getattr(value, name, None), item)
                for name, item in stored.items()
            )
        case tuple():
            return all(map(_has_all_fields, value, stored))
        case _:
            return True


def _json(body: bytes | None) -> Any:
    """The decoded JSON, so that two spellings of a value are equal; other bytes unchanged."""
    try:
        return None if body is None else msgspec.json.decode(shown_json(body))
    except msgspec.DecodeError:
        return body


def _shown(event: RoomEvent, body: bytes) -> RoomEvent:
    """An event of the log as a node reads it: with clean names."""
    clean = shown_json(body)
    return event if clean is body else parse_event_body(clean)


def _is_same_entry(stored: bytes, expected: bytes, offers: Set[tuple[wire.OpenOffer, ...]]) -> bool:
    """Whether a stored lobby entry is the one that follows from the log.

    The title is not in the log: the game may have been renamed. Older programs write no length, no
    options in words and no clock, and do not note offers, nor that one is over: beside newer nodes
    they leave one of the `offers` that the entries have had.
    """
    try:
        entry = msgspec.json.decode(shown_json(stored), type=wire.RoomSummary)
    except msgspec.DecodeError:
        return stored == expected
    wanted = msgspec.json.decode(expected, type=wire.RoomSummary)
    length = wanted.length if entry.length else ""
    options_text = wanted.options_text if entry.options_text else ""
    clock, speed = (wanted.clock, wanted.speed) if entry.clock else (None, UNTIMED)
    return entry == msgspec.structs.replace(
        wanted,
        title=entry.title,
        length=length,
        options_text=options_text,
        offers=entry.offers if entry.offers in offers else wanted.offers,
        clock=clock,
        speed=speed,
    )
