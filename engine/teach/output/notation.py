"""Values, intervals, windows and sides as text."""

from engine.teach.trace import Number, OneValue, Trace

#: The sides as text names them; players p1, p2, … keep their names.
SIDES = {"max": "MAX", "min": "MIN", "mean": "MEAN"}
#: What a value says about the true value, by its bound.
RELATIONS = {"exact": "=", "lower": ">=", "upper": "<=", "none": "="}


def number_text(number: Number) -> str:
    """Returns a number as text; a float has at most six significant digits: 101, 12.5, 3.33333."""
    # Adding 0.0 turns -0.0 into 0.0.
    return str(number) if isinstance(number, int) else f"{number + 0.0:.6g}"


def value_text(value: OneValue) -> str:
    """Returns a value as text: a number, the numbers of several players as <1, 2, 3>, or none."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return f"<{', '.join(map(number_text, value))}>"
    return number_text(value)


def interval_text(low: Number | None, high: Number | None) -> str:
    """Returns an interval as text: [3, 5], or (-inf, 5] without a lower limit."""
    left = "(-inf" if low is None else f"[{number_text(low)}"
    right = "inf)" if high is None else f"{number_text(high)}]"
    return f"{left}, {right}"


def window_text(alpha: Number | None, beta: Number | None) -> str:
    """Returns a window as text: alpha 10, beta inf."""
    return f"alpha {_end(alpha, '-inf')}, beta {_end(beta, 'inf')}"


def window_interval_text(alpha: Number | None, beta: Number | None) -> str:
    """Returns a window as an open interval: (10, inf)."""
    return f"({_end(alpha, '-inf')}, {_end(beta, 'inf')})"


def _end(limit: Number | None, unlimited: str) -> str:
    return unlimited if limit is None else number_text(limit)


def cut_text(alpha: Number | None, beta: Number | None) -> str:
    """Returns why a window cuts off: 14 >= 10, or that nothing is better where an end is open."""
    if beta is None:
        return f"nothing is greater than {value_text(alpha)}"
    if alpha is None:
        return f"nothing is less than {value_text(beta)}"
    return f"{value_text(alpha)} >= {value_text(beta)}"


def relation(trace: Trace, row: int) -> str:
    """Returns how a node's true value relates to the value that it returned: =, >= or <=.

    An estimate, at which the search stops before the game ends, has a ~.
    """
    nodes = trace.nodes
    return "~" if nodes.reason[row] == "depth" else RELATIONS[nodes.bound[row]]
