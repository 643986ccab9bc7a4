"""The hints and the reasons for the questions about a search."""

from engine.teach.output.notation import SIDES, number_text, relation, value_text
from engine.teach.trace import End, Trace

#: Maximum number of children whose values a reason lists.
MAX_LISTED = 6
#: The signs on a web page, by those on a terminal.
SIGNS = {"<=": "≤", ">=": "≥"}
#: The ends of an open window.
LOWEST, HIGHEST = "\N{MINUS SIGN}∞", "∞"
#: Which of its children's values each kind of node takes.
TAKES = {"max": "the greatest", "min": "the least"}


def node_name(trace: Trace, row: int) -> str:
    """Returns the name of a node in a sentence: its move, its path, or the line to its position."""
    if row == 0:
        return "the root"
    path = path_of(trace, row)
    if trace.game:
        return f"the position after {' '.join(path)}"
    is_clear = not path[-1].isdigit() and trace.nodes.move.count(path[-1]) == 1
    return path[-1] if is_clear else f"the node {'.'.join(path)}"


def path_of(trace: Trace, row: int) -> list[str]:
    """Returns the moves from the root to a node."""
    moves = []
    while row > 0:
        moves.append(trace.nodes.move[row])
        row = trace.nodes.parent[row]
    return moves[::-1]


def cut_hint(trace: Trace, row: int) -> str:
    """Returns the hint for the question whether the rest of a node is cut off."""
    if trace.algorithm == "optimistic":
        return "An optimistic search stops as soon as it has found a win."
    if trace.algorithm == "one-bound":
        return "A node knows only the best value of the node just above. Is this one worse for it?"
    rule = "greater than beta" if trace.algorithm == "strict" else "as great as beta, or greater"
    if trace.nodes.kind[row] == "max":
        return (
            "This is a MAX node: alpha grows with the values that come back to it, and beta comes"
            f" from a MIN node above. Is alpha {rule}?"
        )
    return (
        "This is a MIN node: beta falls with the values that come back to it, and alpha comes"
        f" from a MAX node above. Is alpha {rule}?"
    )


def cut_reason(trace: Trace, row: int, step: int, is_cut: bool) -> str:
    """Returns why the rest of a node is cut off after some steps, or why it is not."""
    alpha, beta = window_at(trace, row, step)
    ends = f"alpha is {_end(alpha, LOWEST)} and beta is {_end(beta, HIGHEST)}"
    if not is_cut:
        return f"It is not cut off: {ends}, and a value between them would still matter."
    if trace.algorithm == "optimistic":
        return "It is cut off: a win has been found, and nothing better can follow."
    other, limit = ("MIN", beta) if trace.nodes.kind[row] == "max" else ("MAX", alpha)
    sure = _end(limit, HIGHEST if other == "MIN" else LOWEST)
    return f"It is cut off: {ends}. {other} is sure of {sure} elsewhere and does not come here."


def window_at(trace: Trace, row: int, step: int) -> tuple[End, End]:
    """Returns the window of a node after some steps."""
    steps = trace.steps
    window: tuple[End, End] = trace.nodes.alpha[row], trace.nodes.beta[row]
    for index in range(step):
        if steps.node[index] == row and steps.what[index] in ("enter", "narrowed", "cut"):
            window = steps.low[index], steps.high[index]
    return window


def value_hint(trace: Trace, row: int) -> str:
    """Returns the hint for the question which value a node returns."""
    kind = trace.nodes.kind[row]
    if trace.algorithm == "fail-hard":
        return (
            "Fail-hard never returns a value outside the window: a MAX node returns its alpha,"
            " a MIN node its beta."
        )
    if trace.view == "mover":
        return "Negate the value of each child, then take the greatest."
    if kind == "mean":
        return "Chance decides here: take the mean of the children's values."
    if kind in TAKES:
        cut = " It was cut off, so only the searched children count." if _is_cut(trace, row) else ""
        return f"{SIDES[kind]} takes {TAKES[kind]} of its children's values.{cut}"
    return "The player who moves here takes the child with the most for that player."


def value_reason(trace: Trace, row: int) -> str:
    """Returns why a node returns its value, and what that says about its true value."""
    nodes = trace.nodes
    name = node_name(trace, row)
    text = f"{_sentence(name)} {_sign(trace, row)} {value_text(nodes.value[row])}"
    kind, bound = nodes.kind[row], nodes.bound[row]
    if trace.algorithm == "fail-hard":
        text += f": a {SIDES[kind]} node returns its {'alpha' if kind == 'max' else 'beta'}."
    elif kind in TAKES or kind == "mean":
        what = "the mean" if kind == "mean" else TAKES[kind]
        if trace.view == "mover":
            what = "the greatest, after negation,"
        text += f": {what} of {_children_text(trace, row)}."
    else:
        text += "."
    if bound in ("lower", "upper"):
        most = "at least" if bound == "lower" else "at most"
        why = "the rest was cut off" if _is_cut(trace, row) else "some values below are bounds"
        text += f" Since {why}, its true value is {most} that."
    return text


def _children_text(trace: Trace, row: int) -> str:
    children = [child for child, parent in enumerate(trace.nodes.parent) if parent == row]
    if len(children) > MAX_LISTED:
        return f"{len(children)} values"
    return ", ".join(
        f"{trace.nodes.move[child]} {_sign(trace, child)} {value_text(value)}"
        for child in children
        for value in (trace.nodes.value[child],)
    )


def unseen_hint(trace: Trace) -> str:
    """Returns the hint for the question which leaves a search never sees."""
    cuts = trace.nodes.reason.count("cut")
    times = "one place" if cuts == 1 else f"{cuts} places"
    return f"The search cuts off at {times}. Everything below a skipped branch is never seen."


def unseen_reason(trace: Trace, leaves: tuple[str, ...] = ()) -> str:
    """Returns which branches each node skips, and the leaves below them if they differ."""
    skipped: dict[int, list[str]] = {}
    for parent, move in zip(trace.skipped.parent, trace.skipped.move, strict=True):
        skipped.setdefault(parent, []).append(move)
    parts = [f"{node_name(trace, row)} skips {', '.join(moves)}" for row, moves in skipped.items()]
    text = _sentence("; ".join(parts)) + "."
    is_same = set(leaves) <= set(trace.skipped.move)
    return text if is_same else f"{text} Never seen: {', '.join(leaves)}."


def _sign(trace: Trace, row: int) -> str:
    sign = relation(trace, row)
    return SIGNS.get(sign, sign)


def _is_cut(trace: Trace, row: int) -> bool:
    return trace.nodes.reason[row] == "cut"


def _sentence(text: str) -> str:
    """The text with a capital letter, unless it begins with the name of a move."""
    return f"T{text[1:]}" if text.startswith("the ") else text


def _end(limit: End, unlimited: str) -> str:
    return unlimited if limit is None else number_text(limit)
