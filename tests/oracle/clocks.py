"""The clocks of a match, followed from its events alone, by code of its own.

It checks what `tests.oracle.history` calls I23 and I24: each number follows from those before it,
and no flag falls before its deadline. It uses none of the server's code. Times are in milliseconds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

Message = dict[str, Any]

_STAGE = re.compile(r"(?:(\d+)/)?(\d+)(?:([+db])(\d+)(?![\dx/]))?(?:<(\d+))?")
#: Time for the first turn of a side: a tenth of the base, between these.
FIRST_TURN_MS = 10_000, 30_000
#: Time that one `add_time` gives, and how often one side may receive it.
ADDED_MS, MAX_ADDED = 15_000, 8


@dataclass(frozen=True)
class Stage:
    """A stage of a control: turns (0 for the rest of the match), base, kind, gain, maximum."""

    turns: int
    base: int
    kind: str
    gain: int
    most: int

    @property
    def given(self) -> int:
        """What a side receives for the stage."""
        return (self.base or max(self.gain, 3_000)) + self.reserve

    @property
    def reserve(self) -> int:
        """The delay that a Bronstein clock holds beside the base."""
        return self.gain if self.kind == "b" else 0


@dataclass(frozen=True)
class Side:
    """What one side has: time, the number of its stage, and what that counts down."""

    left: int
    stage: int
    count: int


def parse(text: str) -> tuple[list[Stage], str, int, int]:
    """Returns the stages of a control, and the form (`x`, `/` or nothing) and numbers of its
    overtime.
    """
    stages = []
    while True:
        found = _STAGE.match(text)
        assert found is not None, text
        turns, base, kind, gain, most = found.groups()
        stages.append(
            Stage(
                int(turns or 0), int(base) * 1000, kind or "+", int(gain or 0) * 1000,
                int(most or 10**6) * 1000,
            )
        )  # fmt: skip
        text = text[found.end() :]
        if not text.startswith(":"):
            break
        text = text[1:]
    over = re.fullmatch(r"\+(\d+)([x/])(\d+)", text)
    if over is None:
        assert text == "", text
        return stages, "", 0, 0
    return stages, over[2], int(over[1]), int(over[3]) * 1000


@dataclass
class MatchClock:
    """The clock of one match. `faults` has what its events say wrongly."""

    control: str
    #: Between which times the first turn of a side is due.
    first_turn_ms: tuple[int, int] = FIRST_TURN_MS
    turn: int | None = None
    since: int = 0
    #: Time that the present turn has used before `since`, and what of it the present move has.
    used: int = 0
    used_by_move: int = 0
    held: bool = False
    ended: set[int] = field(default_factory=set)
    added: list[int] = field(default_factory=lambda: [0, 0])
    movers: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stages, self.form, self.number, self.length = parse(self.control)
        side = Side(self.stages[0].given, 0, self._count_of(0))
        self.sides = [side, side]

    def _count_of(self, stage: int) -> int:
        if self.stages[stage].turns:
            return self.stages[stage].turns
        return self.number if self.form == "x" else 0

    @property
    def runs(self) -> bool:
        """Whether both sides have finished their first turn."""
        return self.ended == {0, 1}

    def follow(self, event: Message, at: int) -> None:
        """Takes the match's next event, committed at a time."""
        if event["kind"] in ("took_back", "released") and "clocks_ms" not in event:
            self.faults.append(f"I23: {event['kind']} without times")
            return
        match event["kind"]:
            case "moved":
                self._on_moved(event, at)
            case "took_back":
                self._on_took_back(event, at)
            case "time_added":
                self._on_time_added(event)
            case "held":
                self._hold(event["since_ms"])
            case "released":
                self._on_released(event, at)
            case "finished":
                self.faults += self._faults_of_end(event, at)

    # --- moves

    def _on_moved(self, event: Message, at: int) -> None:
        seat, goes_on = event["seat"], event.get("goes_on", False)
        self.turn = seat if self.turn is None else self.turn
        found = Side(event.get("clock_ms", -1), event.get("stage", 0), event.get("periods", 0))
        spent, passed = event.get("spent_ms", 0), max(0, at - self.since) + self.used_by_move
        credit = event.get("credit_ms", 0) + event.get("lag_ms", 0)
        if seat != self.turn:
            self.faults.append(f"I23: seat {seat} moved on the clock of seat {self.turn}")
        if not event.get("forced"):
            if spent + credit > passed:
                self.faults.append(f"I23: {spent} and {credit} ms of {passed} ms")
            new = spent - self.used_by_move
            if new < 0 or new >= self.available():
                self.faults.append(f"I24: a move after {new} ms, {self.available()} ms were left")
            expected = self._after(seat, new, not goes_on)
        else:
            expected = self.sides[seat]
        if found != self._shown(expected):
            self.faults.append(f"I23: the clock of seat {seat} is {found}, not {expected}")
        self.used = self.used - self.used_by_move + spent
        self.used_by_move, self.since = 0, at
        self.sides[seat] = expected
        self.movers.append(seat)
        if not goes_on:
            self.turn, self.used, self.ended = 1 - seat, 0, self.ended | {seat}

    def _shown(self, side: Side) -> Side:
        """The side as events have it: without a stage where the control has only one form."""
        return side if len(self.stages) > 1 or self.form else Side(side.left, 0, 0)

    def _delay(self) -> int:
        assert self.turn is not None
        side = self.sides[self.turn]
        if side.stage == len(self.stages) or self.stages[side.stage].kind != "d":
            return 0
        return max(0, self.stages[side.stage].gain - self.used)

    def available(self) -> int:
        """The time after `since` at which the side to move falls."""
        if not self.runs:
            least, most = self.first_turn_ms
            return max(0, min(most, max(least, self.stages[0].base // 10)) - self.used)
        assert self.turn is not None
        side, last = self.sides[self.turn], len(self.stages) - 1
        time = self._delay() + side.left
        if side.stage < last or not self.form:
            return time
        if self.form == "x":
            return time + self.length * (side.count if side.stage > last else self.number)
        return time + (0 if side.stage > last else self.length)

    def _charged(self, seat: int, ms: int) -> Side:
        """The side after `ms` more of its turn."""
        side = self.sides[seat]
        left, stage, count = side.left - max(0, ms - self._delay()), side.stage, side.count
        while left <= 0 and self.form and stage >= len(self.stages) - 1:
            if self.form == "/" and stage == len(self.stages):
                break
            if self.form == "x" and stage == len(self.stages) and not count:
                break
            before = self.number if stage < len(self.stages) else count
            count = before - 1 if self.form == "x" else self.number
            stage, left = len(self.stages), left + self.length
        return Side(left, stage, count)

    def _after(self, seat: int, ms: int, ends_turn: bool) -> Side:
        if not self.runs:
            return self.sides[seat]
        side = self._charged(seat, ms)
        if not ends_turn:
            return side
        if side.stage == len(self.stages):
            if self.form == "x":
                return replace(side, left=self.length)
            if side.count > 1:
                return replace(side, count=side.count - 1)
            return replace(side, left=self.length, count=self.number)
        stage = self.stages[side.stage]
        gains = {
            "+": max(0, min(stage.gain, stage.most - side.left)),
            "b": min(stage.gain, self.used + ms),
            "d": 0,
        }
        side = replace(side, left=side.left + gains[stage.kind])
        if not stage.turns:
            return side
        if side.count > 1:
            return replace(side, count=side.count - 1)
        entered = self.stages[side.stage + 1]
        left = side.left + entered.given - stage.reserve
        return Side(left, side.stage + 1, self._count_of(side.stage + 1))

    # --- what is agreed on

    def _on_took_back(self, event: Message, at: int) -> None:
        """Nobody may have more time than before, but for what a Bronstein clock returns."""
        kept = event["to_ply"]
        if kept >= len(self.movers):
            self.faults.append(f"I23: back to ply {kept} of {len(self.movers)}")
            return
        for seat, left in enumerate(event["clocks_ms"]):
            side = self.sides[seat]
            stage = self.stages[min(side.stage, len(self.stages) - 1)]
            more = stage.reserve if side.stage < len(self.stages) else self.length
            if not 0 <= left <= side.left + more:
                self.faults.append(f"I23: a takeback left seat {seat} {left}, it had {side.left}")
        counts = event.get("periods", [side.count for side in self.sides])
        stages = event.get("stages", [side.stage for side in self.sides])
        self.sides = [Side(event["clocks_ms"][seat], stages[seat], counts[seat]) for seat in (0, 1)]
        self.turn, self.movers = self.movers[kept], self.movers[:kept]
        followers = [*self.movers[1:], self.turn]
        self.ended = {
            mover for mover, after in zip(self.movers, followers, strict=False) if mover != after
        }
        self.since, self.used, self.used_by_move = at, event.get("used_ms", 0), 0

    def _on_time_added(self, event: Message) -> None:
        seat = event["seat"]
        self.added[seat] += 1
        if event["ms"] != ADDED_MS or self.added[seat] > MAX_ADDED:
            self.faults.append(f"I23: {event['ms']} ms were given, time number {self.added[seat]}")
        self.sides[seat] = replace(self.sides[seat], left=self.sides[seat].left + event["ms"])

    def _hold(self, since: int) -> None:
        passed = max(0, since - self.since)
        if self.runs and self.turn is not None:
            self.sides[self.turn] = self._charged(self.turn, passed)
        self.since, self.held = max(since, self.since), True
        self.used, self.used_by_move = self.used + passed, self.used_by_move + passed

    def _on_released(self, event: Message, at: int) -> None:
        left = [side.left for side in self.sides]
        if not self.held or list(event["clocks_ms"]) != left:
            self.faults.append(f"I23: the clocks stood at {left}, not {event['clocks_ms']}")
        if not self.since <= event["from_ms"] <= at:
            self.faults.append(f"I23: the clock runs from {event['from_ms']}, it is {at}")
        self.since, self.held = event["from_ms"], False

    def _faults_of_end(self, event: Message, at: int) -> Iterator[str]:
        left = event.get("clocks_ms")
        if left is None:
            yield "I23: a match with a clock ends without times"
            return
        turn = 0 if self.turn is None else self.turn
        if event["how"] in ("flag", "noshow"):
            if self.held or at < self.since + self.available():
                yield f"I24: a flag at {at}, {self.available()} ms after {self.since} were left"
            if (event["how"] == "flag") != self.runs:
                yield f"I24: {event['how']}, and the clock runs: {self.runs}"
            if event["winner"] not in (None, 1 - turn):
                yield f"I24: seat {event['winner']} won by the flag of seat {turn}"
        for seat, side in enumerate(self.sides):
            is_fallen = event["how"] == "flag" and seat == turn
            may_fall = self.runs and seat == turn and event["how"] != "board"
            if left[seat] != (0 if is_fallen else side.left) and not (
                may_fall and (left[seat] < side.left or self.form)
            ):
                yield f"I23: seat {seat} ends with {left[seat]} ms, it had {side.left}"


def first_turn_of(description: Message) -> tuple[int, int]:
    """Between which times the first turn of each side is due in this room."""
    if description.get("one_screen"):
        return 86_400_000, 86_400_000
    return (120_000, 120_000) if description.get("visibility") == "unlisted" else FIRST_TURN_MS


def start_clock(
    started: Message, first_turn_ms: tuple[int, int] = FIRST_TURN_MS
) -> MatchClock | None:
    """Returns the clock of a match, by its first event; None for one without a clock.

    `first_turn_ms` holds where the event names no time for the first turns.
    """
    if "clock" not in started:
        return None
    if "first_ms" in started:
        first_turn_ms = started["first_ms"], started["first_ms"]
    clock = MatchClock(started["clock"], first_turn_ms, since=started["at"])
    if list(started["clocks_ms"]) != [side.left for side in clock.sides]:
        clock.faults.append(f"I23: {started['clock']} starts with {started['clocks_ms']}")
    return clock
