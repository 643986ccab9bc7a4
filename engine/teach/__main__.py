"""The classic search algorithms, step by step: on a lesson, a game, a tree or a graph of states."""

import argparse
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from engine.game import GameError, GameFault, Position
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import game_ids, load_game
from engine.teach.algorithms.cost import cost_warning, drop_large_count
from engine.teach.algorithms.cutoffs import CUT_OFFS
from engine.teach.algorithms.explain import ALGORITHMS, FORMS, Plan, explain
from engine.teach.algorithms.order import ORDERS
from engine.teach.algorithms.study import INF
from engine.teach.errors import NotPossible, TeachError
from engine.teach.lessons.catalogue import LESSONS, TOPICS, lesson_traces, load_lesson
from engine.teach.lessons.lesson import (
    BugHunt,
    Exercise,
    Figure,
    Lesson,
    Statements,
    format_lesson,
    root_of,
)
from engine.teach.lessons.quiz import ask_line, ask_questions, ask_statements
from engine.teach.options import check_options, has_subject, make_parser, make_task
from engine.teach.output.classic import classic_match, play_classic
from engine.teach.output.compare import format_comparison
from engine.teach.output.graph_drawing import format_states
from engine.teach.output.stepping import Screen, step_through
from engine.teach.output.style import Style
from engine.teach.output.svg import Drawing, document, draw_graph, draw_trace
from engine.teach.output.text import LOGS, format_trace
from engine.teach.output.written import in_notation
from engine.teach.requests.task import Task
from engine.teach.states.evaluators import EVALUATORS
from engine.teach.states.graph import graph_of
from engine.teach.states.state import GameState, State
from engine.teach.trace import Trace, encode_json

#: Maximum number of nodes of a lesson's search that `--svg` draws, and that `--step` and `--quiz`
#: use if the page draws no search.
MAX_SMALL_NODES = 400
#: A search and the state that it starts from.
Searched = tuple[Trace, State]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, 2 after printing an error on stderr, or 130 if interrupted."""
    options = make_parser(__doc__).parse_args(arguments)
    try:
        _run(options)
        sys.stdout.flush()
    except (GameError, GameFault, TeachError) as error:
        print(f"teach: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


def _run(options: argparse.Namespace) -> None:
    """Runs the command that the options describe."""
    if options.list:
        sys.stdout.write(_list())
        return
    if options == make_parser(__doc__).parse_args([]):
        sys.stdout.write(_topics())
        return
    if (options.match or options.classic) and not has_subject(options):
        options.game = "sticks"
    check_options(options)
    if options.lesson is not None:
        _show_lesson(options)
        return
    task = make_task(options)
    if options.log == "leaves":
        sys.stdout.write(_sheet(task.root, task.plan, task.title))
        return
    if options.compare:
        sys.stdout.write(_comparison(options, task.root, task.plan))
        return
    if options.match:
        lines = classic_match(_position(task, "--match"), task.plan, options.match.split(","))
        sys.stdout.write("\n".join(lines) + "\n")
        return
    if options.classic:
        _play_classic(task)
        return
    if options.states:
        _show_states(options, task)
        return
    if warning := cost_warning(task.root, task.plan):
        print(f"teach: {warning}", file=sys.stderr, flush=True)
    plan = drop_large_count(task.root, task.plan)
    trace = explain(task.root, plan, task.title)
    _draw_searches(options, [(trace, task.root)])
    if options.json:
        sys.stdout.write(_json(trace))
    elif options.step or options.quiz:
        _interact(options, [(trace, task.root)])
    else:
        log, style = _log(options) or "tree", terminal_style(sys.stdout)
        sys.stdout.write(format_trace(trace, log, style, task.root))


def _sheet(root: State, plan: Plan, title: str) -> str:
    """An exercise: the whole tree of a search with its leaves, without any result."""
    plain = replace(plan, algorithm="minimax", form="flat", plain_limit=0)
    return format_trace(explain(root, plain, title), "leaves", terminal_style(sys.stdout), root)


def _comparison(options: argparse.Namespace, root: State, plan: Plan) -> str:
    """The searches of --compare in two columns."""
    plans = [
        replace(plan, form=name) if name in FORMS else replace(plan, algorithm=name)
        for name in options.compare
    ]
    for each in plans:
        if warning := cost_warning(root, each):
            print(f"teach: {warning}", file=sys.stderr, flush=True)
    left, right = (in_notation(explain(root, each), root) for each in plans)
    return format_comparison(left, right)


def _position(task: Task, option: str) -> Position:
    """The position of a task from which a classic game starts."""
    if not isinstance(task.root, GameState):
        raise NotPossible(f"{option} goes with --game, not with a tree or a graph")
    return task.root.position


class Terminal:
    """The console of this process. Without a terminal it repeats what it reads."""

    def say(self, line: str) -> None:
        print(line)

    def ask(self, prompt: str) -> str:
        print(prompt, end="", flush=True)
        answer = sys.stdin.readline()
        if not answer:
            raise EOFError
        if not sys.stdin.isatty():
            print(answer.rstrip("\r\n"))
        return answer

    def refuse(self, reason: str) -> None:
        print(f"({reason})")


def _play_classic(task: Task) -> None:
    """Plays the first program on this terminal."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        play_classic(_position(task, "--classic"), task.plan, Terminal())
    except EOFError:
        print()
        raise NotPossible("the input ended before the game was over") from None


def _show_lesson(options: argparse.Namespace) -> None:
    lesson = load_lesson(options.lesson)
    if options.log == "leaves":
        run = lesson.runs[0]
        sys.stdout.write(_sheet(root_of(run.subject, run.plan.utilities), run.plan, lesson.title))
        return
    if options.compare:
        run = lesson.runs[0]
        root = root_of(run.subject, run.plan.utilities)
        sys.stdout.write(_comparison(options, root, run.plan))
        return
    traces = lesson_traces(options.lesson)
    shown = _shown_searches(lesson, traces)
    roots = [root_of(run.subject, run.plan.utilities) for run in lesson.runs]
    searched = list(zip(traces, roots, strict=True))
    small = [each for each in searched if each[0].counts.nodes <= MAX_SMALL_NODES]
    _draw_searches(options, small or searched)
    if options.json:
        sys.stdout.write(_json(traces))
    elif options.step or options.quiz:
        _interact(options, shown, lesson.exercise if options.quiz else None)
    else:
        style = terminal_style(sys.stdout)
        sys.stdout.write(format_lesson(lesson, traces, _log(options), style))


def _shown_searches(lesson: Lesson, traces: Sequence[Trace]) -> list[Searched]:
    """The searches to draw, to step through and to ask about.

    They are those that the page draws, or the small ones if it draws none. The page of a figure to
    complete draws its tree only; there they are the searches that it does not draw.
    """
    runs = zip(lesson.runs, traces, strict=True)
    searched = [(run, trace, root_of(run.subject, run.plan.utilities)) for run, trace in runs]
    if isinstance(lesson.exercise, Figure):
        return [(trace, root) for run, trace, root in searched if run.log == "none"]
    drawn = [(trace, root) for run, trace, root in searched if run.log != "none"]
    small = [(t, root) for _, t, root in searched if t.counts.nodes <= MAX_SMALL_NODES]
    return drawn or small


def _show_states(options: argparse.Namespace, task: Task) -> None:
    depth = INF if task.plan.depth is None else task.plan.depth
    graph = task.graph or graph_of(task.root, depth)
    _draw(options, [(task.title, draw_graph(graph))] if options.svg else [])
    sys.stdout.write(format_states(graph, task.title, terminal_style(sys.stdout)))


def _draw_searches(options: argparse.Namespace, searched: Sequence[Searched]) -> None:
    """Writes the drawings of searches into the file of --svg."""
    if options.svg:
        shown = (in_notation(trace, root) for trace, root in searched)
        _draw(options, [(trace.title, draw_trace(trace)) for trace in shown])


def _draw(options: argparse.Namespace, drawings: Sequence[tuple[str, Drawing]]) -> None:
    """Writes the drawings into the file of --svg."""
    if not options.svg:
        return
    try:
        Path(options.svg).write_text(document(drawings), "utf-8")
    except OSError as error:
        raise NotPossible(f"{options.svg} cannot be written: {error.strerror}") from error


def _log(options: argparse.Namespace) -> str | None:
    log: str | None = "none" if options.summary else options.log
    return log


def _interact(
    options: argparse.Namespace, searched: Sequence[Searched], exercise: Exercise | None = None
) -> None:
    """Steps through the searches, or asks questions about them, until the user quits.

    The statements and the listing of an exercise come first.
    """
    size = shutil.get_terminal_size()
    screen = Screen(
        sys.stdout.write,
        _ask,
        terminal_style(sys.stdout),
        size.lines,
        sys.stdout.isatty() and sys.stdin.isatty(),
    )
    if isinstance(exercise, Statements) and not ask_statements(exercise, screen):
        return
    if isinstance(exercise, BugHunt) and not ask_line(exercise, screen):
        return
    for trace, root in searched:
        is_finished = (
            ask_questions(trace, root, screen)
            if options.quiz
            else step_through(in_notation(trace, root), screen)
        )
        if not is_finished:
            return


def _ask(prompt: str) -> str | None:
    sys.stdout.write(prompt)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not (sys.stdin.isatty() and line):
        sys.stdout.write("\n")
    return line or None


def terminal_style(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Style:
    """Returns the style for a stream: guide lines and colours on a terminal that has them."""
    is_terminal = stream.isatty()
    has_colour = not environ.get("NO_COLOR") and environ.get("TERM", "") not in ("", "dumb")
    has_guides = "utf" in (stream.encoding or "").lower()
    return Style(is_terminal and has_guides, is_terminal and has_colour)


def _json(answer: object) -> str:
    return encode_json(answer).decode() + "\n"


def _topics() -> str:
    """The lessons by topic, on one screen."""
    lines = ["plyroom teach LESSON shows one of these lessons, in this order for a course:"]
    for topic, names in TOPICS.items():
        lines.append(f"{topic}:")
        lines += textwrap.wrap(
            ", ".join(names),
            76,
            break_on_hyphens=False,
            initial_indent="  ",
            subsequent_indent="  ",
        )
    return "\n".join([*lines, "--list has their titles, --help all options."]) + "\n"


def _list() -> str:
    lines = ["lessons"]
    lines += [f"  {name:22} {load_lesson(name).title}" for name in LESSONS]
    lines.append("games")
    lines += [f"  {name:22} {load_game(name).title}" for name in game_ids()]
    for title, texts in (("algorithms", ALGORITHMS), ("forms", FORMS)):
        lines += [title, *(f"  {name:22} {text}" for name, text in texts.items())]
    for title, names in (
        ("orders", ORDERS),
        ("cut-off rules", CUT_OFFS),
        ("evaluators", EVALUATORS),
        ("logs", sorted(LOGS)),
    ):
        lines += [
            title,
            *textwrap.wrap("  ".join(names), 78, initial_indent="  ", subsequent_indent="  "),
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    ignore_overflow()
    sys.exit(main())
