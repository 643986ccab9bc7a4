"""The checker of analyses: what readers received over HTTP must satisfy I32.

I32: the analysis of a match is a function of its moves, the number of nodes and the engine. So all
readings of it agree, also between two runs. Every position is analysed once. Losses, marks and the
summary follow from each other by the published formulas.

The checker uses none of the server's code.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

#: The least loss of each mark, the greatest first.
MARKS = ((0.20, "blunder"), (0.10, "mistake"), (0.05, "inaccuracy"))
#: The rounding error of a loss, which has four decimals.
LOSS_ERROR = 0.00011
#: The rounding error of an accuracy, which has one decimal.
ACCURACY_ERROR = 0.06


@dataclass(frozen=True, slots=True)
class Reading:
    """The lines that a reader received of a match's analysis, and the moves of the match.

    `run` names the run, such as a server whose store began empty.
    """

    run: str
    match: str
    moves: tuple[str, ...]
    lines: tuple[dict[str, Any], ...]


def check_analyses(readings: Iterable[Reading]) -> list[str]:
    """Returns every violation of I32; empty for correct analyses."""
    faults: list[str] = []
    known: dict[tuple[Any, ...], tuple[str, Any]] = {}
    for reading in readings:
        faults += [f"I32: {reading.run}: {fault}" for fault in _check_lines(reading)]
        for line in reading.lines:
            for entry in line.get("moves", ()):
                key = (reading.moves, line["nodes"], line.get("engine"), entry["ply"])
                faults += _compare(known, key, reading.run, _fixed(entry))
                if "loss" in entry or entry["ply"] == len(reading.moves):
                    faults += _compare(known, (*key, "whole"), reading.run, entry)
    return faults


def _compare(
    known: dict[tuple[Any, ...], tuple[str, Any]], key: tuple[Any, ...], run: str, entry: Any
) -> Iterator[str]:
    """Yields a fault if another reading had another entry for the same function's arguments."""
    other_run, other = known.setdefault(key, (run, entry))
    if other != entry:
        yield f"I32: ply {key[3]} differs between {other_run} and {run}: {other} and {entry}"


def _fixed(entry: dict[str, Any]) -> dict[str, Any]:
    """The part of an entry that does not depend on the position after the move."""
    return {name: entry[name] for name in entry if name not in ("loss", "mark", "says_mark")}


def _check_lines(reading: Reading) -> Iterator[str]:
    """Yields the faults of one reader's lines."""
    done = 0
    for line in reading.lines:
        if line["plies"] != len(reading.moves) + 1:
            yield f"{line['plies']} positions of {len(reading.moves)} moves"
        plies = [entry["ply"] for entry in line.get("moves", ())]
        if plies != sorted(set(plies)):
            yield f"the plies {plies}"
        if line["done_plies"] < done:
            yield f"{line['done_plies']} positions are done, after {done}"
        done = line["done_plies"]
        yield from _check_entries(reading, line)
        if line["state"] == "done":
            yield from _check_whole(reading, line, plies)


def _check_entries(reading: Reading, line: dict[str, Any]) -> Iterator[str]:
    for entry in line.get("moves", ()):
        loss = entry.get("loss")
        if loss is None:
            continue
        candidates = entry.get("candidates", ())
        mark = next((mark for least, mark in MARKS if loss >= least - LOSS_ERROR), None)
        exact = next((mark for least, mark in MARKS if loss >= least + LOSS_ERROR), None)
        if entry.get("mark") not in (mark, exact):
            yield f"ply {entry['ply']}: a loss of {loss} has the mark {entry.get('mark')}"
        best = candidates[0]["move"] if candidates else entry.get("best")
        if best == reading.moves[entry["ply"]] and loss != 0:
            yield f"ply {entry['ply']}: the best move lost {loss}"
        if best != entry.get("best"):
            yield f"ply {entry['ply']}: {best} is the best candidate, {entry.get('best')} the best"


def _check_whole(reading: Reading, line: dict[str, Any], plies: Sequence[int]) -> Iterator[str]:
    """Yields the faults of a complete analysis."""
    if list(plies) != list(range(len(reading.moves) + 1)):
        yield f"a complete analysis has the plies {plies}"
        return
    summary = line.get("summary")
    if summary is None:
        yield "a complete analysis has no summary"
        return
    entries = line["moves"][:-1]
    if any("loss" not in entry for entry in entries):
        yield "a complete analysis has a move without a loss"
        return
    for seat in (0, 1):
        own = [entry for entry in entries if entry["seat"] == seat]
        accuracy = summary["accuracy"][seat]
        if (accuracy is None) != (not own):
            yield f"seat {seat} with {len(own)} moves has the accuracy {accuracy}"
        elif own:
            expected = 100 * (1 - sum(entry["loss"] for entry in own) / len(own))
            if abs(expected - accuracy) > ACCURACY_ERROR:
                yield f"seat {seat} has the accuracy {accuracy}, {expected:.2f} by its losses"
        for _, mark in MARKS:
            count = sum(entry.get("mark") == mark for entry in own)
            if summary["counts"][seat][mark] != count:
                yield f"seat {seat} has {count} times {mark}, {summary['counts'][seat]} counted"
