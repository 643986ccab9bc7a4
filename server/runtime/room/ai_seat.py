"""The AI seats of a room: their moves and their answers to offers."""

import asyncio
from collections.abc import Callable

import structlog

from server.commands import AiFailure, AiMove, AiReply
from server.ports import Ports, Spawn
from server.protocol import messages as wire
from server.rooms.model import AI, Room
from server.runtime.followers.feed import Feed
from server.runtime.requests import Request
from server.seats import ai
from server.store.base import StoreError

log = structlog.get_logger()


class AiTasks:
    """Runs the tasks of a room's AI seats: the search for a move, and the reply to a draw offer.

    `submit` puts the resulting command into the room's mailbox. `on_store_failure` is called when
    the store fails; the owner of the tasks must then call `update` again.
    """

    __slots__ = (
        "_feed",
        "_on_store_failure",
        "_ports",
        "_readiness_task",
        "_reply_task",
        "_spawn",
        "_submit",
        "_turn_task",
    )

    def __init__(
        self,
        ports: Ports,
        spawn: Spawn,
        feed: Feed,
        submit: Callable[[Request], None],
        on_store_failure: Callable[[], None],
    ) -> None:
        self._ports = ports
        self._spawn = spawn
        self._feed = feed
        self._submit = submit
        self._on_store_failure = on_store_failure
        #: The key and the task of the search.
        self._turn_task: tuple[str, asyncio.Task[None]] | None = None
        #: The key and the task of the reply to a draw offer.
        self._reply_task: tuple[str, asyncio.Task[None]] | None = None
        self._readiness_task: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a search or a reply is running."""
        return self._turn_task is not None or self._reply_task is not None

    def update(self, room: Room, is_responsible: bool) -> None:
        """Starts the tasks that are due in the room and cancels those that are no longer due.

        Only the responsible node runs tasks.
        """
        self._update_turn(room, is_responsible)
        self._update_reply(room, is_responsible)

    def on_command(self, command: object) -> None:
        """Forgets the task that submitted this command: it has ended."""
        match command:
            case AiMove() | AiFailure() if self._turn_task is not None:
                prefix = ai.search_key_prefix(command.match, command.digest)
                if self._turn_task[0].startswith(prefix):
                    self._turn_task = None
            case AiReply():
                self._reply_task = None
            case _:
                pass

    def close(self) -> None:
        """Cancels all tasks."""
        for keyed_task in (self._turn_task, self._reply_task):
            if keyed_task is not None:
                keyed_task[1].cancel()
        if self._readiness_task is not None:
            self._readiness_task.cancel()

    # --- the turn ---

    def _update_turn(self, room: Room, is_responsible: bool) -> None:
        seat = room.ai_to_move() if is_responsible else None
        match = room.match if seat is not None else None
        due_key = (
            None if match is None else f"{ai.search_key_prefix(match.id, match.digest)}{match.ply}"
        )
        if self._turn_task is not None and self._turn_task[0] != due_key:
            self._turn_task[1].cancel()
            self._turn_task = None
        if self._turn_task is not None or due_key is None:
            return
        assert seat is not None, "a search is due"
        task = self._spawn(self._find_move(room, seat), f"ai {room.id}")
        self._turn_task = due_key, task

    async def _find_move(self, room: Room, seat: int) -> None:
        """Searches for the AI seat's move and submits it as a command."""
        assert room.match is not None, "an AI moves in a match"
        is_search = room.match.seats[seat].strategy is None
        was_uncompiled = is_search and self._ports.engines.warm_percent(room.game_id) < 100
        command: AiMove | AiFailure
        try:
            command, thought = await ai.find_move(
                self._ports, room, room.match, seat, self._feed.send_thinking,
                is_followed=self._feed.has_followers,
            )  # fmt: skip
        except Exception:
            log.exception("AI seat failed", room=room.id, game=room.game_id)
            key = ai.command_id(room.match, room.v)
            command = AiFailure(key, room.match.id, seat, room.match.digest, "its engine failed")
            thought = None
        if isinstance(command, AiFailure):
            log.error("AI gives no move", room=room.id, game=room.game_id, reason=command.reason)
        self._submit(Request(AI, command, None, thought))
        was_uncompiled = was_uncompiled or _is_compiling(self._feed.thinking)
        if self._readiness_task is not None:
            # A readiness task that is still running has not sent its last message.
            was_uncompiled = was_uncompiled or not self._readiness_task.done()
            self._readiness_task.cancel()
        if was_uncompiled:
            reports = ai.report_readiness(
                self._ports, room, room.match, seat, self._feed.send_thinking
            )
            self._readiness_task = self._spawn(reports, f"readiness {room.id}")

    # --- the reply to a draw offer ---

    def _update_reply(self, room: Room, is_responsible: bool) -> None:
        seat = room.ai_to_answer_draw() if is_responsible else None
        due_key = None
        if seat is not None and room.match is not None:
            due_key = f"{ai.search_key_prefix(room.match.id, room.match.digest)}{seat}"
        if self._reply_task is not None and self._reply_task[0] != due_key:
            self._reply_task[1].cancel()
            self._reply_task = None
        if self._reply_task is None and due_key is not None and seat is not None:
            task = self._spawn(self._answer_draw_offer(room, seat), f"draw {room.id}")
            self._reply_task = due_key, task

    async def _answer_draw_offer(self, room: Room, seat: int) -> None:
        """Answers a draw offer, using the analysis of the AI's last move."""
        assert room.match is not None, "a draw is offered in a match"
        try:
            thoughts = await self._ports.store.projections.thoughts(room.match.id)
        except StoreError as error:
            log.warning("store unavailable", room=room.id, error=str(error))
            self._reply_task = None
            self._on_store_failure()
            return
        command = ai.answer_draw_offer(room, room.match, seat, thoughts)
        self._submit(Request(AI, command))


def _is_compiling(thinking: wire.Thinking | None) -> bool:
    """Whether the latest message says that the game is still being compiled."""
    return thinking is not None and thinking.ready is not None
