"""Tasks: a root state and a plan, made from the user's choices and the defaults."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import UnsetType

from engine.formats.read.positions import read_position
from engine.game import Position
from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan
from engine.teach.algorithms.study import MAX_NODES
from engine.teach.errors import NotPossible, TreeError
from engine.teach.requests.request import TraceRequest
from engine.teach.states.graph import Graph, GraphState, find_cycle
from engine.teach.states.graph_text import is_graph_text, is_tree_text, parse_graph
from engine.teach.states.players import GameForBoth
from engine.teach.states.state import GameState, Scale, State, TreeState
from engine.teach.states.tree import Tree, decode_tree, walk
from engine.teach.states.tree_text import is_json_text, parse_tree
from engine.teach.states.utilities import parse_scale, parse_utilities
from engine.teach.trace import MAX_TRACE_NODES

#: The default depth of a game's search, in plies.
GAME_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Choices:
    """The user's choices for a plan; a part without a choice has its default."""

    algorithm: str | None = None
    depth: int | UnsetType | None = msgspec.UNSET
    order: str | None = None
    evaluator: str | None = None
    form: str | None = None
    cut_off: str | None = None
    player: int = 0
    fresh: bool = False
    seed: int = 0
    scale: Scale | None = None
    #: The utilities of both players, for a search for several.
    scales: tuple[Scale, Scale] | None = None
    max_nodes: int = MAX_NODES


@dataclass(frozen=True, slots=True)
class Task:
    """A state to search from, a plan, and a title."""

    root: State
    plan: Plan
    title: str
    graph: Graph | None = None
    #: The position at the root, if it is that of a game.
    position: Position | None = None


def game_task(position: Position, choices: Choices, *, has_values: bool = True) -> Task:
    """Returns the search of a position; without `has_values` only finished games have a value."""
    game = position.game
    # Without an evaluator a win is worth 1, whatever its distance.
    has_values = has_values and game.rules.SEARCH != "teach"
    is_for_several = choices.scales is not None and not choices.player
    defaults = Plan(
        "minimax" if is_for_several else "alphabeta",
        evaluator="estimate" if has_values else "zero",
    )
    plan = make_plan(choices, GAME_DEPTH, defaults)
    if choices.scales is not None:
        scales = choices.scales
    elif game.rules.SEARCH == "teach" and plan.algorithm in ("max-n", "paranoid"):
        scales = plan.utilities, plan.utilities
    else:
        root: State = GameState.at_root(position, plan.utilities)
        return Task(root, plan, game.title, position=position)
    return Task(GameForBoth.at_root(position, scales), plan, game.title, position=position)


def tree_task(tree: Tree, choices: Choices, title: str) -> Task:
    """Returns the search of a tree, to its leaves unless a depth is chosen."""
    defaults = Plan(
        algorithm="minimax" if tree.players > 1 and not choices.player else "alphabeta",
        evaluator="material" if _needs_material(tree) else "estimate",
    )
    return Task(TreeState.at_root(tree), make_plan(choices, None, defaults), tree.title or title)


def graph_task(
    graph: Graph,
    choices: Choices,
    title: str,
    *,
    is_searched: bool = True,
    depth_name: str = "depth",
) -> Task:
    """Returns the search of a graph; raises NotPossible if it never ends.

    `depth_name` is the name of the depth in the message.
    """
    is_for_several = graph.players > 1 and not choices.player
    defaults = Plan(algorithm="minimax" if is_for_several else "alphabeta")
    plan = make_plan(choices, None, defaults)
    cycle = find_cycle(graph)
    if plan.depth is None and cycle and is_searched:
        raise NotPossible(
            f"a search to the end never ends: {' -> '.join(cycle)} is a cycle; give a {depth_name}"
        )
    return Task(GraphState.at_start(graph), plan, graph.title or title, graph)


def make_plan(choices: Choices, depth: int | None, defaults: Plan) -> Plan:
    """Returns the plan with the choices; `depth` is the default depth."""
    evaluator = choices.evaluator or defaults.evaluator
    return Plan(
        algorithm=choices.algorithm or defaults.algorithm,
        depth=depth if isinstance(choices.depth, UnsetType) else choices.depth,
        order=choices.order or defaults.order,
        evaluator=evaluator,
        form=choices.form or defaults.form,
        cut_off=choices.cut_off or defaults.cut_off,
        player=choices.player,
        fresh=choices.fresh,
        seed=choices.seed,
        scale=choices.scale or Plan(evaluator=evaluator).utilities,
        max_nodes=choices.max_nodes,
        max_trace=MAX_TRACE_NODES,
    )


def _needs_material(tree: Tree) -> bool:
    """Whether a leaf has pieces, but neither a utility nor an estimate."""
    return any(
        node.kind is None and node.utility is None and node.estimate is None
        for _, _, node in walk(tree.root)
    )


def tree_of(text: str) -> Tree:
    """Parses a tree from its text, or from JSON; raises TreeError."""
    if is_json_text(text):
        return decode_tree(text.removeprefix("\ufeff").encode())
    if is_graph_text(text):
        raise TreeError("this is a graph, whose states have names: choose a graph")
    return parse_tree(text)


def graph_of_text(text: str) -> Graph:
    """Parses a graph from its text; raises TreeError."""
    if is_tree_text(text):
        raise TreeError("this is a tree; a graph begins with the name of its start")
    return parse_graph(text)


def task_of(request: TraceRequest, max_nodes: int, *, is_recorded: bool = False) -> Task:
    """Returns the search of a request; `is_recorded` means that its moves need no check.

    Raises TeachError and GameError.
    """
    choices = _choices(request, max_nodes)
    subjects = [request.game, request.tree, request.graph]
    if subjects.count(None) != len(subjects) - 1:
        raise NotPossible("give exactly one of a game, a tree and a graph")
    if request.game is not None:
        return game_task(position_of(request, is_recorded), choices)
    if request.position is not None or request.moves or request.options:
        raise NotPossible("a position, moves and options go with a game")
    if request.utilities is not None:
        raise NotPossible("utilities go with a game: a tree has them at its leaves")
    if request.tree is not None:
        return tree_task(tree_of(request.tree), choices, "Tree")
    assert request.graph is not None
    return graph_task(graph_of_text(request.graph), choices, "Graph")


def _choices(request: TraceRequest, max_nodes: int) -> Choices:
    utilities = request.utilities
    is_for_both = utilities is not None and "/" in utilities
    return Choices(
        algorithm=request.algorithm,
        depth=request.depth,
        order=request.order,
        evaluator=request.evaluator,
        form=request.form,
        cut_off=request.cut_off,
        player=request.player or 0,
        fresh=bool(request.fresh),
        seed=request.seed or 0,
        scale=None if utilities is None or is_for_both else parse_scale(utilities),
        scales=None if utilities is None or not is_for_both else parse_utilities(utilities),
        max_nodes=max_nodes,
    )


def position_of(request: TraceRequest, is_recorded: bool) -> Position:
    """Returns the position of a request, after its moves; raises GameError."""
    assert request.game is not None
    game = load_game(request.game)
    position = (
        game.start(request.options)
        if request.position is None
        else read_position(game, request.position, request.options).position
    )
    return play_line(position, request.moves, is_recorded)


def play_line(position: Position, moves: Sequence[str], is_recorded: bool = False) -> Position:
    """Returns the position after some moves; raises GameError for an illegal one."""
    for move in moves:
        position = (
            position.replay(move) if is_recorded else position.play(position.parse_move(move))
        )
    return position
