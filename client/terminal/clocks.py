"""The clocks of a match as texts. This module does no I/O: the time is an argument, in ms since
1970 by the server's time.
"""

from client.model import Model, control_of
from client.model import clock_of as clock_of  # the full screen imports it from here
from client.terminal import words
from server.protocol.messages import ClockState
from server.rooms.clock import Clock, SideClock, available_ms, sides_at
from server.time_controls import (
    describe_control,
    low_time_ms,
    show_control,
    show_side,
    show_time,
)

#: Why a clock stands, by the reason in `held`.
HELD_TEXTS = {
    "outage": "the server was away, which costs nobody time",
    "maintenance": "the server is being maintained",
    "clock": "the server's time of day was set",
}


def side_text(clock: Clock, side: SideClock) -> str:
    """The time of a side: "4:58", in a period of overtime "0:28 + 2 x 30 s"."""
    return show_side(clock.control, side.left_ms, side.stage, side.periods)


def clocks_text(model: Model, at_ms: int) -> str:
    """Both clocks of a running match: "White 4:58, Black 5:00"; "" without clocks.

    Before a player's first turn has ended it says when that is due.
    """
    match = model.match
    clock = clock_of(match.clock) if match is not None and model.running else None
    if match is None or clock is None:
        return ""
    board, sides = words.board_of(model), sides_at(clock, at_ms)
    text = ", ".join(
        f"{words.side_name(board, seat)} {side_text(clock, side)}"
        for seat, side in enumerate(sides)
    )
    if clock.held is not None:
        return f"{text}, stopped"
    return f"{text} ({due})" if model.moves and (due := first_turn_text(model, at_ms)) else text


def first_turn_text(model: Model, at_ms: int) -> str:
    """When the first turn of the side to move is due: "move in 0:10"; "" if it has no such time."""
    state = model.match.clock if model.match is not None and model.running else None
    clock = clock_of(state)
    if state is None or clock is None or state.running is not None or clock.held is not None:
        return ""
    if model.is_one_screen:
        return ""
    return f"move in {show_time(first_move_ms(clock, at_ms))}"


def standing_text(model: Model, at_ms: int) -> str:
    """Why no clock of a running match goes down: "clock stopped", or the first turn with the time
    for it and what follows without it; "" if one goes down, and without clocks.
    """
    state = model.match.clock if model.match is not None and model.running else None
    if state is not None and state.held is not None:
        return "clock stopped"
    due = first_turn_text(model, at_ms)
    return f"{due}, or the match ends" if due else ""


def times_text(state: ClockState | None, at_ms: int) -> str:
    """The clocks of a match in a list, in the order of the seats: "4:58 to 5:00"; "" without."""
    clock = clock_of(state)
    return (
        ""
        if clock is None
        else " to ".join(side_text(clock, side) for side in sides_at(clock, at_ms))
    )


def first_move_ms(clock: Clock, at_ms: int) -> int:
    """The time left for the first turn of the side to move, which its clock does not count."""
    return max(0, clock.since_ms + available_ms(clock) - at_ms)


def time_text(model: Model, at_ms: int) -> str:
    """What `time` prints: the clock of each player, which one runs, and the control in words."""
    match = model.match
    state = match.clock if match is not None else None
    clock = clock_of(state)
    if match is None or clock is None or state is None:
        return _next_control_text(model)
    lines = []
    for seat, side in enumerate(sides_at(clock, at_ms)):
        player = f"{words.side_name(words.board_of(model), seat)}, {words.player_name(model, seat)}"
        runs = ", running" if clock.runs and clock.turn == seat and match.over is None else ""
        lines.append(f"{player}: {side_text(clock, side)}{_countdown(clock, side)}{runs}")
    if clock.held is not None:
        lines.append(f"The clock stands: {HELD_TEXTS.get(clock.held, clock.held)}.")
    elif state.running is None and match.over is None:
        first_ms = first_move_ms(clock, at_ms)
        due = (
            "." if model.is_one_screen else f"; the first move is due within {show_time(first_ms)}."
        )
        lines.append(f"The clock starts when both sides have moved{due}")
    name, described = show_control(clock.control), describe_control(clock.control)
    return "\n".join([*lines, f"The clock is {name}: {described}."])


def _next_control_text(model: Model) -> str:
    """The clock of the next match, where the present one has none."""
    control = control_of(model.clock)
    if control is None:
        return "This match has no clock: take as long as you like."
    return f"The next match has the clock {show_control(control)}: {describe_control(control)}."


def _countdown(clock: Clock, side: SideClock) -> str:
    """The turns that a side still has to make in its stage."""
    if side.stage >= len(clock.control.stages) or clock.control.stages[side.stage].turns is None:
        return ""
    return f", {words.counted(side.periods, 'turn', 'turns')} to the next stage"


class LowTime:
    """Says once for each side of a match that its time is low."""

    def __init__(self) -> None:
        self._warned: set[tuple[str, int]] = set()

    def due_ms(self, model: Model) -> int | None:
        """The server's time at which a warning of the viewer is due; None without one."""
        match = model.match
        clock = clock_of(match.clock) if match is not None and model.running else None
        if match is None or clock is None or not clock.runs or clock.turn not in _own(model):
            return None
        if (match.id, clock.turn) in self._warned:
            return None
        return clock.since_ms + max(0, _left_until_low_ms(clock))

    def warning(self, model: Model, at_ms: int) -> str:
        """The warning, if it is due now, which counts as said; "" if it is not."""
        due_ms = self.due_ms(model)
        if due_ms is None or at_ms < due_ms or model.match is None:
            return ""
        clock = clock_of(model.match.clock)
        assert clock is not None, "a warning is due"
        self._warned.add((model.match.id, clock.turn))
        left = side_text(clock, sides_at(clock, at_ms)[clock.turn])
        whose = f"{words.side_name(words.board_of(model), clock.turn)} is"
        return f"{whose if model.is_one_screen else 'You are'} low on time: {left}."


def _own(model: Model) -> tuple[int, ...]:
    """The seats for which the viewer plays."""
    if model.my_seat is None:
        return ()
    return (0, 1) if model.is_one_screen else (model.my_seat,)


def _left_until_low_ms(clock: Clock) -> int:
    """The time from `since_ms` on after which the side to move has little time, if it goes on."""
    side = clock.sides[clock.turn]
    low_ms = low_time_ms(clock.control, side.stage)
    free_ms = available_ms(clock) - side.left_ms
    return side.left_ms + (free_ms if clock.control.overtime is None else 0) - low_ms
