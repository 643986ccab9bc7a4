"""Why a strategy gives no move, in words for players: "the AI could not move: its strategy …"."""

FAILED = "its strategy failed"
ENDED = "its strategy ended without a move"
ILLEGAL = "its strategy chose a move that is not legal"
LATE = "its strategy took more time than a move may take"
MEMORY = "its strategy needs more memory than it may have"
MISSING = "its strategy is not installed here"

#: All reasons.
REASONS = frozenset({FAILED, ENDED, ILLEGAL, LATE, MEMORY, MISSING})
