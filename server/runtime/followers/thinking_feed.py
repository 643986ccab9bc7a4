"""Sends what an AI thinks to the followers of a room who may see it, in words."""

from collections.abc import Callable

from msgspec.structs import replace

from server.protocol import messages as wire
from server.protocol.assessments import Assessment
from server.protocol.outbound import Outbound
from server.protocol.wording import Wording, choice_note
from server.rooms.model import Match, Room
from server.rooms.thinking import ALL, reason_to_withhold, search_seed
from server.runtime.followers.followers import Followers


class ThinkingFeed:
    """The latest `thinking` message of a room, and its forms for the followers on this node.

    Followers who may see the search receive it with its assessment, which is made when the first of
    them needs it. The others receive only the state of the search, when it has changed.
    """

    __slots__ = ("_followers", "_full", "_get_room", "_stripped", "_wording", "latest")

    def __init__(self, followers: Followers, get_room: Callable[[], Room | None]) -> None:
        self._followers = followers
        self._get_room = get_room
        #: The latest message of the current turn.
        self.latest: wire.Thinking | None = None
        #: `latest` with its assessment; None until a follower needs it.
        self._full: Outbound | None = None
        #: The last message without results that was sent.
        self._stripped: wire.Thinking | None = None
        #: The words of the current position; None until a follower needs them.
        self._wording: Wording | None = None

    @property
    def is_restricted(self) -> bool:
        """Whether some clients may not see the search for the current match."""
        room = self._get_room()
        return room is None or room.match is None or room.match.thinking != ALL

    def receive(self, thinking: wire.Thinking) -> None:
        """Sends a message to the followers, and keeps it for clients that join later."""
        self.latest, self._full = thinking, None
        room = self._get_room()
        match = None if room is None else room.match
        if match is None or match.id != thinking.match:
            return  # Who may see it is not known here. Clients ignore it, too.
        stripped: wire.Thinking | None = None
        message: Outbound | None = None
        for follower, is_player in self._followers:
            reason = reason_to_withhold(match, is_player)
            if reason is None:
                follower.send_ephemeral(self._full_message(match, thinking))
                continue
            if message is None:
                stripped = without_results(thinking, reason)
                message = Outbound(stripped)
            if stripped != self._stripped:
                follower.send_ephemeral(message)
        self._stripped = stripped

    def message_at_join(self, match: Match | None, is_player: bool) -> Outbound | None:
        """The latest message, for a client that joins; None if there is none for this match."""
        thinking = self.latest
        if thinking is None or match is None or match.id != thinking.match:
            return None
        reason = reason_to_withhold(match, is_player)
        if reason is not None:
            return Outbound(without_results(thinking, reason))
        return self._full_message(match, thinking)

    def on_board_change(self, room: Room) -> None:
        """Forgets the words of the earlier position, and a message about an earlier turn."""
        self._wording = None
        if self.latest is not None and not _is_current(self.latest, room.running_match):
            self.latest = self._full = None

    def _full_message(self, match: Match, thinking: wire.Thinking) -> Outbound:
        if self._full is None:
            assessment = self._assess(match, thinking) if _is_current(thinking, match) else None
            self._full = Outbound(replace(thinking, assessment=assessment))
        return self._full

    def _assess(self, match: Match, thinking: wire.Thinking) -> Assessment | None:
        """The search in words; None if it has no result yet, or this node has no position."""
        if match.position is None or not thinking.pv:
            return None
        if self._wording is None:
            self._wording = Wording(match.position, match.ply)
        note = ""
        if thinking.state == "done" and not thinking.warming:
            level, seed = match.seats[thinking.seat].level, search_seed(match.id, match.ply)
            note = choice_note(
                match.position.game, level, seed, match.digest, thinking, thinking.played
            )  # fmt: skip
        return self._wording.assessment(thinking, note, thinking.played)


def without_results(thinking: wire.Thinking, reason: str) -> wire.Thinking:
    """The message for a client that may not see the search: its state, and why that is all."""
    return wire.Thinking(
        room=thinking.room, match=thinking.match, ply=thinking.ply, seat=thinking.seat,
        state=thinking.state, number=thinking.number, ready=thinking.ready, withheld=reason,
        wait=thinking.wait,
    )  # fmt: skip


def _is_current(thinking: wire.Thinking, match: Match | None) -> bool:
    """Whether the message is about the current turn of a match. Another node's message may arrive
    before the event that starts its turn.
    """
    return match is not None and (thinking.match, thinking.ply) == (match.id, match.ply)
