"""Stored matches as records that every format can write, and slices of a list as text."""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import Struct, structs

from engine.formats.record import FindGame, GameRecord, Move, Over, Seat
from engine.formats.registry import FORMATS, Format, GameText
from engine.search.job import MATE
from server.events import (
    AiTookOver,
    Moved,
    Occupant,
    PlayerReturned,
    RoomEvent,
    Started,
    TookBack,
    parse_event_body,
)
from server.protocol.wording import StoredThought
from server.rooms.record import RecordedMove, moves_of
from server.store.base import Store, StoredEvent, StoredMatch, Thought
from server.store.match_filter import Key, MatchFilter

T = TypeVar("T")

#: Log entries per read from the store, which are parsed without a pause.
LOG_PAGE = 250
#: Matches per read from the list.
MATCH_PAGE = 50
#: Rows of the log and bytes of thoughts after which a slice ends.
SLICE_ROWS, SLICE_BYTES = 500, 256 * 1024
#: Seconds of writing after which a slice ends: other slices wait for it.
SLICE_S = 1.0
#: The value of `Event` in the tags of a match.
EVENT = "Plyroom match"
#: A search that sees a mate says so in its score: it is at most so far from MATE.
MATE_PLIES = 1000

_decode_seats = msgspec.json.Decoder(tuple[Occupant, ...]).decode
_decode_over = msgspec.json.Decoder(Over).decode
_decode_thought = msgspec.json.Decoder(StoredThought).decode
_decode_options = msgspec.json.Decoder(dict[str, str]).decode


class Pace:
    """Gives all work of exports on the event loop together at most a share of its time.

    Each piece of work runs alone, and a pause in proportion follows, whether or not others wait.
    Pauses shorter than `least_s` are added up, where nobody else has the loop.
    """

    def __init__(
        self, share: float, now_s: Callable[[], float] = time.perf_counter, *, least_s: float = 0
    ) -> None:
        self._pause = (1 - share) / share
        self._now_s = now_s
        self._least_s = least_s
        self._owed_s = 0.0
        self._turn = asyncio.Lock()

    async def run(self, work: Callable[[], T]) -> T:
        """Returns the result of the work, after its pause."""
        async with self._turn:
            began_s = self._now_s()
            result = work()
            self._owed_s += self._pause * (self._now_s() - began_s)
            if self._owed_s >= self._least_s:
                pause_s, self._owed_s = self._owed_s, 0.0
                await asyncio.sleep(pause_s)
        return result


class Exported(Struct, frozen=True):
    """A match as a record, and the reports of the searches for its moves as JSON, by ply."""

    record: GameRecord
    thoughts: dict[str, bytes]
    #: The rows of the log that it was made from.
    rows: int


class RecordBuilder:
    """Makes the record of a match from the entries of its room's log, in their order."""

    def __init__(self, match: StoredMatch) -> None:
        self._match = match
        self._events: list[tuple[int, RoomEvent]] = []
        #: The times that moves took, by version.
        self._spent_ms: dict[int, int] = {}
        self._turn_began_ms = match.started_ms
        #: What happened to the seats, by the number of moves played before.
        self._comments: dict[int, list[str]] = {}
        self.rows = 0
        #: Whether an AI has played on for somebody.
        self.has_guest_ai = False
        #: The tag `TimeControl` of a match with a clock: our texts of controls are those of PGN
        #: (9.6.1) where it has one, as in "40/7200+30:3600".
        self._control: dict[str, str] = {}

    def add(self, entries: Iterable[StoredEvent]) -> None:
        """Adds the next entries, from the start of the match on; those of others do no harm."""
        match = self._match.match
        for entry in entries:
            self.rows += 1
            event = parse_event_body(entry.body)
            if isinstance(event, Moved | TookBack):
                if event.match != match:
                    continue
                self._events.append((entry.v, event))
                self._spent_ms[entry.v] = max(0, entry.at_ms - self._turn_began_ms)
                self._turn_began_ms = entry.at_ms
                if isinstance(event, Moved) and event.spent_ms is not None:
                    self._spent_ms[entry.v] = event.spent_ms
            elif isinstance(event, Started) and event.match == match and event.clock:
                self._control = {"TimeControl": event.clock}
            elif isinstance(event, AiTookOver | PlayerReturned) and event.match == match:
                self._comments.setdefault(event.ply, []).append(_seat_comment(event))
                self.has_guest_ai = True
            if isinstance(event, TookBack):
                gone = [ply for ply in self._comments if ply > event.to_ply]
                for ply in gone:
                    del self._comments[ply]

    def build(self, thoughts: Sequence[Thought] = (), site: str = "") -> Exported:
        """The record; `thoughts` are the stored ones of the match, `site` is the tag `Site`."""
        match = self._match
        played = moves_of(self._events, match.match)
        by_move = {(thought.ply, thought.v): thought.body for thought in thoughts}
        shown = {
            ply: by_move[ply, move.v] for ply, move in enumerate(played) if (ply, move.v) in by_move
        }
        moves = [self._move(ply, move, shown.get(ply)) for ply, move in enumerate(played)]
        record = GameRecord(
            match.match, match.game, _decode_options(match.options), match.rules, match.start,
            tuple(map(_seat, _decode_seats(match.seats))), tuple(moves),
            None if match.over is None else _decode_over(match.over),
            match.started_ms, match.finished_ms,
            {"Event": EVENT, "Round": str(match.number), **({"Site": site} if site else {}),
             **self._control},
            " ".join(self._comments.get(0, ())),
        )  # fmt: skip
        return Exported(record, {str(ply): body for ply, body in shown.items()}, self.rows)

    def _move(self, ply: int, move: RecordedMove, thought: bytes | None) -> Move:
        event = move.event
        has_pawns = thought is not None and self._match.game == "chess"
        return Move(
            event.move, event.text, self._spent_ms.get(move.v), event.clock_ms,
            _eval_text(thought, event) if thought is not None and has_pawns else None,
            " ".join(self._comments.get(ply + 1, ())),
        )  # fmt: skip


def _seat(occupant: Occupant) -> Seat:
    """A player without identity and without what an AI keeps of it."""
    return Seat(
        occupant.name, occupant.kind, occupant.level, occupant.strategy, occupant.persona,
        occupant.depth, occupant.evaluator,
    )  # fmt: skip


def _seat_comment(event: AiTookOver | PlayerReturned) -> str:
    occupant = event.occupant
    if isinstance(event, PlayerReturned):
        return f"{occupant.name} plays again from here."
    kept_for = "the player" if occupant.kept_for is None else occupant.kept_for.name
    return f"{occupant.name} plays on for {kept_for} from here."


def _eval_text(body: bytes, event: Moved) -> str | None:
    """The value of a move of chess for White, as PGN has it; None unless it is the best one, whose
    score the search has reported in pawns.
    """
    try:
        thought = _decode_thought(body)
    except msgspec.DecodeError:
        return None
    if thought.value or thought.warming or not thought.depth or thought.pv[:1] != (event.move,):
        return None
    sign = -1 if event.seat else 1
    if abs(thought.score) < MATE - MATE_PLIES:
        return f"{sign * thought.score / 100:.2f},{thought.depth}"
    moves = (MATE - abs(thought.score)) // 2
    is_white = (thought.score > 0) == (sign > 0)
    return f"#{'' if is_white else '-'}{moves},{thought.depth}" if moves else None


async def read_match(
    store: Store, match: StoredMatch, *, has_thoughts: bool, site: str = "", pace: Pace
) -> Exported:
    """A match with the moves so far; with the thoughts if the asker may see them."""
    builder, v = RecordBuilder(match), match.first_v - 1
    while match.last_v is None or v < match.last_v:
        limit = LOG_PAGE if match.last_v is None else min(LOG_PAGE, match.last_v - v)
        page = await store.logs.events(match.room, v, limit)
        await pace.run(partial(builder.add, page))
        if len(page) < limit:
            break
        v = page[-1].v
    may_have = has_thoughts and (builder.has_guest_ai or b'"ai"' in match.seats)
    thoughts = await store.projections.thoughts(match.match) if may_have else []
    return await pace.run(partial(builder.build, thoughts, site))


class Slice(Struct, frozen=True):
    """A part of a list in a format: finished public matches that a filter accepts, newest first.

    At most `maximum` matches follow, those `before` a match. `site` is the address of a match
    without its id.
    """

    format: str
    wanted: MatchFilter
    maximum: int
    site: str = ""
    before: Key | None = None


class SliceText(Struct, frozen=True):
    """The text of a slice, the matches that the format cannot write with the reasons, and the next
    slice; None after the last one.
    """

    text: bytes
    refused: tuple[tuple[str, str], ...]
    rest: Slice | None


async def read_slice(
    store: Store, part: Slice, *, pace: Pace
) -> tuple[list[Exported], Slice | None]:
    """The first matches of a slice, with about SLICE_ROWS rows of the log, and the slice that
    follows them.

    A match that finishes meanwhile is left out; none comes twice.
    """
    limit = min(MATCH_PAGE, part.maximum)
    page = await store.projections.matches(limit, part.before, part.wanted)
    found: list[Exported] = []
    rest = page.rest
    rows = size_bytes = 0
    for number, match in enumerate(page.rows, 1):
        site = f"{part.site}{match.match}" if part.site else ""
        with _naming(match.match):
            found.append(await read_match(store, match, has_thoughts=True, site=site, pace=pace))
        rows += found[-1].rows
        size_bytes += sum(map(len, found[-1].thoughts.values()))
        is_full = rows >= SLICE_ROWS or size_bytes >= SLICE_BYTES
        if (is_full and number < len(page.rows)) or (rest is None and number == limit):
            rest = (match.finished_ms or 0, match.match)
            break
    return found, _rest(part, len(found), rest)


def _rest(part: Slice, count: int, last: Key | None) -> Slice | None:
    """What follows the first `count` matches of a slice, which end with `last`, if any do."""
    left = part.maximum - count
    if last is None or not left:
        return None
    return structs.replace(part, maximum=left, before=last)


@contextmanager
def _naming(match: str) -> Iterator[None]:
    """Adds the match to an exception of the block, for the log."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in match {match}")
        raise


async def write_slice(
    store: Store,
    part: Slice,
    find_game: FindGame,
    *,
    pace: Pace,
    write: Callable[[Format, GameRecord, FindGame], GameText] = Format.write,
    now_s: Callable[[], float] = time.perf_counter,
) -> SliceText:
    """The text of the first matches of a slice: see `read_slice`. It ends after SLICE_S as well.

    `write` writes one game. Any error of a match has a note with its id.
    """
    found, rest = await read_slice(store, part, pace=pace)
    chosen = FORMATS[part.format]
    texts, refused = list[str](), list[tuple[str, str]]()
    began_s = now_s()
    for count, exported in enumerate(found, 1):
        match = exported.record.match
        with _naming(match):
            written = await pace.run(partial(write, chosen, with_thoughts(exported), find_game))
        if written.refused:
            refused.append((match, written.refused))
        texts.append(_note(chosen, match, written.refused) if written.refused else written.text)
        if count < len(found) and now_s() - began_s >= SLICE_S:
            rest = _rest(part, count, (exported.record.finished_ms or 0, match))
            break
    return SliceText("".join(texts).encode(), tuple(refused), rest)


def _note(chosen: Format, match: str, reason: str) -> str:
    """A line that a reader of the format skips, which says why a match is missing."""
    if chosen.name not in ("pgn", "pdn"):
        return ""
    return f"% match {match} is not here: {' '.join(reason.split())}\n\n"


def with_thoughts(exported: Exported) -> GameRecord:
    """The record with its thoughts as JSON values, which an encoder copies as they are."""
    raw = {ply: msgspec.Raw(body) for ply, body in exported.thoughts.items()}
    return structs.replace(exported.record, thoughts=raw)
