"""Reads streamed traces back: the lines of a document as the trace that they say."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from engine.teach.algorithms.study import COLUMN
from engine.teach.output.stream import LEFT_COLUMNS, NODE_COLUMNS, STEP_NUMBERS
from engine.teach.trace import Counts, Nodes, Skipped, Steps, Trace

#: The fields of a head that a trace does not have.
HEAD_ONLY = (
    *("algorithm_title", "options", "board", "start", "notation"),
    *("max_nodes", "max_trace"),
)
#: The name of each number of a step.
STEP_NAMES = {number: name for name, number in STEP_NUMBERS.items()}


def lines_of(content: bytes) -> list[dict[str, Any]]:
    """Returns the lines of a document; the last one ends with a line break, too."""
    assert content.endswith(b"\n")
    return [json.loads(line) for line in content.splitlines()]


def join_lines(lines: Sequence[dict[str, Any]]) -> Trace:
    """Returns the trace that the lines say, and checks that they come in their order."""
    (head,), (end,) = lines[0].values(), lines[-1].values()
    assert [*lines[0], *lines[-1]] == ["head", "end"]
    rows: list[list[Any]] = []
    skipped: list[Sequence[Any]] = []
    steps: list[Sequence[Any]] = []
    chunks = [line for line in lines[1:-1] if "written" not in line]
    assert lines[1 : 1 + len(chunks)] == chunks, "the written moves come last"
    for chunk in chunks:
        assert list(chunk) == ["nodes", "left", "skipped", "steps"]
        for values in zip(*(chunk["nodes"][name] for name in NODE_COLUMNS), strict=True):
            row = dict(zip(NODE_COLUMNS, map(_number, values), strict=True))
            row |= {"value": None, "bound": "none", "reason": "all"}
            rows.append([row[name] for name in COLUMN])
        for row_number, *values_left in zip(
            *(chunk["left"][name] for name in ("row", *LEFT_COLUMNS)), strict=True
        ):
            for name, value in zip(LEFT_COLUMNS, values_left, strict=True):
                rows[row_number][COLUMN[name]] = _number(value)
        skipped += _columns(chunk["skipped"][name] for name in ("parent", "move", "below"))
        new_steps = _columns(chunk["steps"][name] for name in ("what", "node", "low", "high"))
        assert all(node < len(rows) for _, node, _, _ in new_steps), "a step names a later node"
        steps += new_steps
    return Trace(
        **{name: value for name, value in head.items() if name not in HEAD_ONLY},
        value=_number(end["value"]),
        line=tuple(end["line"]),
        counts=Counts(**end["counts"]),
        nodes=Nodes(*_columns(rows)),
        skipped=Skipped(*_columns(skipped)),
        steps=Steps(*_columns(map(_step, steps))),
        truncated=end["truncated"],
        meaning=end["meaning"],
    )


def _columns(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True))


def _step(step: Sequence[Any]) -> Sequence[Any]:
    what, node, low, high = step
    return STEP_NAMES[what], node, _number(low), _number(high)


def _number(value: Any) -> Any:
    """Returns a value of JSON as the trace has it."""
    if isinstance(value, list):
        return tuple(map(_number, value))
    return (
        {"inf": math.inf, "-inf": -math.inf}.get(value, value) if isinstance(value, str) else value
    )
