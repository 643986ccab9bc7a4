"""Who may see an AI's thinking: a right that the room grants to players and to spectators.

The host chooses the setting when creating the room, or between two matches. A match keeps the
setting with which it started. After a match everyone may see the thinking. In a rated match nobody
sees it before.
"""

import hashlib

from server.rooms.model import Match, Room

#: Everyone sees the thinking.
ALL = "all"
#: During the match, only those who hold no seat see it.
SPECTATORS = "spectators"

#: Nobody sees it before the match is over.
AFTER = "after"

#: What players read instead of the thinking while only spectators see it.
SPECTATORS_ONLY = "Until the match is over, only spectators see what the AI thinks."
#: What everyone reads instead of the thinking while nobody sees it.
AFTER_THE_MATCH = "What the AI thinks is shown after the match."


def setting_of_match(room: Room) -> str:
    """The setting with which the room's next match starts; nobody sees it in a rated match."""
    return AFTER if room.rated else room.thinking


def reason_to_withhold(match: Match, is_player: bool) -> str | None:
    """Why this viewer may not see the AI's thinking about a match, in a sentence; None if they may.

    A setting that this version does not know is treated like the strictest one.
    """
    if match.over is not None:
        return None
    return reason_while_running(match.thinking, is_player)


def reason_while_running(setting: str, is_player: bool) -> str | None:
    """The same for a running match with this setting."""
    if setting == ALL:
        return None
    if setting == SPECTATORS:
        return SPECTATORS_ONLY if is_player else None
    return AFTER_THE_MATCH


def search_seed(match_id: str, ply: int) -> int:
    """The seed of the search for the move at a ply. A repeated search so gives the same move."""
    digest = hashlib.blake2b(f"{match_id}:{ply}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big")
