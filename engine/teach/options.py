"""The options of the command, and the search that they describe."""

import argparse
import sys
import textwrap
from pathlib import Path

import msgspec
from msgspec import UnsetType

from engine.command_line import option
from engine.formats.read.positions import read_position
from engine.rules.registry import load_game
from engine.teach.algorithms.cutoffs import CUT_OFFS
from engine.teach.algorithms.explain import ALGORITHMS, FORMS, Plan
from engine.teach.algorithms.order import ORDERS
from engine.teach.errors import NotPossible, TreeError
from engine.teach.output.text import LOGS
from engine.teach.requests.task import (
    GAME_DEPTH,
    Choices,
    Task,
    game_task,
    graph_task,
    tree_of,
    tree_task,
)
from engine.teach.states.evaluators import EVALUATORS
from engine.teach.states.graph import Graph
from engine.teach.states.graph_text import is_graph_text, is_tree_text, parse_graph
from engine.teach.states.state import Scale
from engine.teach.states.tree import MAX_TREE_TEXT, Tree
from engine.teach.states.tree_text import format_tree, is_list_text
from engine.teach.states.utilities import make_scale, parse_utilities, parse_utility
from engine.text_files import NotText, decode_text

#: The options that go with --game, --tree or --graph, and not with a lesson.
SEARCH_OPTIONS = (
    *("algorithm", "cut_off", "depth", "draw", "evaluator", "form", "lose"),
    *("max_nodes", "option", "order", "player", "position", "seed", "utilities", "win", "window"),
)
#: The windows of the root's moves: that of the root, or a new one for each.
WINDOWS = ("inherited", "fresh")
#: The options for the output, of which at most one is given.
OUTPUTS = ("classic", "compare", "json", "match", "quiz", "states", "step", "summary")


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Returns the parser of the command's arguments."""
    parser = argparse.ArgumentParser(prog="python -m engine.teach", description=description)
    parser.add_argument("lesson", nargs="?", help="one of the lessons that --list shows")
    parser.add_argument(
        "--list", action="store_true", help="list the lessons, games, algorithms and so on"
    )
    _add_subjects(parser.add_argument_group("what to search, instead of a lesson"))
    _add_search(parser.add_argument_group("how to search it"))
    _add_outputs(parser.add_argument_group("what to show"))
    return parser


def _add_subjects(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--game", metavar="G", help="search a position of this game")
    group.add_argument(
        "--position", metavar="TEXT", help="search this position instead of the start of the game"
    )
    group.add_argument(
        "--option", type=option, action="append", metavar="NAME=VALUE", help="an option of the game"
    )
    group.add_argument(
        "--tree", metavar="FILE", help="search the tree in this file (JSON or text; - reads stdin)"
    )
    group.add_argument(
        "--graph", metavar="FILE", help="search the graph of states in this file (- reads stdin)"
    )


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--algorithm", metavar="A", help=f"{', '.join(ALGORITHMS)} (alphabeta)")
    group.add_argument(
        "--form", metavar="F", help=f"how the algorithm is written: {', '.join(FORMS)} (flat)"
    )
    group.add_argument(
        "--depth",
        metavar="D",
        help=f"plies to look ahead, or end ({GAME_DEPTH} for a game, otherwise end)",
    )
    group.add_argument("--order", metavar="O", help=f"{', '.join(ORDERS)} (game)")
    group.add_argument(
        "--evaluator",
        metavar="E",
        help=f"{', '.join(EVALUATORS)}, material:queen=9,rook=5 (estimate)",
    )
    group.add_argument(
        "--cut-off", metavar="C", help=f"where the search stops: {', '.join(CUT_OFFS)} (depth)"
    )
    group.add_argument(
        "--player",
        type=int,
        metavar="P",
        help="whose values these are: 1, 2, ... (the side to move); all others play against P",
    )
    group.add_argument(
        "--window",
        choices=WINDOWS,
        help="of each root move, for alpha-beta (inherited; fresh in a classic log)",
    )
    group.add_argument("--seed", type=int, help="the seed of all random choices (0)")
    for name, noun in (("lose", "loss"), ("draw", "draw"), ("win", "win")):
        group.add_argument(
            f"--{name}", metavar="N", help=f"the utility of a {noun}: a number, inf or -inf"
        )
    group.add_argument(
        "--utilities",
        metavar="W,D,L/W,D,L",
        help="a win, a draw and a loss for each player: 1,0,-1/1,1,-inf",
    )
    group.add_argument(
        "--max-nodes", type=int, metavar="N", help="fail after this many nodes (1000000)"
    )


def _add_outputs(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--log",
        choices=sorted(LOGS),
        help="the searched tree, all steps, the log of the first program (classic: fail-hard, with"
        " a fresh window for each root move), the bounds, or none (tree)",
    )
    group.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two algorithms or forms in two columns"
    )
    group.add_argument(
        "--match",
        metavar="MOVES",
        help="the first program, sticks without --game, in which these moves are played: 3x3,1x1",
    )
    group.add_argument(
        "--classic", action="store_true", help="the first program, to play on this terminal"
    )
    group.add_argument("--summary", action="store_true", help="the same as --log none")
    group.add_argument(
        "--step", action="store_true", help="go through the search step by step, on the keyboard"
    )
    group.add_argument("--quiz", action="store_true", help="answer questions about the search")
    group.add_argument(
        "--states", action="store_true", help="count and draw the states instead of searching them"
    )
    group.add_argument("--svg", metavar="FILE", help="draw into this file as well")
    group.add_argument(
        "--json",
        action="store_true",
        help="print the trace as JSON (of a lesson: a list of traces)",
    )


def has_subject(options: argparse.Namespace) -> bool:
    """Returns whether the options name what to search."""
    return any(
        subject is not None
        for subject in (options.lesson, options.game, options.tree, options.graph)
    )


def check_options(options: argparse.Namespace) -> None:
    """Raises NotPossible if the options do not go together."""
    subjects = [options.lesson, options.game, options.tree, options.graph]
    if subjects.count(None) != len(subjects) - 1:
        raise NotPossible(
            "give exactly one of a lesson, --game, --tree and --graph; --list shows the names"
        )
    outputs = [f"--{name}" for name in OUTPUTS if getattr(options, name)]
    if options.log is not None:
        outputs.append("--log")
    if len(outputs) > 1:
        raise NotPossible(f"{' and '.join(outputs)} do not go together")
    if options.lesson is None:
        return
    given = [
        f"--{name.replace('_', '-')}"
        for name in SEARCH_OPTIONS
        if getattr(options, name) is not None
    ]
    given += [f"--{name}" for name in ("classic", "match", "states") if getattr(options, name)]
    if given:
        raise NotPossible(
            f"a lesson has its own search options: {', '.join(given)} goes with --game or --tree"
        )


def make_task(options: argparse.Namespace) -> Task:
    """Returns the search that the options describe."""
    if options.game is not None:
        return _game_task(options)
    name = options.graph or options.tree
    title = Path(name).name if name != "-" else "a graph" if options.graph else "a tree"
    if options.graph is not None:
        return graph_task(
            read_graph(options),
            _choices(options),
            title,
            is_searched=not options.states,
            depth_name="--depth",
        )
    return tree_task(read_tree(options), _choices(options), title)


def _game_task(options: argparse.Namespace) -> Task:
    game = load_game(options.game)
    rules = dict(options.option or ())
    position = (
        game.start(rules)
        if options.position is None
        else read_position(game, options.position, rules).position
    )
    return game_task(position, _choices(options), has_values=not options.states)


def _choices(options: argparse.Namespace) -> Choices:
    is_shown_classic = is_classic(options)
    evaluator = options.evaluator or ("random" if is_shown_classic and options.game else None)
    window = options.window or ("fresh" if is_shown_classic else "inherited")
    return Choices(
        algorithm=options.algorithm or ("fail-hard" if is_shown_classic else None),
        depth=_depth(options.depth),
        order=options.order,
        evaluator=evaluator,
        form=options.form,
        cut_off=options.cut_off,
        player=options.player or 0,
        fresh=window == "fresh",
        seed=options.seed or 0,
        scale=_scale(options, evaluator),
        scales=None if options.utilities is None else parse_utilities(options.utilities),
        max_nodes=_max_nodes(options.max_nodes),
    )


def is_classic(options: argparse.Namespace) -> bool:
    """Returns whether a search is shown as the first programs showed it."""
    return options.log == "classic" or options.match is not None or options.classic


def _depth(text: str | None) -> int | UnsetType | None:
    if text is None or text == "end":
        return msgspec.UNSET if text is None else None
    if not text.isascii() or not text.isdigit() or len(text) > 4:
        raise NotPossible(f"a depth is a number of plies, or end, not {text[:40]!r}")
    return int(text)


def _max_nodes(limit: int | None) -> int:
    if limit is not None and limit < 1:
        raise NotPossible(f"--max-nodes is at least 1, not {limit}")
    return Plan().max_nodes if limit is None else limit


def _scale(options: argparse.Namespace, evaluator: str | None) -> Scale | None:
    """The utilities of finished games in the options; None if they are the defaults."""
    if options.lose is options.draw is options.win is None:
        return None
    default = Plan(evaluator=evaluator or Plan().evaluator).utilities
    return make_scale(
        default.win if options.win is None else parse_utility(options.win),
        default.draw if options.draw is None else parse_utility(options.draw),
        default.lose if options.lose is None else parse_utility(options.lose),
    )


def read_tree(options: argparse.Namespace) -> Tree:
    """Reads a tree, as text or JSON, from a file, or from stdin for "-".

    It says on stderr how it has read nested lists.
    """
    text = _decode(_read(options, options.tree), options.tree)
    if is_graph_text(text):
        raise TreeError("this is a graph, whose states have names: use --graph")
    tree = tree_of(text)
    if is_list_text(text):
        read = textwrap.shorten(format_tree(tree), 80, placeholder=" …")
        print(f"teach: the lists are read as {read}", file=sys.stderr)
    return tree


def read_graph(options: argparse.Namespace) -> Graph:
    """Reads a graph from a text file, or from stdin for "-"."""
    text = _decode(_read(options, options.graph), options.graph)
    if is_tree_text(text):
        raise TreeError("this is a tree: use --tree, or begin a graph with the name of its start")
    return parse_graph(text)


def _decode(content: bytes, name: str) -> str:
    try:
        return decode_text(content)
    except NotText as error:
        raise TreeError(f"{name} cannot be read: {error}") from error


def _read(options: argparse.Namespace, name: str) -> bytes:
    for word in ("position", "option", "lose", "draw", "win", "utilities"):
        if getattr(options, word) is not None:
            raise NotPossible(f"--{word} goes with --game: a tree has its utilities at its leaves")
    try:
        if name == "-":
            return sys.stdin.buffer.read(MAX_TREE_TEXT + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_TREE_TEXT + 1)
    except OSError as error:
        raise TreeError(f"{name} cannot be read: {error.strerror}") from error
