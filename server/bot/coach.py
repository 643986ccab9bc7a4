"""The coach: comments on a player's moves, for that player alone (`/coach on`).

After a move of a player it searches the positions before and after it. Where the chance to win
falls by MISTAKE_LOSS or more, it names the better move and how the played one is answered; where
the move was the only good one, it praises the player. `open_coach` runs it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from engine.game import Position
from engine.search.job import Result, RootMove
from engine.win_chance import win_chance
from server.bot.api import Answer
from server.bot.bot import Bot
from server.bot.commands.actions import COACH
from server.bot.explanations import english
from server.bot.hints import in_words, send_answer
from server.bot.searches import Findings, match_job
from server.ids import IdentityId
from server.ports import RunSearch, SearchRefused
from server.protocol.wording import bounded_percent, line_text
from server.rooms import permissions
from server.rooms.events import Moved
from server.rooms.evolve import position_at
from server.rooms.model import Match, Room
from server.runtime.hub import Hub
from server.runtime.log import Cause
from server.runtime.observers import RoomCommit

#: Node limit of the coach's first two searches, and of those that must confirm a mistake.
COACH_NODES, CONFIRM_NODES = 30_000, 60_000
#: The loss of the chance to win from which the coach speaks.
MISTAKE_LOSS = 0.10
#: How much worse every other move must be for the coach to praise the only good one.
ONLY_GAP = 0.20
#: The number of moves that are named of the answer to a mistake.
REFUTATION_PLIES = 2
#: Number of moves that the coach may be judging at a time on a node; it leaves out further ones.
MAX_TASKS = 16


class Judged(Struct, frozen=True):
    """The searches about a move at `ply`: of the position before it, and of the one after it. Where
    the move seems to lose much, `confirmed` has two longer ones: of the position after the best
    move, and of the one after the played move.
    """

    before: Position
    ply: int
    move: str
    first: Result
    after: Result
    confirmed: tuple[Result, Result] | None = None

    def loss(self) -> float:
        """How far the chance to win falls with the move, from 0 to 1.

        With `confirmed` it is the lesser of two estimates: that of the first searches, and that
        of the longer ones.
        """
        if self.move == self.first.info.pv[0]:
            return 0.0
        best = win_chance(self.before.game, self.first.info.score)
        losses = [best - self._chance_after(self.move, self.after)]
        if self.confirmed is not None:
            better, played = self.confirmed
            best = self._chance_after(self.first.info.pv[0], better)
            losses.append(best - self._chance_after(self.move, played))
        return max(0.0, min(losses))

    def is_only_move(self) -> bool:
        """Whether the move is the best one, and every other one is proved to be much worse."""
        best, others = self.first.info.pv[0], self._others()
        if self.move != best or not others or any(each.bound == "lower" for each in others):
            return False
        game = self.before.game
        second = max(win_chance(game, each.score) for each in others)
        return win_chance(game, self.first.info.score) - second >= ONLY_GAP

    def comment(self, seed: str) -> Answer | None:
        """What the coach says of the move; None if there is nothing to say."""
        findings = Findings(self.before, self.ply, self.first)
        text = self.before.notation(self.before.parse_move(self.move))
        loss = self.loss()
        if loss >= MISTAKE_LOSS:
            better = findings.best
            words = english.mistake(text, better, loss, self._refutation(), seed)
            # No arrow: clients draw them on the newest position, and this move is past.
            return Answer(words, candidates=findings.candidates[:1])
        if not self.is_only_move():
            return None
        game = self.before.game
        score = max(each.score for each in self._others())
        return Answer(english.only_move(text, bounded_percent(game, score, "upper") or 0, seed))

    def _others(self) -> list[RootMove]:
        """What the first search proved of all other moves; empty if it does not know them all."""
        known = self.first.info.moves
        if len(known) < len(self.before.moves()):
            return []
        return [each for each in known if each.move != self.first.info.pv[0]]

    def _chance_after(self, move: str, result: Result) -> float:
        """The chance of the side that made the move, from a search of the position after it."""
        after = self.before.replay(move)
        chance = win_chance(self.before.game, result.info.score)
        return chance if after.turn == self.before.turn else 1 - chance

    def _refutation(self) -> str:
        """The moves that answer the played one, in notation and with their numbers."""
        played = self.after if self.confirmed is None else self.confirmed[1]
        line = (self.move, *played.info.pv[:REFUTATION_PLIES])
        return line_text(self.before, self.ply, line)


async def judge(room: Room, match: Match, ply: int, search: RunSearch) -> Judged | None:
    """Searches the positions before and after the move at `ply`; None where one has no moves.

    Raises GameError, GameFault, and the errors of the search.
    """
    move = match.moves[ply].move
    before = position_at(room, match, ply)
    if not before.moves() or not before.replay(move).moves():
        return None
    first = await search(match_job(room, match, ply, COACH_NODES, lines=2))
    after = await search(match_job(room, match, ply + 1, COACH_NODES))
    judged = Judged(before, ply, move, first, after)
    best = first.info.pv[0]
    if judged.loss() < MISTAKE_LOSS or not before.replay(best).moves():
        return judged
    job = match_job(room, match, ply, CONFIRM_NODES)
    better = await search(replace(job, moves=(*job.moves, best)))
    played = await search(match_job(room, match, ply + 1, CONFIRM_NODES))
    return replace(judged, confirmed=(better, played))


class Coach:
    """Judges the moves of the players who have the coach on, on one node."""

    def __init__(self, hub: Hub, bot: Bot) -> None:
        self._hub = hub
        self._bot = bot
        self._tasks: set[asyncio.Task[None]] = set()

    def on_commit(self, commit: RoomCommit) -> None:
        """Starts to judge a player's move that this node commits. An observer."""
        room = commit.after
        if commit.cause is not Cause.COMMITTED or type(commit.events[0]) is not Moved:
            return
        people = self._bot.switches.people(room.id, COACH)
        moved = commit.events[0]
        match = room.running_match
        if not people or match is None or len(self._tasks) >= MAX_TASKS:
            return
        person = IdentityId(match.seats[moved.seat].identity)
        if person in people and permissions.position_help(room) is None:
            task = asyncio.create_task(
                self._comment(room, match, moved.ply, person), name=f"coach in {room.id}"
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Ends all searches."""
        for task in self._tasks:
            task.cancel()

    async def _comment(self, room: Room, match: Match, ply: int, person: IdentityId) -> None:
        answer = await in_words(self._find_comment(room, match, ply, person), "")
        runner = self._hub.runner(room.id)
        current = None if runner is None else runner.room
        if current is None or permissions.position_help(current) is not None or not answer.text:
            return
        for follower in self._bot.followers_with(room.id, COACH):
            if follower.identity == person:
                send_answer(room.id, follower, answer, "coach")

    async def _find_comment(
        self, room: Room, match: Match, ply: int, person: IdentityId
    ) -> Answer:  # fmt: skip
        """The comment on a move, without text if there is nothing to say.

        A coach whose searches are refused says so once, and turns itself off.
        """
        try:
            async with self._hub.ports.background.request(person, "ask") as search:
                judged = await judge(room, match, ply, search)
        except SearchRefused as refusal:
            self._bot.switches.turn(room.id, person, COACH, False)
            answer = Answer(f"The coach is off: {refusal.message}.")
            for follower in self._bot.followers_of(room.id, person):
                send_answer(room.id, follower, answer, "coach")
            return Answer("")
        comment = None if judged is None else judged.comment(f"{match.id}:{ply}")
        return comment or Answer("")


@asynccontextmanager
async def open_coach(hub: Hub, bot: Bot) -> AsyncIterator[Coach]:
    """Runs the coach of a node until the block ends."""
    coach = Coach(hub, bot)
    unsubscribe = hub.observers.subscribe(coach.on_commit)
    try:
        yield coach
    finally:
        unsubscribe()
        coach.close()
