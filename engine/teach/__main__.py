"""python -m engine.teach LESSON, --game G or --tree FILE: prints the log of a textbook search."""

import argparse
import math
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from engine.command_line import option
from engine.game import GameError, GameFault
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import game_ids, load_game
from engine.teach.cutoffs import CUT_OFFS
from engine.teach.errors import NotPossible, TeachError, TreeError
from engine.teach.evaluators import EVALUATORS
from engine.teach.explain import ALGORITHMS, FORMS, Plan, explain
from engine.teach.lessons.catalogue import LESSONS, load_lesson
from engine.teach.lessons.lesson import Lesson, perform
from engine.teach.order import ORDERS
from engine.teach.state import GameState, Scale, State, TreeState
from engine.teach.text import format_trace
from engine.teach.trace import MAX_TRACE_NODES, Number, Trace, encode_json
from engine.teach.tree import MAX_NUMBER, MAX_TREE_TEXT, Tree, decode_tree
from engine.teach.tree_text import parse_tree

#: The default depth of a game's search, in plies.
GAME_DEPTH = 3
#: The utility of a win, a draw or a loss.
UTILITY = re.compile(r"[+-]?(\d{1,10}(\.\d{1,20})?|inf)", re.ASCII)
#: The options that go with --game or --tree, and not with a lesson.
SEARCH_OPTIONS = (
    *("algorithm", "cut_off", "depth", "draw", "evaluator", "form", "fresh", "lose"),
    *("max_nodes", "option", "order", "player", "position", "seed", "win"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, 2 after printing an error on stderr, or 130 if interrupted."""
    options = _parser().parse_args(arguments)
    try:
        sys.stdout.write(_text(options))
        sys.stdout.flush()
    except (GameError, GameFault, TeachError) as error:
        print(f"teach: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine.teach", description=__doc__)
    parser.add_argument("lesson", nargs="?", help="one of the lessons that --list shows")
    parser.add_argument(
        "--list", action="store_true", help="list the lessons, games, algorithms and so on"
    )
    parser.add_argument("--game", metavar="G", help="search a position of this game")
    parser.add_argument(
        "--position",
        metavar="TEXT",
        help="search this position instead of the start of the game",
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
        help=f"plies to look ahead, or end ({GAME_DEPTH} for a game, end for a tree)",
    )
    parser.add_argument("--order", metavar="O", help=f"{', '.join(ORDERS)} (game)")
    parser.add_argument(
        "--evaluator",
        metavar="E",
        help=f"{', '.join(EVALUATORS)}, material:queen=9,rook=5 (estimate)",
    )
    parser.add_argument(
        "--cut-off", metavar="C", help=f"where the search stops: {', '.join(CUT_OFFS)} (depth)"
    )
    parser.add_argument(
        "--player",
        type=int,
        metavar="P",
        help="whose values these are: 1, 2, ... (the side to move); all others play against P",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        default=None,
        help="alpha-beta with a fresh window for each root move",
    )
    parser.add_argument("--seed", type=int, help="the seed of all random choices (0)")
    for name, noun in (("lose", "loss"), ("draw", "draw"), ("win", "win")):
        parser.add_argument(
            f"--{name}", metavar="N", help=f"the utility of a {noun}, a number, inf or -inf"
        )
    parser.add_argument(
        "--max-nodes", type=int, metavar="N", help="fail after this many nodes (1000000)"
    )
    parser.add_argument("--summary", action="store_true", help="leave out the log")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the trace as JSON (of a lesson: a list of traces)",
    )
    return parser


def _text(options: argparse.Namespace) -> str:
    """Runs the searches and returns the text to print."""
    if options.list:
        return _list()
    if [options.lesson, options.game, options.tree].count(None) != 2:
        raise NotPossible("give exactly one of a lesson, --game and --tree; --list shows the names")
    if options.lesson is None:
        trace = _search(options)
        return _json(trace) if options.json else format_trace(trace, log=not options.summary)
    given = [
        f"--{name.replace('_', '-')}"
        for name in SEARCH_OPTIONS
        if getattr(options, name) is not None
    ]
    if given:
        raise NotPossible(
            f"a lesson has its own search options: {', '.join(given)} goes with --game or --tree"
        )
    lesson = load_lesson(options.lesson)
    traces = [perform(run) for run in lesson.runs]
    return _json(traces) if options.json else _page(lesson, traces, log=not options.summary)


def _json(answer: object) -> str:
    return encode_json(answer).decode() + "\n"


def _page(lesson: Lesson, traces: Sequence[Trace], log: bool) -> str:
    """The text of a lesson: its page, what to look for, and its searches."""
    parts = [
        f"{lesson.title}\n{'=' * len(lesson.title)}",
        textwrap.fill(lesson.page, 80, break_on_hyphens=False),
    ]
    points = [
        textwrap.fill(
            point, 80, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
        )
        for point in lesson.look_for
    ]
    parts.append("\n".join(["What to look for:", *points]))
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
        ("cut-off rules", CUT_OFFS),
        ("evaluators", EVALUATORS),
    ):
        lines += [
            title,
            *textwrap.wrap("  ".join(names), 78, initial_indent="  ", subsequent_indent="  "),
        ]
    return "\n".join(lines) + "\n"


def _search(options: argparse.Namespace) -> Trace:
    """The trace of the search that the options describe."""
    defaults = Plan()
    evaluator = options.evaluator or defaults.evaluator
    tree = read_tree(options) if options.tree else None
    is_for_several = tree is not None and tree.players > 1 and not options.player
    default = "minimax" if is_for_several else defaults.algorithm
    plan = Plan(
        algorithm=options.algorithm or default,
        depth=_depth(options.depth, None if options.tree else GAME_DEPTH),
        order=options.order or defaults.order,
        evaluator=evaluator,
        form=options.form or defaults.form,
        cut_off=options.cut_off or defaults.cut_off,
        player=options.player or 0,
        fresh=bool(options.fresh),
        seed=options.seed or 0,
        scale=_scale(options, Plan(evaluator=evaluator).utilities),
        max_nodes=_max_nodes(options.max_nodes),
        max_trace=MAX_TRACE_NODES,
    )
    if tree is None:
        root, title = _game_root(options, plan)
    else:
        root, title = (
            TreeState.at_root(tree),
            tree.title or ("a tree" if options.tree == "-" else Path(options.tree).name),
        )
    return explain(root, plan, title)


def _depth(text: str | None, default: int | None) -> int | None:
    if text is None or text == "end":
        return default if text is None else None
    if not text.isascii() or not text.isdigit() or len(text) > 4:
        raise NotPossible(f"a depth is a number of plies, or end, not {text[:40]!r}")
    return int(text)


def _max_nodes(limit: int | None) -> int:
    if limit is not None and limit < 1:
        raise NotPossible(f"--max-nodes is at least 1, not {limit}")
    return Plan().max_nodes if limit is None else limit


def _scale(options: argparse.Namespace, default: Scale) -> Scale:
    """The utilities of finished games: those of the options, otherwise the defaults."""
    if options.lose is options.draw is options.win is None:
        return default
    lose = default.lose if options.lose is None else parse_utility(options.lose)
    win = default.win if options.win is None else parse_utility(options.win)
    draw = default.draw if options.draw is None else parse_utility(options.draw)
    numbers = [number for number in (lose, draw, win) if not math.isinf(number)]
    if not lose <= draw <= win or any(abs(number) > MAX_NUMBER for number in numbers):
        raise NotPossible(
            "lose, draw and win must not decrease, and lie within -1000000000 and 1000000000"
            " or be infinite;"
            f" they are {lose}, {draw}, {win}"
        )
    return Scale(lose, draw, win)


def parse_utility(text: str) -> Number:
    """Returns a real or infinite utility; raises NotPossible for any other text."""
    match = UTILITY.fullmatch(text)
    if not match:
        raise NotPossible(f"a utility is a number, inf or -inf, not {text[:40]!r}")
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _game_root(options: argparse.Namespace, plan: Plan) -> tuple[State, str]:
    game = load_game(options.game)
    rules = dict(options.option or ())
    position = (
        game.start(rules) if options.position is None else game.position(options.position, rules)
    )
    return GameState.at_root(position, plan.utilities), game.title


def read_tree(options: argparse.Namespace) -> Tree:
    """Reads a tree from a file, or from stdin for "-"; content that begins with a brace is JSON."""
    for name in ("position", "option", "lose", "draw", "win"):
        if getattr(options, name) is not None:
            raise NotPossible(f"--{name} goes with --game: a tree has its utilities at its leaves")
    name = options.tree
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
