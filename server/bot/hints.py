"""Hints at the press of a button: a search for the asker alone, which ends when the board changes.

`Observers.subscribe_hints` delivers the requests that a room has accepted. A hint depends on the
position only, so a second request gets the cached result of the first one at once.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

import structlog

from engine.game import GameError, GameFault
from engine.search.job import SearchError
from server.bot.api import Answer
from server.bot.commands.positions import GAME_OVER, NO_POSITION, hint_answer, with_turn
from server.bot.searches import Findings, hint_job
from server.commands import Hint
from server.ids import RoomId
from server.ports import Follower
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.rooms import permissions
from server.rooms.model import CommandRejected, Match, Room
from server.runtime.node.hub import Hub
from server.runtime.observers import RoomCommit, changes_board

log = structlog.get_logger()

#: Time limit for a hint and its wait for an engine, in seconds.
HINT_S = 30.0
#: The answer if the board has changed before the hint was ready.
CHANGED = "The position has changed."
#: The answer if no engine gave a hint.
NO_HINT = "The engine gave no hint; ask again later."


class Hints:
    """The searches for hints on a node, at most one for each connection."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._tasks: dict[Follower, tuple[RoomId, asyncio.Task[None]]] = {}

    def on_hint(self, room: Room, follower: Follower, hint: Hint) -> None:
        """Starts the search for a hint, in place of the connection's earlier one."""
        self._cancel(follower)
        match = room.running_match
        if match is None or match.ply != hint.ply:
            _send(room.id, follower, Answer(CHANGED))
            return
        task = asyncio.create_task(
            self._answer(room, match, follower, hint), name=f"hint in {room.id}"
        )
        self._tasks[follower] = (room.id, task)
        task.add_done_callback(lambda done: self._forget(follower, done))

    def on_commit(self, commit: RoomCommit) -> None:
        """Cancels the searches for hints in a room whose board has changed (an observer)."""
        if self._tasks and changes_board(commit.events):
            for follower, (room_id, _) in list(self._tasks.items()):
                if room_id == commit.after.id:
                    self._cancel(follower)

    def close(self) -> None:
        """Cancels all searches."""
        for follower in list(self._tasks):
            self._cancel(follower)

    def _cancel(self, follower: Follower) -> None:
        _, task = self._tasks.pop(follower, (None, None))
        if task is not None:
            task.cancel()

    def _forget(self, follower: Follower, done: "asyncio.Task[None]") -> None:
        if self._tasks.get(follower, (None, None))[1] is done:
            del self._tasks[follower]

    async def _answer(self, room: Room, match: Match, follower: Follower, hint: Hint) -> None:
        async def find_hint() -> Answer:
            position = match.position
            if position is None:
                return Answer(NO_POSITION)
            if not position.moves():
                return Answer(GAME_OVER)
            searches = self._hub.ports.background
            result = await searches.search(follower.identity, hint_job(room, match))
            findings = Findings(position, match.ply, result)
            seat = permissions.viewer_of(room, follower.identity).seat
            return with_turn(findings, seat, hint_answer(findings, hint.what))

        answer = await answer_or_reason(find_hint(), NO_HINT)
        runner = self._hub.runner(room.id)
        current = None if runner is None else runner.room
        if follower.closed or current is None:
            return
        refusal = permissions.position_help(current)
        is_current = current.match is not None and current.match.digest == match.digest
        if refusal is not None:
            answer = Answer(_sentence(refusal.message))
        elif not is_current:
            answer = Answer(CHANGED)
        _send(room.id, follower, answer)


async def answer_or_reason(finding: Coroutine[object, object, Answer], failed: str) -> Answer:
    """Returns the answer, the reason why the search was refused, or `failed` if it failed."""
    try:
        async with asyncio.timeout(HINT_S):
            return await finding
    except CommandRejected as refusal:
        return Answer(_sentence(refusal.message))
    except (SearchError, TimeoutError, GameError, GameFault) as error:
        log.warning("no hint", error=repr(error))
        return Answer(failed)


def unasked_answer(room_id: RoomId, answer: Answer, about: str) -> wire.Answer:
    """The message of an answer that belongs to no line of the chat: a "hint" or of the "coach"."""
    return wire.Answer(
        room=room_id, v=0, text=answer.text, arrows=answer.arrows, candidates=answer.candidates,
        about=about,
    )  # fmt: skip


def _send(room_id: RoomId, follower: Follower, hint: Answer) -> None:
    follower.send(Outbound(unasked_answer(room_id, hint, "hint")))


def _sentence(refusal: str) -> str:
    """The message of a refusal as a sentence."""
    return f"{refusal[:1].upper()}{refusal[1:]}."


@asynccontextmanager
async def open_hints(hub: Hub) -> AsyncIterator[Hints]:
    """Gives hints to the clients of a node until the block ends."""
    hints = Hints(hub)
    hub.observers.subscribe_hints(hints.on_hint)
    unsubscribe = hub.observers.subscribe(hints.on_commit)
    try:
        yield hints
    finally:
        unsubscribe()
        hints.close()
