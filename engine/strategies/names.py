"""The names of the built-in strategies, and how players read the name of a strategy.

It imports no strategy, so that a server can name one that it does not run.
"""

#: The titles of the built-in strategies, by name.
BUILT_IN = {
    "minimax": "MiniMax",
    "negamax": "NegaMax",
    "alphabeta": "AlphaBeta",
    "average": "AverageMiniMax",
    "max-n": "MaxN",
    "greedy": "Greedy",
    "random": "Random",
}
#: The built-in strategies that search to a fixed depth, whatever the depth of their seat.
FIXED_DEPTHS = {"greedy": 1, "random": 0}


def title_of(name: str) -> str:
    """Returns the title of a strategy: its name, if another distribution registers it."""
    return BUILT_IN.get(name, name)


def player_name(name: str, depth: int | None, number: int = 1) -> str:
    """Returns the name of a strategy's seat, as in `CP #1 MiniMax depth=3`.

    Without a depth it has no depth. `number` counts the strategies at the board.
    """
    depth = FIXED_DEPTHS.get(name, depth)
    return f"CP #{number} {title_of(name)}" + (f" depth={depth}" if depth else "")
