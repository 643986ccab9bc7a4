"""python -m engine.teach LESSON, or with --game or --tree: searches by the book, step by step, and
prints the log.
"""

import argparse
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.command_line import option
from engine.game import GameError, GameFault
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import game_ids, load_game
from engine.teach.errors import NotPossible, TeachError, TreeError
from engine.teach.evaluators import EVALUATORS
from engine.teach.explain import ALGORITHMS, FORMS, Plan, explain
from engine.teach.lessons.catalogue import LESSONS, load_lesson
from engine.teach.lessons.lesson import Lesson, perform
from engine.teach.order import ORDERS
from engine.teach.state import GameState, Scale, State, TreeState
from engine.teach.text import format_trace
from engine.teach.trace import MAX_TRACE_NODES, Trace
from engine.teach.tree import MAX_TREE_TEXT, Tree, decode_tree
from engine.teach.tree_text import parse_tree

GAME_DEPTH = 3
SEARCH_OPTIONS = (
    *("algorithm", "depth", "draw", "evaluator", "form", "lose"),
    *("max_nodes", "option", "order", "position", "seed", "win"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 0 when it printed what was asked, 2 when that is not possible, with the reason
    on stderr.
    """
    asked = _parser().parse_args(arguments)
    try:
        sys.stdout.write(_answer(asked))
        sys.stdout.flush()
    except (GameError, GameFault, TeachError) as error:
        print(f"teach: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine.teach", description=__doc__)
    parser.add_argument("lesson", nargs="?", help="one of the lessons that --list shows")
    parser.add_argument(
        "--list", action="store_true", help="what there is: lessons, games, algorithms and so on"
    )
    parser.add_argument("--game", metavar="G", help="search a position of this game")
    parser.add_argument(
        "--position",
        metavar="TEXT",
        help="start from this position, not from the start of the game",
    )
    parser.add_argument(
        "--option", type=option, action="append", metavar="NAME=VALUE", help="an option of the game"
    )
    parser.add_argument(
        "--tree", metavar="FILE", help="search the tree in this file (JSON or text; - reads stdin)"
    )
    parser.add_argument("--algorithm", metavar="A", help=f"{', '.join(ALGORITHMS)} (alphabeta)")
    parser.add_argument(
        "--form", metavar="F", help=f"how the algorithm is written: {', '.join(FORMS)} (flat)"
    )
    parser.add_argument(
        "--depth",
        metavar="D",
        help=f"plies to look ahead, or end (a game {GAME_DEPTH}, a tree end)",
    )
    parser.add_argument("--order", metavar="O", help=f"{', '.join(ORDERS)} (game)")
    parser.add_argument(
        "--evaluator",
        metavar="E",
        help=f"{', '.join(EVALUATORS)}, material:queen=9,rook=5 (estimate)",
    )
    parser.add_argument("--seed", type=int, help="decides whatever is by lot (0)")
    for name in ("lose", "draw", "win"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"what it is worth to {name}")
    parser.add_argument(
        "--max-nodes", type=int, metavar="N", help="give up beyond so many nodes (1000000)"
    )
    parser.add_argument("--summary", action="store_true", help="leave out the log")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the trace as JSON (of a lesson: a list of traces)",
    )
    return parser


def _answer(asked: argparse.Namespace) -> str:
    """What to print."""
    if asked.list:
        return _list()
    if sum(one is not None for one in (asked.lesson, asked.game, asked.tree)) != 1:
        raise NotPossible(
            "a lesson, --game or --tree is expected, one of them; --list shows what there is"
        )
    if asked.lesson is None:
        trace = _search(asked)
        return _json(trace) if asked.json else format_trace(trace, log=not asked.summary)
    given = [
        f"--{name.replace('_', '-')}" for name in SEARCH_OPTIONS if getattr(asked, name) is not None
    ]
    if given:
        raise NotPossible(
            f"a lesson says itself how to search: {', '.join(given)} goes with --game or --tree"
        )
    lesson = load_lesson(asked.lesson)
    traces = [perform(run) for run in lesson.runs]
    return _json(traces) if asked.json else _page(lesson, traces, log=not asked.summary)


def _json(answer: object) -> str:
    return msgspec.json.encode(answer).decode() + "\n"


def _page(lesson: Lesson, traces: Sequence[Trace], log: bool) -> str:
    """A lesson to read."""
    parts = [f"{lesson.title}\n{'=' * len(lesson.title)}", textwrap.fill(lesson.page, 80)]
    points = [
        textwrap.fill(point, 80, initial_indent="- ", subsequent_indent="  ")
        for point in lesson.look_at
    ]
    parts.append("\n".join(["What to look at:", *points]))
    for number, trace in enumerate(traces, 1):
        parts.append(
            f"--- {number} of {len(traces)} ---\n" + format_trace(trace, log=log).rstrip("\n")
        )
    return "\n\n".join(parts) + "\n"


def _list() -> str:
    lines = ["lessons"]
    lines += [f"  {name:22} {load_lesson(name).title}" for name in LESSONS]
    lines.append("games")
    lines += [f"  {name:22} {load_game(name).title}" for name in game_ids()]
    for title, names in (
        ("algorithms", ALGORITHMS),
        ("forms", FORMS),
        ("orders", ORDERS),
        ("evaluators", EVALUATORS),
    ):
        lines += [title, f"  {'  '.join(names)}"]
    return "\n".join(lines) + "\n"


def _search(asked: argparse.Namespace) -> Trace:
    """The trace of what the options ask for."""
    plain = Plan()
    evaluator = asked.evaluator or plain.evaluator
    tree = read_tree(asked) if asked.tree else None
    usual = "minimax" if tree and tree.players > 1 else plain.algorithm
    plan = Plan(
        algorithm=asked.algorithm or usual,
        depth=_depth(asked.depth, None if asked.tree else GAME_DEPTH),
        order=asked.order or plain.order,
        evaluator=evaluator,
        form=asked.form or plain.form,
        seed=asked.seed or 0,
        scale=_scale(asked, Plan(evaluator=evaluator).ends),
        max_nodes=_max_nodes(asked.max_nodes),
        max_trace=MAX_TRACE_NODES,
    )
    if tree is None:
        root, title = _game_root(asked, plan)
    else:
        root, title = (
            TreeState.at_root(tree),
            tree.title or ("a tree" if asked.tree == "-" else Path(asked.tree).name),
        )
    return explain(root, plan, title)


def _depth(text: str | None, otherwise: int | None) -> int | None:
    if text is None or text == "end":
        return otherwise if text is None else None
    if not text.isascii() or not text.isdigit() or len(text) > 4:
        raise NotPossible(f"a depth is a number of plies, or end, not {text[:40]!r}")
    return int(text)


def _max_nodes(asked: int | None) -> int:
    if asked is not None and asked < 1:
        raise NotPossible(f"--max-nodes is at least 1, not {asked}")
    return Plan().max_nodes if asked is None else asked


def _scale(asked: argparse.Namespace, usual: Scale) -> Scale:
    """What the end is worth: as usual, unless it is said."""
    if asked.lose is asked.draw is asked.win is None:
        return usual
    lose = usual.lose if asked.lose is None else asked.lose
    win = usual.win if asked.win is None else asked.win
    draw = usual.draw if asked.draw is None else asked.draw
    if not lose <= draw <= win or max(-lose, win) > 1_000_000_000:
        raise NotPossible(
            f"lose, draw, win are to rise, up to 1000000000 either way; they are {lose}, {draw}, {win}"
        )
    return Scale(lose, draw, win)


def _game_root(asked: argparse.Namespace, plan: Plan) -> tuple[State, str]:
    game = load_game(asked.game)
    options = dict(asked.option or ())
    position = (
        game.start(options) if asked.position is None else game.position(asked.position, options)
    )
    return GameState.at_root(position, plan.ends), game.title


def read_tree(asked: argparse.Namespace) -> Tree:
    """The tree in a file, or on stdin for "-": JSON where it begins with a brace, text otherwise."""
    for name in ("position", "option", "lose", "draw", "win"):
        if getattr(asked, name) is not None:
            raise NotPossible(
                f"--{name} goes with --game: a tree has its utilities written at its leaves"
            )
    name = asked.tree
    try:
        if name == "-":
            content = sys.stdin.buffer.read(MAX_TREE_TEXT + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(MAX_TREE_TEXT + 1)
        if content.lstrip().startswith(b"{"):
            return decode_tree(content)
        return parse_tree(content.decode("utf-8"))
    except OSError as error:
        raise TreeError(f"{name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TreeError(f"{name} is not text in UTF-8") from error


if __name__ == "__main__":
    ignore_overflow()
    sys.exit(main())
