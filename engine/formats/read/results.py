"""How games of files ended, in the words and numbers that files have for it. Pure."""

import re

from engine.formats.record import Over

#: Signs of results and numbers, and how the readers read them.
SIGNS = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-") | {"\u2026": "...", "½": "1/2"}
)
#: Which of the two numbers of a result wins, None if none does: also those of international
#: draughts, in points, and a double forfeit.
RESULTS: dict[str, int | None] = {
    "1-0": 0, "2-0": 0, "0-1": 1, "0-2": 1, "1/2-1/2": None, "1/2": None, "1-1": None, "0-0": None,
}  # fmt: skip
#: A part of a sentence about the end, and the word of the server's logs for it.
REASONS = (
    (re.compile(r"checkmate|on the board", re.IGNORECASE), "board"),
    (re.compile(r"resign|gives? up", re.IGNORECASE), "resign"),
    (re.compile(r"time forfeit|on time|time ?out|flag", re.IGNORECASE), "flag"),
    (re.compile(r"agree", re.IGNORECASE), "agreement"),
    (re.compile(r"abandon|left the game|disconnect", re.IGNORECASE), "gone"),
)
#: Values of the tag `Termination` that give no reason.
NO_REASONS = ("", "?", "-", "normal", "unterminated")


def over(seats: tuple[int, int], result: str, reason: str = "", how: str = "") -> Over | None:
    """Returns the end of a game by the result that a file gives; None for a game without one.

    `seats` are those whose numbers come first and second. Without `how` it comes from the reason.
    """
    if result not in RESULTS:
        return None
    if reason.lower() in NO_REASONS:
        reason = ""
    number = RESULTS[result]
    winner = None if number is None else seats[number]
    found = how or next((word for pattern, word in REASONS if pattern.search(reason)), "")
    ending = Over(winner, found, reason)
    # The result counts more than a word that no drawn game has ("resigned", with 1/2-1/2).
    return ending if ending.has_result else Over(None, "", reason)
