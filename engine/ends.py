"""How matches end without a winner: drawn, or without a result. Pure.

The server's log, its list of matches and the formats of files use these words and this rule.
"""

#: How a match without a winner ended if it was drawn. Any other end is no result.
DRAWN_ENDS = ("board", "claim", "agreement", "gone", "flag")
#: How a match ended that has no result. A newer server may end one in another way than all these.
NO_RESULT_ENDS = ("abort", "failure", "noshow")


def has_result(winner: int | None, how: str) -> bool:
    """Whether a match has a result that this seat won, or nobody, and that ended like this."""
    return winner is not None or how in DRAWN_ENDS
