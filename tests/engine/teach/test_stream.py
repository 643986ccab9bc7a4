"""A trace as lines that are made while its search runs, and lessons as data for pages."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from engine.game import Position
from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, explain, prepare
from engine.teach.algorithms.study import MAX_NODES
from engine.teach.lessons.catalogue import LESSONS, lesson_traces, load_lesson
from engine.teach.lessons.document import lesson_document, list_lessons
from engine.teach.lessons.first_cutoffs import FOUR_LEVELS
from engine.teach.lessons.lesson import Run, root_of
from engine.teach.output.stream import GrowingRecord, TraceStream
from engine.teach.output.written import in_notation
from engine.teach.requests.task import task_of
from engine.teach.states.state import GameState, State, TreeState
from engine.teach.states.tree import uniform
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace
from tests.support.traces import join_lines, lines_of

#: The lessons without a search of many seconds, whose traces tests/engine/test_study_pool.py has.
SMALL = [name for name in LESSONS if name not in ("tic-tac-toe", "shared-states")]


def stream_of(root: State, plan: Plan, title: str, is_due: Callable[[], bool]) -> bytes:
    """Returns the document of a search; a chunk ends where `is_due` says so."""
    chunks: list[bytes] = []

    def on_leave() -> None:
        if is_due():
            chunks.append(stream.chunk() or b"")

    record = GrowingRecord(on_leave=on_leave)
    search = prepare(root, plan, title, record=record)
    position = root.position if isinstance(root, GameState) else None
    stream = TraceStream(search, record, position)
    chunks.append(stream.head())
    value = search.run()
    chunks += [stream.chunk() or b"", *stream.written(), stream.end(value, search.size())]
    return b"".join(chunks)


def streamed(run: Run, is_due: Callable[[], bool]) -> Trace:
    """Returns the trace of a lesson's run, joined from its lines."""
    root = root_of(run.subject, run.plan.utilities)
    return join_lines(lines_of(stream_of(root, run.plan, run.caption, is_due)))


@pytest.mark.parametrize("name", SMALL)
def test_the_lines_of_a_lesson_say_its_traces(name: str) -> None:
    """Joined, the chunks of each search are the trace of `explain`, wherever they were cut."""
    rng = random.Random(name)
    for run, trace in zip(load_lesson(name).runs, lesson_traces(name), strict=True):
        assert streamed(run, lambda: rng.random() < rng.choice((0.1, 1))) == trace


def test_a_skipped_subtree_comes_with_its_numbers() -> None:
    """What alpha-beta skips in the four-level tree is sent: 13 and 14 under J, 2 beside 5.

    A search with a depth limit, and a tree that is too large to draw, send none.
    """
    root = TreeState.at_root(FOUR_LEVELS)
    lines = lines_of(stream_of(root, Plan("alphabeta"), "", lambda: True))
    sent = [line["skipped"] for line in lines if "skipped" in line and line["skipped"]["move"]]
    subtrees = {m: s for part in sent for m, s in zip(part["move"], part["subtree"], strict=True)}
    assert subtrees["J"] == ["min", None, [["J1", "leaf", 13, []], ["J2", "leaf", 14, []]]]
    assert subtrees["K2"] == ["leaf", 2, []]
    assert list(subtrees) == ["J", "K2", "L2", "F"]
    large = TreeState(uniform(("max", "min") * 3, 3, tuple(range(729))), 1)
    for state, plan in ((root, Plan("alphabeta", depth=4)), (large, Plan("alphabeta"))):
        lines = lines_of(stream_of(state, plan, "", lambda: True))
        assert not any("subtree" in line.get("skipped", ()) for line in lines)


def test_infinite_values_are_texts() -> None:
    """Infinite utilities and open ends are different things in the lines."""
    tree = TreeState.at_root(parse_tree("max(min(inf, 3), min(-inf, 2), 1)"))
    trace = join_lines(lines_of(stream_of(tree, Plan("minimax"), "", lambda: True)))
    assert trace == explain(tree, Plan("minimax"))
    assert -float("inf") in trace.nodes.value


def random_position(game: str, seed: int) -> Position:
    """A position after some random moves."""
    rng = random.Random(seed)
    position = load_game(game).start()
    for _ in range(rng.randint(4, 30)):
        after = position.play(rng.choice(position.moves()))
        if after.outcome() is not None:
            break
        position = after
    return position


def written_moves(lines: list[dict[str, Any]]) -> dict[str, dict[int, str]]:
    """The moves that the lines of a trace write otherwise than as tokens, by row."""
    found: dict[str, dict[int, str]] = {"nodes": {}, "skipped": {}}
    for line in lines:
        for name, columns in line.get("written", {}).items():
            found[name] |= zip(columns["row"], columns["move"], strict=True)
    return found


@pytest.mark.parametrize("algorithm", ["alphabeta", "minimax"])
@pytest.mark.parametrize(
    ("game", "depth"), [("chess", 2), ("draughts", 4), ("international-draughts", 3)]
)
def test_each_move_is_written_as_players_do(game: str, depth: int, algorithm: str) -> None:
    """The lines after the search have the notation of every move where it is not the token.

    Of more than 12 skipped moves they have the first 6. The end has the best line.
    """
    count = 0
    for seed in range(4):
        start = random_position(game, seed)
        plan = Plan(algorithm, depth=depth, plain_limit=0, max_trace=600)
        lines = lines_of(
            stream_of(GameState.at_root(start, plan.utilities), plan, "", lambda: True)
        )
        written, trace = written_moves(lines), join_lines(lines)
        rests = [line["rest"] for line in lines if "written" in line]
        assert rests == sorted(rests, reverse=True)
        assert rests[-1] == 0
        positions = [start]
        for row, (parent, move) in enumerate(
            zip(trace.nodes.parent[1:], trace.nodes.move[1:], strict=True), 1
        ):
            before = positions[parent]
            notation = before.notation(before.parse_move(move))
            assert written["nodes"].get(row, move) == notation, (start.text(), row)
            positions.append(before.play(before.parse_move(move)))
        lists: dict[int, list[int]] = {}
        for entry, parent in enumerate(trace.skipped.parent):
            lists.setdefault(parent, []).append(entry)
        for parent, entries in lists.items():
            before = positions[parent]
            for entry in entries if len(entries) <= 12 else entries[:6]:
                move = trace.skipped.move[entry]
                notation = before.notation(before.parse_move(move))
                assert written["skipped"].get(entry, move) == notation, (start.text(), entry)
        best, position = [], start
        for move in trace.line:
            best.append(position.notation(position.parse_move(move)))
            position = position.play(position.parse_move(move))
        assert lines[-1]["end"]["written"] == best
        shown = in_notation(trace, GameState.at_root(start, plan.utilities))
        rows = range(len(trace.nodes.move))
        assert shown.nodes.move == tuple(
            written["nodes"].get(row, trace.nodes.move[row]) for row in rows
        )
        assert list(shown.line) == best
        count += len(written["nodes"]) + len(written["skipped"])
    assert count > 100 or game != "chess"


def test_tokens_need_no_second_writing() -> None:
    """A game whose players write tokens, and a tree, have nothing but the chunks and the end."""
    game = load_game("sticks").start()
    searches: tuple[tuple[State, Plan], ...] = (
        (GameState.at_root(game, Plan().utilities), Plan("alphabeta", depth=2)),
        (TreeState.at_root(FOUR_LEVELS), Plan("alphabeta")),
    )
    for state, plan in searches:
        lines = lines_of(stream_of(state, plan, "", lambda: True))
        assert not any("written" in part for line in lines for part in (line, *line.values()))
        assert in_notation(trace := explain(state, plan), state) is trace


@pytest.mark.parametrize("name", SMALL)
def test_a_lesson_as_data(name: str) -> None:
    """A lesson has its texts without places to fill, and a request that makes each search again."""
    made = lesson_document(name, lesson_traces(name))
    document = msgspec.json.decode(msgspec.json.encode(made))
    texts = [document["page"], *document["look_for"], *document["solution"]]
    assert not any("{" in text for text in texts)
    for run, trace in zip(made["runs"], lesson_traces(name), strict=True):
        task = task_of(run["request"], MAX_NODES)
        again = explain(task.root, replace(task.plan, plain_limit=0))
        assert again.nodes == trace.nodes
        assert (again.steps, again.skipped) == (trace.steps, trace.skipped)


def test_the_list_of_lessons() -> None:
    """All lessons are in the list, in the recommended order; each knows its neighbours."""
    topics = list_lessons()["topics"]
    listed = [lesson for topic in topics for lesson in topic["lessons"]]
    assert [lesson["name"] for lesson in listed] == list(LESSONS)
    exercises = [lesson["name"] for lesson in listed if lesson["is_exercise"]]
    assert exercises[:3] == ["beta-cut", "opaque-moves", "polymorphism"]
    assert all(name.startswith("bug-") for name in exercises[3:])
    first, last = lesson_document(LESSONS[0]), lesson_document(LESSONS[-1])
    assert (first["previous"], first["next"]["name"]) == (None, LESSONS[1])
    assert (last["previous"]["name"], last["next"]) == (LESSONS[-2], None)
    assert first["next"]["title"] == load_lesson(LESSONS[1]).title
