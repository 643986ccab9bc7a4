"""The options of the command, and the search that they describe."""

import argparse
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from engine.command_line import option
from engine.rules.registry import load_game
from engine.teach.cutoffs import CUT_OFFS
from engine.teach.errors import NotPossible, TreeError
from engine.teach.evaluators import EVALUATORS
from engine.teach.explain import ALGORITHMS, FORMS, Plan
from engine.teach.graph import Graph, GraphState, find_cycle
from engine.teach.graph_text import is_graph_text, is_tree_text, parse_graph
from engine.teach.order import ORDERS
from engine.teach.players import GameForBoth
from engine.teach.state import GameState, Scale, State, TreeState
from engine.teach.text import LOGS
from engine.teach.trace import MAX_TRACE_NODES, Number
from engine.teach.tree import MAX_NUMBER, MAX_TREE_TEXT, Tree, decode_tree, walk
from engine.teach.tree_text import parse_tree

#: The default depth of a game's search, in plies.
GAME_DEPTH = 3
#: The utility of a win, a draw or a loss.
UTILITY = re.compile(r"[+-]?(\d{1,10}(\.\d{1,20})?|inf)", re.ASCII)
#: The options that go with --game, --tree or --graph, and not with a lesson.
SEARCH_OPTIONS = (
    *("algorithm", "cut_off", "depth", "draw", "evaluator", "form", "lose"),
    *("max_nodes", "option", "order", "player", "position", "seed", "utilities", "win", "window"),
)
#: The windows of the root's moves: that of the root, or a new one for each.
WINDOWS = ("inherited", "fresh")
#: The options that say what is shown, of which one at most is given.
OUTPUTS = ("compare", "json", "match", "quiz", "states", "step", "summary")


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
        help="the searched tree, all steps, the log of the first programs, the bounds, or none"
        " (tree)",
    )
    group.add_argument(
        "--compare", nargs=2, metavar=("A", "B"), help="two algorithms or forms in two columns"
    )
    group.add_argument(
        "--match", metavar="MOVES", help="play these moves, such as 3x3,1x1, against the search"
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


@dataclass(frozen=True, slots=True)
class Task:
    """What the options describe: a state to search from, a plan, and a title."""

    root: State
    plan: Plan
    title: str
    graph: Graph | None = None


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
    given += [f"--{name}" for name in ("match", "states") if getattr(options, name)]
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
        return _graph_task(options, title)
    tree = read_tree(options)
    defaults = Plan(
        algorithm="minimax" if tree.players > 1 and not options.player else "alphabeta",
        evaluator="material" if _needs_material(tree) else "estimate",
    )
    plan = _plan(options, None, defaults)
    return Task(TreeState.at_root(tree), plan, tree.title or title)


def _game_task(options: argparse.Namespace) -> Task:
    game = load_game(options.game)
    # Without an evaluator a win is worth 1, whatever its distance.
    has_values = not options.states and game.rules.SEARCH != "teach"
    evaluator = "random" if is_classic(options) else "estimate" if has_values else "zero"
    is_for_several = options.utilities is not None and not options.player
    defaults = Plan("minimax" if is_for_several else "alphabeta", evaluator=evaluator)
    plan = _plan(options, GAME_DEPTH, defaults)
    rules = dict(options.option or ())
    position = (
        game.start(rules) if options.position is None else game.position(options.position, rules)
    )
    if options.utilities is not None:
        utilities = parse_utilities(options.utilities)
    elif game.rules.SEARCH == "teach" and plan.algorithm in ("max-n", "paranoid"):
        utilities = plan.utilities, plan.utilities
    else:
        return Task(GameState.at_root(position, plan.utilities), plan, game.title)
    return Task(GameForBoth.at_root(position, utilities), plan, game.title)


def _graph_task(options: argparse.Namespace, title: str) -> Task:
    graph = read_graph(options)
    is_for_several = graph.players > 1 and not options.player
    defaults = Plan(algorithm="minimax" if is_for_several else "alphabeta")
    plan = _plan(options, None, defaults)
    cycle = find_cycle(graph)
    if plan.depth is None and cycle and not options.states:
        raise NotPossible(
            f"a search to the end never ends: {' -> '.join(cycle)} is a cycle; give a --depth"
        )
    return Task(GraphState.at_start(graph), plan, graph.title or title, graph)


def _needs_material(tree: Tree) -> bool:
    """Whether a leaf has pieces, but neither a utility nor an estimate."""
    return any(
        node.kind is None and node.utility is None and node.estimate is None
        for _, _, node in walk(tree.root)
    )


def _plan(options: argparse.Namespace, depth: int | None, defaults: Plan) -> Plan:
    evaluator = options.evaluator or defaults.evaluator
    return Plan(
        algorithm=options.algorithm or defaults.algorithm,
        depth=_depth(options.depth, depth),
        order=options.order or defaults.order,
        evaluator=evaluator,
        form=options.form or defaults.form,
        cut_off=options.cut_off or defaults.cut_off,
        player=options.player or 0,
        fresh=(options.window or ("fresh" if is_classic(options) else "inherited")) == "fresh",
        seed=options.seed or 0,
        scale=_scale(options, Plan(evaluator=evaluator).utilities),
        max_nodes=_max_nodes(options.max_nodes),
        max_trace=MAX_TRACE_NODES,
    )


def is_classic(options: argparse.Namespace) -> bool:
    """Returns whether a search is shown as the first programs showed it."""
    return options.log == "classic" or options.match is not None


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
    if not UTILITY.fullmatch(text):
        raise NotPossible(f"a utility is a number, inf or -inf, not {text[:40]!r}")
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def parse_utilities(text: str) -> tuple[Scale, Scale]:
    """Returns the utilities of both players; raises NotPossible if the text has other parts."""
    players = [part.split(",") for part in text.split("/")]
    if [len(numbers) for numbers in players] != [3, 3]:
        raise NotPossible(
            "utilities are a win, a draw and a loss for each player, such as 1,0,-1/1,1,-inf,"
            f" not {text[:40]!r}"
        )
    first, second = (
        Scale(lose=parse_utility(lose), draw=parse_utility(draw), win=parse_utility(win))
        for win, draw, lose in players
    )
    return first, second


def read_tree(options: argparse.Namespace) -> Tree:
    """Reads a tree from a file, or from stdin for "-"; content that begins with a brace is JSON."""
    content = _read(options, options.tree)
    if content.lstrip().startswith(b"{"):
        return decode_tree(content)
    text = _decode(content, options.tree)
    if is_graph_text(text):
        raise TreeError("this is a graph, whose states have names: use --graph")
    return parse_tree(text)


def read_graph(options: argparse.Namespace) -> Graph:
    """Reads a graph from a text file, or from stdin for "-"."""
    text = _decode(_read(options, options.graph), options.graph)
    if is_tree_text(text):
        raise TreeError("this is a tree: use --tree, or begin a graph with the name of its start")
    return parse_graph(text)


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TreeError(f"{name} is not text in UTF-8") from error


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
