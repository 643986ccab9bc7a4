"""The clock of a match: a value that moves press, and that knows when a side falls.

The clock starts when both sides have finished their first turn. It charges the side to move for
its time, and gives what the control gives at the end of a turn: gain, delay and periods are per
turn, so a side cannot earn them by extra turns. The functions return new values and read no clock
of the computer: times are arguments, in milliseconds since 1970. What they decide stands in the
events of the log; `follow`, `release` and `add` copy it from there.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from engine.view import SEATS
from server.time_controls import MAX_COUNT, ByoYomi, Canadian, Stage, TimeControl

_T = TypeVar("_T")

#: Minimum and maximum time for the first turn of a side; in between it is a tenth of the base.
MIN_FIRST_TURN_MS, MAX_FIRST_TURN_MS = 10_000, 30_000
#: The same in an unlisted room, where friends wait for each other, and against an AI.
LINK_FIRST_TURN_MS = 120_000
#: The same where two people share a screen, and nobody can fail to come.
ONE_SCREEN_FIRST_TURN_MS = 86_400_000
#: More time than any clock can have.
MAX_LEFT_MS = 1_000_000_000
#: A takeback takes gains only from the time above this.
TAKEBACK_FLOOR_MS = 1_000


class SideClock(Struct, frozen=True, gc=False):
    """The clock of one side: its time left, its stage, and what its stage counts down.

    `stage` is the index of the control's stage, and the number of stages in overtime. `periods` are
    the byo-yomi periods after the present one, the turns to go to the next stage, or the turns to
    go in a block of Canadian overtime; 0 where the stage counts nothing.
    """

    left_ms: int
    stage: int = 0
    periods: int = 0


class Counts(NamedTuple):
    """The stage of a side and what it counts down, as events have them: None where the control has
    no such thing.
    """

    stage: int | None
    periods: int | None


#: The counts of a control of one stage without overtime.
NO_COUNTS = Counts(None, None)


class TimedMove(Struct, frozen=True, gc=False):
    """A move of a match as a takeback sees it: the time that its turn had used with it, also before
    an earlier takeback, and what the end of the turn gave (`gain_of`).
    """

    seat: int
    turn_ms: int
    gain_ms: int = 0
    forced: bool = False


class Clock(Struct, frozen=True):
    """The clocks of both sides in a match.

    `turn` is the seat to move, and `since_ms` the time since which its present move takes time.
    `turn_ms` is the time that it has used in earlier moves of this turn and before a hold, and
    `move_ms` that of the present move before a hold. `opened` says which sides have finished their
    first turn, and `added` how often each side was given time. `held` is the reason for which the
    clock stands, None if it runs. `moves` are those of the match. `first_ms` is the time for the
    first turn of each side, which is not charged; None for that of a public room.
    """

    control: TimeControl
    sides: tuple[SideClock, SideClock]
    turn: int
    since_ms: int
    turn_ms: int = 0
    move_ms: int = 0
    opened: tuple[bool, bool] = (False, False)
    added: tuple[int, int] = (0, 0)
    held: str | None = None
    moves: tuple[TimedMove, ...] = ()
    first_ms: int | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the control can have such sides; a log that no server wrote may say otherwise."""
        return all(is_sound_side(self.control, side) for side in self.sides)

    @property
    def runs(self) -> bool:
        """Whether the side to move is charged for its time."""
        return self.held is None and all(self.opened)


class Press(Struct, frozen=True):
    """What a move does to the mover's clock. `spent_ms` is the time that the move took."""

    side: SideClock
    spent_ms: int


def start_clock(control: TimeControl, turn: int, at_ms: int, first_ms: int | None = None) -> Clock:
    """Returns the clock of a match that starts, in which `turn` moves first."""
    first = control.stages[0]
    side = SideClock(first.start_ms + first.reserve_ms, 0, control.count_of(0))
    return Clock(control, (side, side), turn, at_ms, first_ms=first_ms)


def counts_of(control: TimeControl, side: SideClock) -> Counts:
    """The stage and the countdown of a side, as its event has them."""
    return Counts(side.stage, side.periods) if control.counts else NO_COUNTS


def pairs_of(clock: Clock) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """The stages and the countdowns of both sides, as events have them."""
    first, second = clock.sides
    if not clock.control.counts:
        return None, None
    return (first.stage, second.stage), (first.periods, second.periods)


def is_sound_side(control: TimeControl, side: SideClock) -> bool:
    """Whether the control can have such a side."""
    last = len(control.stages) - (control.overtime is None)
    return (
        0 <= side.left_ms <= MAX_LEFT_MS
        and 0 <= side.stage <= last
        and 0 <= side.periods <= MAX_COUNT
    )


def side_of(left_ms: int, counts: tuple[int | None, int | None]) -> SideClock:
    """The side that an event gives with these numbers; the inverse of `counts_of`."""
    return SideClock(left_ms, counts[0] or 0, counts[1] or 0)


def first_turn_ms(clock: Clock) -> int:
    """The time for the first turn of each side, which is not charged."""
    if clock.first_ms is not None:
        return clock.first_ms
    tenth_ms = clock.control.stages[0].base_ms // 10
    return min(MAX_FIRST_TURN_MS, max(MIN_FIRST_TURN_MS, tenth_ms))


def first_turn_limit_ms(visibility: str, one_screen: bool, has_ai: bool) -> int | None:
    """`Clock.first_ms` of a match that starts in a room."""
    if one_screen:
        return ONE_SCREEN_FIRST_TURN_MS
    return LINK_FIRST_TURN_MS if has_ai or visibility == "unlisted" else None


def available_ms(clock: Clock) -> int:
    """The time after `since_ms` at which the side to move falls, unless it ends its turn before."""
    if not all(clock.opened):
        return max(0, first_turn_ms(clock) - clock.turn_ms)
    side, control = clock.sides[clock.turn], clock.control
    time_ms = _delay_left_ms(control, side, clock.turn_ms) + side.left_ms
    if control.overtime is None:  # most clocks
        return time_ms
    is_over = side.stage == len(control.stages)
    match control.overtime if side.stage >= len(control.stages) - 1 else None:
        case ByoYomi(periods, period_ms):
            return time_ms + (side.periods if is_over else periods) * period_ms
        case Canadian(block_ms=block_ms):
            return time_ms + (0 if is_over else block_ms)
        case None:  # the stages before the last one
            return time_ms


def deadline_ms(clock: Clock) -> int | None:
    """The time at which the side to move falls; None while the clock is held."""
    return None if clock.held is not None else clock.since_ms + available_ms(clock)


def least_deadline_ms(clock: Clock) -> int:
    """A time before which the side to move does not fall, which needs no look at the control."""
    if all(clock.opened):
        return clock.since_ms + clock.sides[clock.turn].left_ms
    return clock.since_ms + MIN_FIRST_TURN_MS - clock.turn_ms


def press(clock: Clock, spent_ms: int, ends_turn: bool, can_fall: bool = True) -> Press | None:
    """Returns what a move of the side to move does to its clock, after `spent_ms` since `since_ms`.

    None if the side has fallen before: a move at its deadline is too late. A side that cannot fall
    is charged at most what it has.
    """
    side = _charge_move(clock, spent_ms)
    if side is None:
        if can_fall:
            return None
        spent_ms = max(0, available_ms(clock) - 1)
        # Logs of earlier programs have sides of an AI that a takeback left without time.
        side = _charge_move(clock, spent_ms) or clock.sides[clock.turn]
    if ends_turn and all(clock.opened):
        side = _end_turn(clock.control, side, clock.turn_ms + spent_ms)
    return Press(side, clock.move_ms + spent_ms)


def follow(clock: Clock, side: SideClock, spent_ms: int, next_turn: int, at_ms: int) -> Clock:
    """Returns the clock after a move of the side to move, with the numbers of its event."""
    seat = clock.turn
    turn_ms = clock.turn_ms - clock.move_ms + spent_ms
    move = TimedMove(seat, turn_ms, gain_of(clock, side, spent_ms))
    opens = next_turn != seat and not clock.opened[seat]
    return replace(
        clock, sides=_with(clock.sides, seat, side), turn=next_turn, since_ms=at_ms, move_ms=0,
        turn_ms=turn_ms if next_turn == seat else 0,
        opened=_with(clock.opened, seat, True) if opens else clock.opened,
        moves=(*clock.moves, move),
    )  # fmt: skip


def follow_pass(clock: Clock, next_turn: int, at_ms: int) -> Clock:
    """Returns the clock after a forced pass, which costs and earns nothing."""
    return replace(
        clock, turn=next_turn, since_ms=at_ms, turn_ms=0, move_ms=0,
        opened=_with(clock.opened, clock.turn, True),
        moves=(*clock.moves, TimedMove(clock.turn, 0, forced=True)),
    )  # fmt: skip


def gain_of(clock: Clock, side: SideClock, spent_ms: int) -> int:
    """What the end of a turn gave the side to move, by the numbers of its event: the gain after the
    maximum, what a Bronstein clock gave back, the rest of a period or a block that starts again; 0
    within a turn. The time of a new stage is not in it.
    """
    if not all(clock.opened):
        return 0
    before, control = clock.sides[clock.turn], clock.control
    charged = _charge(control, before, spent_ms - clock.move_ms, clock.turn_ms)
    if charged is None:
        return 0
    entered = charged.stage < side.stage < len(control.stages)
    stage_ms = _stage_ms(control, charged.stage) if entered else 0
    return max(0, side.left_ms - charged.left_ms - stage_ms)


def ran_before_last_move(clock: Clock) -> bool:
    """Whether both sides had finished their first turn before the last move."""
    moves, last = clock.moves, len(clock.moves) - 1
    if last >= SEATS and moves[last].seat != moves[last - 1].seat != moves[last - 2].seat:
        return True  # two turns have ended before it, one of each side
    return last >= 0 and all(_opened(moves, last, moves[last].seat))


def sides_at(clock: Clock, at_ms: int) -> tuple[SideClock, SideClock]:
    """The clocks of both sides as a person sees them at a time; a side that has fallen has 0."""
    if not clock.runs:
        return clock.sides
    side = clock.sides[clock.turn]
    charged = _charge(clock.control, side, max(0, at_ms - clock.since_ms), clock.turn_ms)
    return _with(clock.sides, clock.turn, charged or replace(side, left_ms=0))


def add_time(clock: Clock, seat: int, ms: int) -> Clock:
    """Returns the clock after an opponent gave a side time."""
    side = clock.sides[seat]
    return replace(
        clock,
        sides=_with(clock.sides, seat, replace(side, left_ms=side.left_ms + ms)),
        added=_with(clock.added, seat, clock.added[seat] + 1),
    )


def with_times(
    clock: Clock,
    clocks_ms: Sequence[int],
    stages: Sequence[int] | None = None,
    periods: Sequence[int] | None = None,
    turn_ms: int | None = None,
) -> Clock:
    """Returns the clock with the numbers of an event; None leaves them as they are."""
    sides = tuple(
        SideClock(
            clocks_ms[seat],
            side.stage if stages is None else stages[seat],
            side.periods if periods is None else periods[seat],
        )
        for seat, side in enumerate(clock.sides)
    )
    turn_ms = clock.turn_ms if turn_ms is None else turn_ms
    return replace(clock, sides=(sides[0], sides[1]), turn_ms=turn_ms)


def hold(clock: Clock, why: str, since_ms: int) -> Clock:
    """Returns the clock that stands since a time: what was used before is charged, the rest not."""
    used_ms = max(0, since_ms - clock.since_ms)
    return replace(
        clock, sides=sides_at(clock, since_ms), since_ms=max(since_ms, clock.since_ms),
        turn_ms=clock.turn_ms + used_ms, move_ms=clock.move_ms + used_ms, held=why,
    )  # fmt: skip


def release(
    clock: Clock,
    clocks_ms: Sequence[int],
    from_ms: int,
    stages: Sequence[int] | None = None,
    periods: Sequence[int] | None = None,
) -> Clock:
    """Returns the clock that runs again from a time on, with the numbers of the event."""
    running = with_times(clock, clocks_ms, stages, periods)
    return replace(running, since_ms=from_ms, held=None)


def take_back(clock: Clock, to_ply: int, turn: int, at_ms: int) -> Clock:
    """Returns the clock after the moves from `to_ply` on were taken back; `turn` moves there.

    It gives no time. Both sides keep what they have, and the side to move is charged up to now. The
    gains of the moves go, as far as a second is left. Stages and periods that they used are not
    given back, but their turns are to be made again. The turn that is played again has used the
    time that it had used before: a delay is free once.
    """
    sides, control, moves = list(sides_at(clock, at_ms)), clock.control, clock.moves
    abandoned_ms = clock.turn_ms + (max(0, at_ms - clock.since_ms) if clock.runs else 0)
    for seat in range(SEATS):
        sides[seat] = _without_gains(control, sides[seat], moves, to_ply, seat)
    opened = _opened(moves, to_ply, turn)
    used_ms = 0
    if turn == clock.turn and all(move.seat == turn for move in moves[to_ply:]):
        used_ms = abandoned_ms
    else:
        sides[clock.turn] = _abandon_turn(clock, sides[clock.turn], turn, abandoned_ms)
        if all(opened):
            restored = _last_of_turn(moves, to_ply, turn)
            used_ms = restored.turn_ms + (abandoned_ms if turn == clock.turn else 0)
            sides[turn] = _begin_again(control, sides[turn], restored, used_ms)
    if not all(opened):
        used_ms = 0
    return replace(
        clock, sides=(sides[0], sides[1]), turn=turn, since_ms=max(at_ms, clock.since_ms),
        turn_ms=used_ms, move_ms=0, opened=opened, moves=moves[:to_ply],
    )  # fmt: skip


def _delay_left_ms(control: TimeControl, side: SideClock, turn_ms: int) -> int:
    """The time that still passes in this turn before the clock runs."""
    if side.stage == len(control.stages):
        return 0
    stage = control.stages[side.stage]
    return max(0, stage.gain_ms - turn_ms) if stage.kind == "d" else 0


def _charge_move(clock: Clock, spent_ms: int) -> SideClock | None:
    """The side to move after its present move; None if it has fallen. A first turn is not charged,
    but has a limit.
    """
    side = clock.sides[clock.turn]
    if all(clock.opened):
        return _charge(clock.control, side, spent_ms, clock.turn_ms)
    return None if spent_ms >= available_ms(clock) else side


def _charge(control: TimeControl, side: SideClock, ms: int, turn_ms: int) -> SideClock | None:
    """The side after `ms` more of its turn, perhaps in overtime; None if it has fallen."""
    delay_ms = _delay_left_ms(control, side, turn_ms)
    left_ms = side.left_ms - (ms - delay_ms if ms > delay_ms else 0)
    stage, periods = side.stage, side.periods
    if left_ms > 0:
        return SideClock(left_ms, stage, periods)
    overtime = len(control.stages)
    while left_ms <= 0:
        match control.overtime if stage >= overtime - 1 else None:
            case ByoYomi(count, period_ms) if stage < overtime or periods:
                periods = (periods if stage == overtime else count) - 1
                left_ms += period_ms
            case Canadian(turns, block_ms) if stage < overtime:
                periods = turns
                left_ms += block_ms
            case _:
                return None
        stage = overtime
    return SideClock(left_ms, stage, periods)


def _end_turn(control: TimeControl, side: SideClock, turn_ms: int) -> SideClock:
    """The side after its turn, which took `turn_ms`."""
    if side.stage == len(control.stages):
        return _end_overtime_turn(control, side)
    stage = control.stages[side.stage]
    left_ms = side.left_ms + _given_ms(stage, side.left_ms, turn_ms)
    if stage.turns is None:
        return SideClock(left_ms, side.stage, side.periods)
    if side.periods > 1:
        return SideClock(left_ms, side.stage, side.periods - 1)
    following = side.stage + 1
    left_ms += _stage_ms(control, side.stage)
    return SideClock(left_ms, following, control.count_of(following))


def _end_overtime_turn(control: TimeControl, side: SideClock) -> SideClock:
    match control.overtime:
        case ByoYomi(period_ms=period_ms):
            return replace(side, left_ms=period_ms)
        case Canadian(turns, block_ms):
            if side.periods > 1:
                return replace(side, periods=side.periods - 1)
            return replace(side, left_ms=block_ms, periods=turns)
        case None:
            raise AssertionError("a control without overtime has no side in it")


def _given_ms(stage: Stage, left_ms: int, turn_ms: int) -> int:
    """What the end of a turn gives a side in a stage."""
    match stage.kind:
        case "+":
            if stage.limit_ms is None:
                return stage.gain_ms
            return max(0, min(stage.gain_ms, stage.limit_ms - left_ms))
        case "b":
            return min(stage.gain_ms, turn_ms)
        case "d":
            return 0


def _stage_ms(control: TimeControl, stage: int) -> int:
    """The time that a side receives when it has made the turns of a stage: the next one's, with
    the reserve of a Bronstein clock in place of the stage's own.
    """
    ended, begun = control.stages[stage], control.stages[stage + 1]
    return begun.start_ms + begun.reserve_ms - ended.reserve_ms


def _without_gains(
    control: TimeControl, side: SideClock, moves: Sequence[TimedMove], to_ply: int, seat: int
) -> SideClock:
    """A side without what the moves from `to_ply` on gave it, with their turns to make again."""
    turns = sum(
        move.seat == seat and not move.forced and _ends_turn(moves, ply)
        for ply, move in enumerate(moves[to_ply:], to_ply)
    )
    if side.stage == len(control.stages):
        if isinstance(control.overtime, Canadian):
            return replace(side, periods=min(control.overtime.turns, side.periods + turns))
        return side
    left_ms = side.left_ms
    if control.stages[side.stage].kind == "+":
        left_ms = _less(left_ms, sum(move.gain_ms for move in moves[to_ply:] if move.seat == seat))
    most = control.stages[side.stage].turns
    periods = side.periods if most is None else min(most, side.periods + turns)
    return replace(side, left_ms=left_ms, periods=periods)


def _abandon_turn(clock: Clock, side: SideClock, next_turn: int, turn_ms: int) -> SideClock:
    """The side to move, whose turn ends without its move because moves before it are undone."""
    control = clock.control
    if side.stage == len(control.stages):
        if isinstance(control.overtime, ByoYomi) and next_turn != clock.turn:
            return replace(side, left_ms=control.overtime.period_ms)
        return side
    stage = control.stages[side.stage]
    given_ms = min(stage.gain_ms, turn_ms) if stage.kind == "b" and clock.runs else 0
    return replace(side, left_ms=side.left_ms + given_ms)


def _begin_again(
    control: TimeControl, side: SideClock, restored: TimedMove, turn_ms: int
) -> SideClock:
    """A side whose finished turn is played again, and has used `turn_ms` already: without what the
    turn's end gave back, on a Bronstein clock and in a period of byo-yomi.
    """
    if side.stage < len(control.stages):
        stage = control.stages[side.stage]
        if stage.kind != "b":
            return side
        return replace(side, left_ms=max(1, side.left_ms - min(stage.gain_ms, turn_ms)))
    if isinstance(control.overtime, ByoYomi):
        return replace(side, left_ms=_less(side.left_ms, restored.gain_ms))
    return side


def _less(left_ms: int, ms: int) -> int:
    """A time without `ms`, as far as TAKEBACK_FLOOR_MS is left of it."""
    return max(min(left_ms, TAKEBACK_FLOOR_MS), left_ms - ms)


def _ends_turn(moves: Sequence[TimedMove], ply: int) -> bool:
    """Whether another side moves after the move at a ply; a last move counts as a turn's end."""
    return ply + 1 == len(moves) or moves[ply + 1].seat != moves[ply].seat


def _last_of_turn(moves: Sequence[TimedMove], to_ply: int, turn: int) -> TimedMove:
    """The last move of the turn to which a takeback returns."""
    ply = to_ply
    while ply + 1 < len(moves) and moves[ply + 1].seat == turn:
        ply += 1
    return moves[ply]


def _opened(moves: Sequence[TimedMove], to_ply: int, turn: int) -> tuple[bool, bool]:
    """Which sides have finished a turn in the moves before `to_ply`, at which `turn` moves."""
    opened = [False, False]
    for ply in range(to_ply):
        seat = moves[ply].seat
        following = moves[ply + 1].seat if ply + 1 < to_ply else turn
        if following != seat:
            opened[seat] = True
            if opened[1 - seat]:
                break
    return opened[0], opened[1]


def _with(pair: tuple[_T, _T], index: int, value: _T) -> tuple[_T, _T]:
    return (value, pair[1]) if index == 0 else (pair[0], value)
