"""Time controls: the text of a clock in the log, the text that people type, and its speed.

A control is one to three stages, each with a base and what a turn gains or has free, and after the
last stage byo-yomi or Canadian overtime. The log has texts in seconds (`300+3`), people write
minutes (`5+3`). None stands for a match without a clock, `-` in the log.
"""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from msgspec import Struct

#: Maximum length of the text of a control, in characters.
MAX_CONTROL = 80
#: Maximum number of stages.
MAX_STAGES = 3
#: Maximum time of a stage, and maximum time that gains may accumulate, in seconds.
MAX_BASE_S = 21_600
#: Maximum gain or delay of a turn, in seconds.
MAX_GAIN_S = 180
#: Maximum length of a period of overtime, in seconds.
MAX_OVERTIME_S = 3_600
#: Maximum number of periods, and of turns of a stage or of Canadian overtime.
MAX_COUNT = 200
#: Maximum number of minutes that people may write, which is the highest base.
MAX_MINUTES = 180
#: Minimum time with which a stage without a base starts, in milliseconds.
MIN_START_MS = 3_000

#: What the seconds after the base are: `+` is added after each turn (Fischer), `d` passes in each
#: turn before the clock runs (simple delay), `b` is given back as far as the turn used it
#: (Bronstein).
GainKind = Literal["+", "d", "b"]
#: The classes of controls by the time that a match takes.
Speed = Literal["bullet", "blitz", "rapid", "classical", "untimed"]
#: The class of a match without a clock.
UNTIMED: Speed = "untimed"

#: The estimated time of one side below which a control is of a class, in seconds.
_SPEEDS: tuple[tuple[float, Speed], ...] = ((180, "bullet"), (480, "blitz"), (1500, "rapid"))
#: The number of gains of one side in the estimated time.
_GAINS = 40
#: The number of byo-yomi periods' lengths in the estimated time.
_PERIODS = 25

_STAGE = r"(?:\d{1,3}/)?\d{1,5}(?:[+db]\d{1,3})?(?:<\d{1,5})?"
_CONTROL = re.compile(
    rf"(?P<stages>{_STAGE}(?::{_STAGE})*?)"
    r"(?:\+(?P<count>\d{1,3})(?P<form>[x/])(?P<length>\d{1,4}))?",
    re.ASCII,
)
_STAGE_PARTS = re.compile(
    r"(?:(?P<turns>\d+)/)?(?P<base>\d+)(?:(?P<kind>[+db])(?P<gain>\d+))?(?:<(?P<limit>\d+))?",
    re.ASCII,
)
_MINUTES = re.compile(
    r"(?P<minutes>\d{1,5}(?:\.\d{1,4})?)(?P<rest>(?:[+db]\d{1,3})?(?:\+\d{1,3}[x/]\d{1,4})?)",
    re.ASCII,
)
_FRACTIONS = {"¼": ".25", "½": ".5", "¾": ".75"}

#: Time is low below this, in milliseconds, and below this part of what the stage gave.
MIN_LOW_MS, LOW_PART = 10_000, 8
#: Times below this are shown with tenths of a second, in milliseconds.
TENTHS_BELOW_MS = 10_000

#: What people may write, for messages.
EXPECTED = "5+3 (minutes and seconds), 10d5, 10b5, 10+3x30, or = and seconds, =300+3"


class TimeControlError(ValueError):
    """The text is not a time control; the message says what was expected."""


class Stage(Struct, frozen=True):
    """A stage of a control. Times are in milliseconds.

    The stage ends after `turns` turns of the side; the last stage has None. `limit_ms` is the time
    above which gains do not lift a clock.
    """

    base_ms: int
    kind: GainKind = "+"
    gain_ms: int = 0
    turns: int | None = None
    limit_ms: int | None = None

    @property
    def start_ms(self) -> int:
        """The time that the side receives for the stage: a stage without a base gives its gain, or
        MIN_START_MS if that is more.
        """
        return self.base_ms or max(self.gain_ms, MIN_START_MS)

    @property
    def reserve_ms(self) -> int:
        """The delay that a Bronstein clock holds in addition, as DGT's clocks do (DGT 3000 manual,
        Bronstein): so it allows exactly what a simple delay allows.
        """
        return self.gain_ms if self.kind == "b" else 0


class ByoYomi(Struct, frozen=True, tag=True):
    """Overtime of Japanese form: a period that a turn does not use up starts again."""

    periods: int
    period_ms: int


class Canadian(Struct, frozen=True, tag=True):
    """Overtime of Canadian form: a block of time for a number of turns, again and again."""

    turns: int
    block_ms: int


class TimeControl(Struct, frozen=True):
    """A time control, the same for both sides."""

    stages: tuple[Stage, ...]
    overtime: ByoYomi | Canadian | None = None

    @property
    def counts(self) -> bool:
        """Whether a side has a stage and something that it counts down."""
        return len(self.stages) > 1 or self.overtime is not None

    def count_of(self, stage: int) -> int:
        """What a side counts down when it enters a stage: its turns, or the periods of byo-yomi
        after the last one; 0 where there is neither.
        """
        turns = self.stages[stage].turns
        if turns is not None:
            return turns
        return self.overtime.periods if isinstance(self.overtime, ByoYomi) else 0


@lru_cache(maxsize=256)
def parse_control(text: str) -> TimeControl | None:
    """Parses the text of a control in the log; None for `-`, no clock.

    The matches with the same control share its value. Raises TimeControlError.
    """
    if text == "-":
        return None
    match = _CONTROL.fullmatch(text) if len(text) <= MAX_CONTROL else None
    if match is None:
        raise TimeControlError(
            f"expected a clock such as 300+3, 300d5 or 600+3x30, not {text!r:.60}"
        )
    stages = match["stages"].split(":")
    if len(stages) > MAX_STAGES:
        raise TimeControlError(f"a clock has at most {MAX_STAGES} stages, not {len(stages)}")
    return TimeControl(
        tuple(_parse_stage(stage, stage is stages[-1]) for stage in stages),
        None if match["form"] is None else _parse_overtime(match),
    )


@lru_cache(maxsize=256)
def format_control(control: TimeControl | None) -> str:
    """Formats a control as the log has it; the inverse of `parse_control`."""
    if control is None:
        return "-"
    return ":".join(map(_format_stage, control.stages)) + _format_overtime(control)


def parse_people(text: str) -> TimeControl | None:
    """Parses a control as people type it: minutes and seconds (`5+3`), or `=` and the log's text.

    Blanks, commas and fractions are read as people mean them. None stands for no clock: `-`,
    `none` and `untimed`. Raises TimeControlError.
    """
    plain = _plain(text)
    if plain in ("-", "none", UNTIMED, ""):
        return None
    if plain.startswith("="):
        return parse_control(plain[1:])
    match = _MINUTES.fullmatch(plain)
    if match is None:
        raise TimeControlError(f"expected a clock such as {EXPECTED}, not {text!r:.60}")
    seconds = Fraction(match["minutes"]) * 60
    if seconds > MAX_MINUTES * 60:
        raise TimeControlError(_too_many_minutes(match["minutes"], match["rest"]))
    if seconds.denominator != 1:
        raise TimeControlError(f"{match['minutes']} minutes are no whole number of seconds")
    return parse_control(f"{seconds}{match['rest']}")


def show_control(control: TimeControl | None) -> str:
    """Shows a control in minutes where people write it so, else in seconds; `parse_people` reads
    it.
    """
    if control is None:
        return "-"
    first = control.stages[0]
    quarters, rest = divmod(first.base_ms, 15_000)
    is_short = len(control.stages) == 1 and first.limit_ms is None and rest == 0
    if not is_short or first.base_ms > MAX_MINUTES * 60_000:
        return "=" + format_control(control)
    minutes = f"{quarters / 4:g}"
    gain = "" if control.overtime and not first.gain_ms else f"{first.kind}{first.gain_ms // 1000}"
    return minutes + gain + _format_overtime(control)


def speed_of(control: TimeControl | None) -> Speed:
    """The class of a control by the estimated time of one side: its first stage's base and 40
    gains. Byo-yomi counts as 25 seconds of each of a period's, Canadian overtime as 40 turns.
    """
    if control is None:
        return UNTIMED
    first = control.stages[0]
    estimated_ms: float = first.base_ms + _GAINS * first.gain_ms
    match control.overtime if len(control.stages) == 1 else None:
        case ByoYomi(period_ms=period_ms):
            estimated_ms += _PERIODS * period_ms
        case Canadian(turns=turns, block_ms=block_ms):
            estimated_ms += _GAINS * block_ms / turns
        case _:
            pass
    for limit_s, speed in _SPEEDS:
        if estimated_ms < limit_s * 1000:
            return speed
    return "classical"


def describe_control(control: TimeControl) -> str:
    """Describes a control in words: "5 minutes, and 3 s after each turn"."""
    parts = [_describe_stage(stage) for stage in control.stages]
    match control.overtime:
        case ByoYomi(periods=1, period_ms=period_ms):
            parts.append(f"one period of {_duration(period_ms)}")
        case ByoYomi(periods, period_ms):
            parts.append(f"{periods} periods of {_duration(period_ms)}")
        case Canadian(turns, block_ms):
            parts.append(f"{_duration(block_ms)} for each {_turns(turns)}")
        case None:
            pass
    return ", then ".join(parts)


def show_time(left_ms: int) -> str:
    """Shows a time left, rounded down: `4:58`, `1:04:58`, and `0:09.3` with its tenths."""
    seconds, tenths = divmod(max(0, left_ms) // 100, 10)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
    return f"{text}.{tenths}" if left_ms < TENTHS_BELOW_MS else text


def show_side(control: TimeControl, left_ms: int, stage: int, periods: int) -> str:
    """Shows the time of one side with what its stage counts down: `4:58`, in overtime
    `0:28 + 2 x 30 s` (two periods after this one) and `2:10 for 7 turns`.
    """
    time = show_time(left_ms)
    if stage < len(control.stages):
        return time
    match control.overtime:
        case ByoYomi(period_ms=period_ms) if periods:
            return f"{time} + {periods} x {_duration(period_ms)}"
        case ByoYomi():
            return f"{time}, the last period"
        case Canadian():
            return f"{time} for {_turns(periods)}"
        case None:
            return time


def low_time_ms(control: TimeControl, stage: int) -> int:
    """The time below which a player should hurry: an eighth of the base of the stage, or of a
    period or block of overtime, and at least 10 s.
    """
    if stage < len(control.stages):
        given_ms = control.stages[stage].base_ms
    else:
        match control.overtime:
            case ByoYomi(period_ms=given_ms) | Canadian(block_ms=given_ms):
                pass
            case None:
                given_ms = 0
    return max(MIN_LOW_MS, given_ms // LOW_PART)


def _describe_stage(stage: Stage) -> str:
    """A stage in words: "90 minutes for 40 turns, and 30 s after each turn"."""
    base = _duration(stage.start_ms)
    if stage.turns is not None:
        base += f" for {_turns(stage.turns)}"
    if not stage.gain_ms:
        return base
    gain = _duration(stage.gain_ms)
    match stage.kind:
        case "+":
            limit = "" if stage.limit_ms is None else f" up to {_duration(stage.limit_ms)}"
            return f"{base}, and {gain} after each turn{limit}"
        case "d":
            return f"{base}, and a delay of {gain} in each turn"
        case "b":
            return f"{base}, and up to {gain} of each turn given back"


def _duration(ms: int) -> str:
    """A time of a control in words: "5 minutes", "90 s"."""
    minutes, rest_ms = divmod(ms, 60_000)
    return _minutes(minutes) if minutes and not rest_ms else f"{ms // 1000} s"


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def _parse_stage(text: str, is_last: bool) -> Stage:
    parts = _STAGE_PARTS.fullmatch(text)
    assert parts is not None, "the control's pattern consists of stages"
    base_s, gain_s = int(parts["base"]), int(parts["gain"] or 0)
    if is_last and parts["turns"] is not None:
        raise TimeControlError(f"the last stage has no number of turns: {text!r}")
    if not is_last and parts["turns"] is None:
        raise TimeControlError(f"a stage before the last needs its number of turns: 40/{text}")
    if base_s > MAX_BASE_S:
        raise TimeControlError(f"a stage has at most {MAX_BASE_S} s, not {base_s}")
    if gain_s > MAX_GAIN_S:
        raise TimeControlError(f"a turn gains at most {MAX_GAIN_S} s, not {gain_s}")
    if base_s == gain_s == 0:
        raise TimeControlError("a clock needs a base or a gain of at least 1 s")
    kind: GainKind = {"d": "d", "b": "b"}.get(parts["kind"] or "+", "+")  # type: ignore[assignment]
    return Stage(
        base_s * 1000,
        kind if gain_s else "+",
        gain_s * 1000,
        None if parts["turns"] is None else _count(parts["turns"], "turns of a stage"),
        None if parts["limit"] is None else _limit_s(int(parts["limit"]), base_s, gain_s) * 1000,
    )


def _limit_s(limit_s: int, base_s: int, gain_s: int) -> int:
    """The highest time of a stage; raises TimeControlError unless the stage may start below it."""
    least_s = base_s or max(gain_s, MIN_START_MS // 1000)
    if not least_s <= limit_s <= MAX_BASE_S:
        raise TimeControlError(
            f"the maximum after < is {least_s} s, with which the stage starts, to {MAX_BASE_S} s,"
            f" not {limit_s}"
        )
    return limit_s


def _parse_overtime(match: re.Match[str]) -> ByoYomi | Canadian:
    length_s = int(match["length"])
    if not 1 <= length_s <= MAX_OVERTIME_S:
        raise TimeControlError(f"a period of overtime has 1 to {MAX_OVERTIME_S} s, not {length_s}")
    if match["form"] == "x":
        return ByoYomi(_count(match["count"], "periods"), length_s * 1000)
    return Canadian(_count(match["count"], "turns of overtime"), length_s * 1000)


def _count(text: str, what: str) -> int:
    if not 1 <= int(text) <= MAX_COUNT:
        raise TimeControlError(f"the number of {what} is 1 to {MAX_COUNT}, not {text}")
    return int(text)


def _format_stage(stage: Stage) -> str:
    turns = "" if stage.turns is None else f"{stage.turns}/"
    gain = f"{stage.kind}{stage.gain_ms // 1000}" if stage.gain_ms else ""
    limit = "" if stage.limit_ms is None else f"<{stage.limit_ms // 1000}"
    return f"{turns}{stage.base_ms // 1000}{gain}{limit}"


def _format_overtime(control: TimeControl) -> str:
    match control.overtime:
        case ByoYomi(periods, period_ms):
            return f"+{periods}x{period_ms // 1000}"
        case Canadian(turns, block_ms):
            return f"+{turns}/{block_ms // 1000}"
        case None:
            return ""


def _plain(text: str) -> str:
    """The text without blanks, in lower case, with the signs of the log's form."""
    plain = "".join(text[:200].lower().split()).replace(",", ".").replace("|", "+")
    for sign, decimal in _FRACTIONS.items():
        plain = plain.replace(sign, decimal)
    for sign in ("\N{MINUS SIGN}", "\N{EN DASH}"):
        plain = plain.replace(sign, "-")
    plain = plain.replace("\N{MULTIPLICATION SIGN}", "x")
    return "0" + plain if plain.startswith(".") else plain


def _too_many_minutes(minutes: str, rest: str) -> str:
    """The refusal of minutes that are probably seconds, with the control that was meant."""
    try:
        meant = parse_control(minutes + rest)
    except TimeControlError:
        meant = None
    advice = ""
    if meant is not None:
        whole, seconds = divmod(meant.stages[0].base_ms // 1000, 60)
        time = f"{whole}:{seconds:02} minutes" if seconds else _minutes(whole)
        advice = f"; did you mean ={format_control(meant)}, {time}?"
    return f"{minutes} minutes are more than {MAX_MINUTES}{advice}"


def _minutes(count: int) -> str:
    return "1 minute" if count == 1 else f"{count} minutes"
