"""Texts of time controls: what is written is read, what people type is understood."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from server.time_controls import (
    MAX_BASE_S,
    MAX_CONTROL,
    MAX_COUNT,
    MAX_GAIN_S,
    MAX_OVERTIME_S,
    ByoYomi,
    Canadian,
    Stage,
    TimeControl,
    TimeControlError,
    describe_control,
    format_control,
    low_time_ms,
    parse_control,
    parse_people,
    show_control,
    show_side,
    show_time,
    speed_of,
)


@some.composite
def stages(draw: some.DrawFn, is_last: bool, short: bool = False) -> Stage:
    base_s = draw(some.integers(0, 20 if short else MAX_BASE_S))
    gain_s = draw(some.integers(1 if base_s == 0 else 0, 5 if short else MAX_GAIN_S))
    kind = draw(some.sampled_from("+db")) if gain_s else "+"
    least_s = base_s or max(gain_s, 3)
    return Stage(
        base_s * 1000,
        kind,  # type: ignore[arg-type]
        gain_s * 1000,
        None if is_last else draw(some.integers(1, 4 if short else MAX_COUNT)),
        draw(some.none() | some.integers(least_s, MAX_BASE_S).map(lambda each: each * 1000)),
    )


@some.composite
def controls(draw: some.DrawFn, short: bool = False) -> TimeControl:
    """Controls of every kind; short ones run out within a few turns."""
    count = draw(some.integers(1, 3))
    counts, lengths = some.integers(1, 3 if short else MAX_COUNT), some.integers(1, MAX_OVERTIME_S)
    lengths_ms = (some.integers(1, 8) if short else lengths).map(lambda each: each * 1000)
    return TimeControl(
        tuple(draw(stages(number + 1 == count, short)) for number in range(count)),
        draw(some.none() | some.builds(ByoYomi, counts, lengths_ms)
             | some.builds(Canadian, counts, lengths_ms)),
    )  # fmt: skip


@given(controls())
def test_what_is_written_is_read(control: TimeControl) -> None:
    """parse(format(c)) = c, also through the form that people write; the text fits its column."""
    text = format_control(control)
    assert parse_control(text) == control
    assert parse_people("=" + text) == control
    assert parse_people(show_control(control)) == control
    assert len(text) <= MAX_CONTROL


@given(some.text("0123456789+dbx/:<-", max_size=20) | some.text(max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    """A text is a control or gets a sentence; what is read comes out in its one written form."""
    for parse in (parse_control, parse_people):
        try:
            control = parse(text)
        except TimeControlError:
            continue
        assert parse_control(format_control(control)) == control


@pytest.mark.parametrize(
    ("text", "shown", "speed"),
    [
        ("-", "-", "untimed"), ("60", "1+0", "bullet"), ("179", "=179", "bullet"),
        ("180", "3+0", "blitz"), ("120+1", "2+1", "bullet"), ("300+3", "5+3", "blitz"),
        ("300d5", "5d5", "rapid"), ("300b5", "5b5", "rapid"), ("479", "=479", "blitz"),
        ("480", "8+0", "rapid"), ("1500", "25+0", "classical"), ("0+3", "0+3", "bullet"),
        ("600+3x30", "10+3x30", "rapid"), ("600+25/300", "10+25/300", "rapid"),
        ("60+9x4", "1+9x4", "bullet"), ("15", "0.25+0", "bullet"),
        ("300+30<900", "=300+30<900", "classical"),
        ("40/5400+30:1800+30", "=40/5400+30:1800+30", "classical"),
    ],
)  # fmt: skip
def test_texts_have_a_form_for_people_and_a_speed(text: str, shown: str, speed: str) -> None:
    """The forms of the documentation, with the class of each, at the classes' borders too."""
    control = parse_control(text)
    assert (format_control(control), show_control(control), speed_of(control)) == (
        text, shown, speed,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("5+3", "300+3"), ("0.5+0", "30"), ("½+0", "30"), ("1½+1", "90+1"), ("0,25", "15"),
        ("10d5", "600d5"), ("10B5", "600b5"), ("5 + 3", "300+3"), ("5|3", "300+3"), ("60", "3600"),
        ("10+3\N{MULTIPLICATION SIGN}30", "600+3x30"),
        ("=300+3", "300+3"), ("= 300d5", "300d5"), ("180", "10800"),
        ("untimed", "-"), ("\N{EN DASH}", "-"), (" None ", "-"), (".5+1", "30+1"),
    ],
)  # fmt: skip
def test_what_people_type_is_understood(typed: str, text: str) -> None:
    """Minutes and seconds with blanks, commas, fractions and typographic signs."""
    assert format_control(parse_people(typed)) == text


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("300+3", "did you mean =300+3, 5 minutes?"), ("181+0", "did you mean =181, 3:01 minutes?"),
        ("0.001+3", "no whole number of seconds"), ("five", "expected a clock such as 5+3"),
        ("5+", "expected a clock"), ("5+181", "at most 180 s"), ("0+0", "at least 1 s"),
        ("=40/600", "the last stage has no number of turns"), ("=600:600", "40/600"),
        ("=300+30<299", "300 s, with which the stage starts"), ("=21601", "at most 21600 s"),
        ("=60:60:60:60", "at most 3 stages"), ("=600+201x30", "1 to 200"),
        ("=600+0x30", "1 to 200"),
        ("=600+3x3601", "1 to 3600 s"), ("=" + "9" * 500, "expected a clock"),
        ("\u0665+\u0663", "expected a clock"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_was_expected(typed: str, words: str) -> None:
    """Minutes that are seconds get the text that was meant."""
    with pytest.raises(TimeControlError) as refusal:
        parse_people(typed)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("300+3", "5 minutes, and 3 s after each turn"),
        ("60", "1 minute"),
        ("90d5", "90 s, and a delay of 5 s in each turn"),
        ("600b10", "10 minutes, and up to 10 s of each turn given back"),
        ("0+1", "3 s, and 1 s after each turn"),
        ("300+30<900", "5 minutes, and 30 s after each turn up to 15 minutes"),
        ("600+3x30", "10 minutes, then 3 periods of 30 s"),
        ("600+1x60", "10 minutes, then one period of 1 minute"),
        ("600+25/300", "10 minutes, then 5 minutes for each 25 turns"),
        (
            "40/5400+30:1800+30",
            "90 minutes for 40 turns, and 30 s after each turn, then 30 minutes,"
            " and 30 s after each turn",
        ),
    ],
)
def test_controls_in_words(text: str, words: str) -> None:
    control = parse_control(text)
    assert control is not None
    assert describe_control(control) == words


@pytest.mark.parametrize(
    ("left_ms", "shown"),
    [
        (300_000, "5:00"), (299_999, "4:59"), (3_898_000, "1:04:58"), (10_000, "0:10"),
        (9_999, "0:09.9"), (120, "0:00.1"), (0, "0:00.0"), (-5, "0:00.0"),
    ],
)  # fmt: skip
def test_times_are_rounded_down(left_ms: int, shown: str) -> None:
    assert show_time(left_ms) == shown


def test_a_side_in_overtime_says_what_it_has_left() -> None:
    """Periods after the present one, and the turns for which a block must last."""
    byo_yomi, canadian = parse_control("600+3x30"), parse_control("600+25/300")
    assert byo_yomi is not None
    assert canadian is not None
    assert show_side(byo_yomi, 298_000, 0, 3) == "4:58"
    assert show_side(byo_yomi, 28_000, 1, 2) == "0:28 + 2 x 30 s"
    assert show_side(byo_yomi, 28_000, 1, 0) == "0:28, the last period"
    assert show_side(canadian, 130_000, 1, 7) == "2:10 for 7 turns"


def test_low_time_is_that_of_the_stage() -> None:
    """The browser's clocks read the same table."""
    table = json.loads((Path(__file__).parents[1] / "data/low-times.json").read_text("utf-8"))
    for text, times in table.items():
        control = parse_control(text)
        assert control is not None
        assert [low_time_ms(control, stage) for stage in range(len(times))] == times, text
        assert len(times) == len(control.stages) + (control.overtime is not None)
