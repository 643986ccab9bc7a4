"""The log of the first founding text, line for line, and the game around it.

Every line names the side and what it does. The root is the TOP node; A and B are alpha and beta
after a scored move. Without a bound they are the least and the greatest number of 32 bits. The
first program cuts by them: it is fail-hard alpha-beta with a fresh window for each root move. Plain
minimax has A and B too: the bounds that alpha-beta would have there. It does not use them.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from engine.game import Position
from engine.rules.errors import GameError
from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.algorithms.meaning import GUARANTEED_WIN
from engine.teach.errors import NotPossible
from engine.teach.output.notation import SIDES, value_text
from engine.teach.output.style import Line
from engine.teach.states.state import GameState
from engine.teach.trace import WINDOWED, End, OneValue, StepKind, Trace
from engine.typed_moves import read_move

#: The least and the greatest number of 32 bits, in place of -inf and inf.
LEAST, GREATEST = -(2**31), 2**31 - 1
#: The name of the person in a classic match.
PERSON = "Dave"
#: Maximum length of a person's name, in characters.
MAX_NAME = 40
#: The names of the strategies as a classic match shows them; all others are MiniMax.
STRATEGIES = {
    "average": "AverageMiniMax",
    "greedy": "Greedy",
    "optimistic": "Optimistic",
    "random": "Random",
}
#: The words for the status of a leaf.
ENDS = {"won": "WIN", "lost": "LOSE", "drawn": "DRAW", "ongoing": "EVAL"}
#: The word for the end of a game with a utility for each player, and of one that nobody wins.
END_FOR_ALL = "END"
#: The steps of a node that the log shows at its parent's level.
PARENT_STEPS = ("enter", "returned")
#: The last line of the log when the program has found a win.
BOAST = "I've got you now... ha ha ha !!!"
#: The algorithms without windows whose log shows the bounds of alpha-beta.
WITH_UNCUT_WINDOWS = ("minimax", "negamax")
#: A move of sticks, in the game's notation.
STICKS_MOVE = re.compile(r"(\d)x(\d)")


def classic_lines(trace: Trace, levels: int | None = None) -> Iterator[Line]:
    """Yields the classic log of a search, down to a level of its tree; None is all levels."""
    nodes, steps = trace.nodes, trace.steps
    if trace.value is None and trace.line:
        yield _line(trace, 0, f"Random Move : {move_text(trace.game, trace.line[0])}")
        return
    uncut = UncutWindows(trace) if trace.algorithm in WITH_UNCUT_WINDOWS else None
    rows = list(zip(steps.what, steps.node, steps.low, steps.high, strict=True))
    for index, (what, row, _, _) in enumerate(rows):
        if uncut is not None:
            uncut.follow(what, row)
        if levels is not None and nodes.depth[row] - (what in PARENT_STEPS) > levels:
            continue
        if what == "enter" and row:
            yield _line(trace, nodes.parent[row], f"Try Move : {_move(trace, row)}")
        elif what == "leave" and nodes.kind[row] == "leaf":
            yield _line(trace, row, f"{_end(trace, row)} ... {value_text(_value(trace, row))}")
        elif what == "returned":
            window = rows[index + 1 : index + 2]
            bounds = uncut.of_parent(row) if uncut else _window_of(trace, row, index, window)
            yield _scored(trace, row, bounds)
        elif what == "leave" and row:
            yield _line(trace, row, f"Final score = {value_text(_value(trace, row))}")
    best = value_text(trace.value)
    if nodes.kind[0] != "leaf":
        yield _line(trace, 0, f"DONE!!! Best Score = {best}")
    if trace.truncated:
        yield Line(0, f"(the log holds the first {len(nodes.parent):,} nodes only)")
    yield Line(0, f"MINIMAX score for next move = {best}")


class UncutWindows:
    """The windows that alpha-beta would have in a search that does not cut off."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._windows: dict[int, tuple[End, End]] = {}

    def follow(self, what: StepKind, row: int) -> None:
        """Updates the windows after the next step of the search."""
        nodes = self._trace.nodes
        parent = nodes.parent[row]
        if what == "enter":
            is_open = parent <= 0 or nodes.kind[parent] not in ("max", "min")
            self._windows[row] = (None, None) if is_open else self._windows[parent]
        elif what == "returned" and parent > 0:
            alpha, beta = self._windows[parent]
            value = _value(self._trace, row)
            if isinstance(value, int | float) and nodes.kind[parent] == "max":
                alpha = value if alpha is None else max(alpha, value)
            elif isinstance(value, int | float) and nodes.kind[parent] == "min":
                beta = value if beta is None else min(beta, value)
            self._windows[parent] = alpha, beta

    def of_parent(self, row: int) -> tuple[End, End] | None:
        """Returns the window of a node's parent; None if that is the root or a chance node."""
        parent = self._trace.nodes.parent[row]
        has_window = parent > 0 and self._trace.nodes.kind[parent] in ("max", "min")
        return self._windows[parent] if has_window else None


def _line(trace: Trace, row: int, text: str) -> Line:
    """A line of a node: the root is the TOP node."""
    depth = trace.nodes.depth[row]
    return Line(depth, f"{'' if row else 'TOP '}{_side(trace, row)} node... {text}")


def _side(trace: Trace, row: int) -> str:
    """The side of a node; that of a leaf is the one to move, or the opposite of its parent."""
    nodes = trace.nodes
    kind = nodes.kind[row] if nodes.kind[row] != "leaf" else nodes.turn[row]
    if kind == "leaf" and row:
        parent = nodes.kind[nodes.parent[row]]
        kind = {"max": "min", "min": "max"}.get(parent, parent)
    return SIDES.get(kind, kind.upper())


def _end(trace: Trace, row: int) -> str:
    """The word for a leaf: how the game ended for MAX, or that it was evaluated."""
    status, is_over = trace.nodes.status[row], trace.nodes.reason[row] == "leaf"
    is_number = status == "drawn" and _is_about_a_number(trace.game)
    return END_FOR_ALL if is_number or (status == "ongoing" and is_over) else ENDS[status]


def _is_about_a_number(game: str) -> bool:
    """Whether the sides of the game want one number to be great and small, and nobody wins."""
    return game != "" and load_game(game).rules.maximizer is not None


def _value(trace: Trace, row: int) -> OneValue:
    """The value of a node for MAX, also where negamax has it for the side to move."""
    value = trace.nodes.value[row]
    if value is None or isinstance(value, tuple):
        return value
    return value * trace.nodes.sign[row]


def _move(trace: Trace, row: int) -> str:
    """The move that leads to a node; that of sticks in words."""
    return move_text(trace.game, trace.nodes.move[row])


def move_text(game: str, move: str) -> str:
    """Returns a move as the classic log has it: of sticks in words, else in the game's notation."""
    match = STICKS_MOVE.fullmatch(move) if game == "sticks" else None
    return f"( Row = {match[1]} : Num Sticks = {match[2]} )" if match else move


def _window_of(
    trace: Trace, row: int, index: int, following: Sequence[tuple[str, int, End, End]]
) -> tuple[End, End] | None:
    """The window of a node after a child has returned; None where there is no window."""
    parent = trace.nodes.parent[row]
    if trace.algorithm not in WINDOWED or not parent:
        return None
    if following and following[0][0] == "narrowed":
        return following[0][2:]
    steps = trace.steps
    for step in range(index, -1, -1):
        if steps.node[step] == parent and steps.what[step] in ("enter", "narrowed"):
            return steps.low[step], steps.high[step]
    return None


def _scored(trace: Trace, row: int, window: tuple[End, End] | None) -> Line:
    """The line of a scored move, with A and B below the root."""
    text = f"Move scored : {value_text(_value(trace, row))}"
    if window is not None:
        alpha, beta = _end_text(window[0], LEAST), _end_text(window[1], GREATEST)
        text += f"( A = {alpha} : B = {beta} )"
    return _line(trace, trace.nodes.parent[row], text)


def _end_text(end: End, unlimited: int) -> str:
    """An end of a window, with a number of 32 bits if it is open or infinite."""
    if end is None:
        return str(unlimited)
    if math.isinf(end):
        return str(GREATEST if end > 0 else LEAST)
    return value_text(end)


def player_name(plan: Plan, number: int = 1) -> str:
    """Returns the name of a program in a classic match: CP #1 MiniMax depth=3."""
    strategy = STRATEGIES.get(plan.algorithm, "MiniMax")
    depth = "" if plan.algorithm == "random" else f" depth={_depth(plan)}"
    return f"CP #{number} {strategy}{depth}"


def _depth(plan: Plan) -> int | str:
    if plan.algorithm == "greedy":
        return 1
    return "end" if plan.depth is None else plan.depth


def board_lines(position: Position) -> list[str]:
    """Returns the board: sticks as numbered rows of bars, any other game as its position's text."""
    if position.game.id != "sticks":
        return [position.text()]
    return [f"{row}. {'|' * count}".rstrip() for row, count in enumerate(row_counts(position), 1)]


def row_counts(position: Position) -> list[int]:
    """Returns the number of sticks in each row."""
    return [int(count) for count in position.text().split()[0].split("-")]


class Console(Protocol):
    """Where a classic game is played."""

    def say(self, line: str) -> None:
        """Shows a line."""

    def ask(self, prompt: str) -> str:
        """Shows a prompt, and returns what the person answers; raises EOFError without a person."""

    def refuse(self, reason: str) -> None:
        """Takes an answer that is not possible, with what was expected; the question returns."""


class Script:
    """A console whose answers are known: `lines` has the game as the person would have seen it."""

    def __init__(self, answers: Iterable[str]) -> None:
        self._answers = list(reversed(list(answers)))
        self.lines: list[str] = []

    @property
    def rest(self) -> Sequence[str]:
        """The answers that nobody has asked for."""
        return self._answers[::-1]

    def say(self, line: str) -> None:
        self.lines.append(line)

    def ask(self, prompt: str) -> str:
        if not self._answers:
            raise EOFError
        self.lines.append(prompt + self._answers[-1])
        return self._answers.pop()

    def refuse(self, reason: str) -> None:
        raise NotPossible(reason)


def classic_match(position: Position, plan: Plan, moves: Sequence[str]) -> list[str]:
    """Returns the lines of a classic game in which Dave plays the given moves, and then goes.

    Raises NotPossible if a move is not possible, or one is left when the game is over.
    """
    answers = [PERSON]
    for move in moves:
        if position.game.id == "sticks":  # what a later position allows, the first one allows too
            answers += read_move(position, move).token.split("x")
        else:
            answers.append(move)
    script = Script(answers)
    try:
        play_classic(position, plan, script)
    except EOFError:
        script.lines.append("")
    if script.rest:
        raise NotPossible(f"the game is over before {moves[-1][:40]}")
    return script.lines


def play_classic(position: Position, plan: Plan, console: Console) -> None:
    """Plays the first program: a person against a search that shows its log, to the end.

    The person has the side to move. Raises EOFError where the console has no answer.
    """
    program, seat = f"<< {player_name(plan)} >>", position.turn
    console.say(f"!!!! Welcome to {position.game.title} !!!!")
    person = f"<< {_ask_name(console)} >>"
    console.say(f"{person} VS. {program} !!!!")
    _show_board(position, console)
    while (outcome := position.outcome()) is None:
        is_person = position.turn == seat
        console.say(f"{person if is_person else program} It is your turn ...")
        move = _ask_move(position, console) if is_person else _answer(position, plan, console)
        name = move_text(position.game.id, position.format_move(move))
        console.say(f"{person if is_person else program} moved: {name}")
        console.say("")
        position = position.play(move)
        _show_board(position, console)
    if outcome.winner is None:
        console.say("It is a DRAW !!!!")
    else:
        console.say(f"{person if outcome.winner == seat else program} is the WINNER !!!!")


def _show_board(position: Position, console: Console) -> None:
    for line in (*board_lines(position), ""):
        console.say(line)


def _ask_name(console: Console) -> str:
    """The person's name."""
    while True:
        name = console.ask("Human #1... What is your name? ").strip()
        if 0 < len(name) <= MAX_NAME and name.isprintable():
            return name
        console.refuse(f"a name has 1 to {MAX_NAME} characters that can be printed")


def _ask_move(position: Position, console: Console) -> int:
    """A legal move of the person: in sticks the row, then the number of sticks."""
    while True:
        if position.game.id != "sticks":
            token = console.ask("Which move ??? ").strip()
        elif not (token := _ask_sticks(position, console)):
            continue
        try:
            return position.parse_move(read_move(position, token).token)
        except GameError as error:
            console.refuse(str(error))


def _ask_sticks(position: Position, console: Console) -> str:
    """The token of a move; "" after a refusal."""
    allowed: dict[str, list[str]] = {}
    for token in position.tokens():
        row, count = token.split("x")
        allowed.setdefault(row, []).append(count)
    row = console.ask("Which row ??? ").strip()
    if row not in allowed:
        console.refuse(f"a row with sticks is expected, {' or '.join(allowed)}, not {row[:40]!r}")
        return ""
    count = console.ask("How many sticks ??? ").strip()
    if count not in allowed[row]:
        counts = " or ".join(allowed[row])
        console.refuse(f"of row {row} you may take {counts}, not {count[:40]!r}")
        return ""
    return f"{row}x{count}"


def _answer(position: Position, plan: Plan, console: Console) -> int:
    """The program's move, after the log of its search."""
    root = GameState.at_root(position, plan.utilities)
    trace = explain(root, replace(plan, plain_limit=0))
    for line in log_lines(trace):
        console.say(line)
    return position.parse_move(trace.line[0])


def log_lines(trace: Trace, levels: int | None = None) -> Iterator[str]:
    """Yields the classic log of a search as indented lines, and the boast if it has found a win."""
    for line in classic_lines(trace, levels):
        yield "  " * line.level + line.text
    if trace.meaning == GUARANTEED_WIN:
        yield BOAST
