"""A finished trace as the lines of a trace's stream, for tests of the browser client."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from engine.teach.trace import Trace, encode_json

#: The events of a search in the order of their numbers in the stream.
EVENTS = ("enter", "returned", "narrowed", "cut", "leave")
#: The fields of a trace that its end contains.
END_FIELDS = ("counts", "value", "line", "meaning", "truncated")
#: The columns of a node that are known when the search leaves it.
LEFT_COLUMNS = ("value", "bound", "reason")


def stream_lines(trace: Trace, step_counts: Sequence[int] = ()) -> list[str]:
    """Returns a trace as the lines of its stream.

    `step_counts` has the number of steps in each chunk but the last; without it there is one chunk.
    """
    columns: dict[str, Any] = json.loads(encode_json(trace))
    nodes, skipped, steps = (columns.pop(name) for name in ("nodes", "skipped", "steps"))
    end = {name: columns.pop(name) for name in END_FIELDS}
    head = {**columns, "options": {}, "max_nodes": 1_000_000, "board": None, "start": None}
    chunks = _chunks(nodes, skipped, steps, step_counts)
    return [json.dumps(line) for line in ({"head": head}, *chunks, {"end": end})]


def _chunks(
    nodes: dict[str, list[Any]],
    skipped: dict[str, list[Any]],
    steps: dict[str, list[Any]],
    step_counts: Sequence[int],
) -> Iterator[dict[str, Any]]:
    """Yields the chunks; a skipped move is in the chunk of the step that skips it."""
    node_count = skipped_count = first = 0
    for count in (*step_counts, len(steps["what"])):
        part = slice(first, min(first + count, len(steps["what"])))
        events = list(zip(steps["what"][part], steps["node"][part], strict=True))
        entered = [row for what, row in events if what == "enter"]
        left = [row for what, row in events if what == "leave"]
        skipping = {row for what, row in events if what in ("cut", "leave")}
        new = node_count, node_count + len(entered)
        gone = skipped_count, skipped_count
        while gone[1] < len(skipped["parent"]) and skipped["parent"][gone[1]] in skipping:
            gone = gone[0], gone[1] + 1
        left_columns = {name: [nodes[name][row] for row in left] for name in LEFT_COLUMNS}
        chunk = {
            "nodes": {
                name: column[slice(*new)]
                for name, column in nodes.items()
                if name not in LEFT_COLUMNS
            },
            "left": {"row": left, **left_columns},
            "skipped": {name: column[slice(*gone)] for name, column in skipped.items()},
            "steps": {name: column[part] for name, column in steps.items()},
        }
        chunk["steps"]["what"] = [EVENTS.index(what) for what in chunk["steps"]["what"]]
        yield chunk
        node_count, skipped_count, first = new[1], gone[1], part.stop
