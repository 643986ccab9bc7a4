"""The coach: comments on a player's moves, for that player alone (`/coach on`).

The coach searches the positions before and after each move of the player. If the chance to win
falls by MISTAKE_LOSS or more, it names the better move and the refutation of the played one. If the
move was the only good one, it praises the player. `open_coach` runs the coach.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from engine.game import Position
from engine.search.job import Result, RootMove
from engine.win_chance import is_forced, win_chance
from server.bot.api import Answer
from server.bot.bot import Bot
from server.bot.commands.actions import COACH
from server.bot.explanations import english
from server.bot.hints import answer_or_reason, unasked_answer
from server.bot.searches import Findings, match_job
from server.events import Moved
from server.ids import IdentityId
from server.ports import RunSearch, SearchRefused
from server.protocol.wording import best_of, bounded_percent, line_text, says
from server.rooms import permissions
from server.rooms.evolve import position_at
from server.rooms.model import Match, Room
from server.runtime.log import Cause
from server.runtime.node.hub import Hub
from server.runtime.observers import RoomCommit

#: Node limit of each of the coach's first two searches.
COACH_NODES = 30_000
#: Node limit of each of the two searches that confirm a mistake.
CONFIRM_NODES = 60_000
#: The least loss of the chance to win, from 0 to 1, on which the coach comments.
MISTAKE_LOSS = 0.10
#: The least gap between the only good move and every other one, as a chance to win from 0 to 1.
ONLY_GAP = 0.20
#: Number of moves of a refutation that the coach names, from the opponent's reply on.
REFUTATION_PLIES = 2
#: Maximum number of the player's own further moves before the reply that the coach names.
OWN_PLIES = 4
#: Maximum number of moves that the coach of a node reviews at a time; it skips further ones.
MAX_TASKS = 16


class MoveReview(Struct, frozen=True):
    """The searches for a comment on the move at `ply`.

    `first` is the search of the position before the move, `after` that of the position after it.
    If the move seems to lose much, `confirmed` has two longer searches: of the position after the
    best move, and of the one after the played move.
    """

    before: Position
    ply: int
    move: str
    first: Result
    after: Result
    confirmed: tuple[Result, Result] | None = None

    def loss(self) -> float:
        """How far the chance to win falls with the move, from 0 to 1.

        Where the result of the position is proven, it falls only if the move is proven to give that
        away. With `confirmed` it is the lesser of two estimates, those of the first and of the
        longer searches.
        """
        if self.move == self.first.info.pv[0]:
            return 0.0
        if self._best.proven:
            return max(0.0, self._chance(self._best) - self._chance(self._proven() or self._best))
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
        """The coach's comment on the move; None if there is nothing to say."""
        findings = Findings(self.before, self.ply, self.first)
        text = self.before.notation(self.before.parse_move(self.move))
        loss = self.loss()
        if loss >= MISTAKE_LOSS:
            better = findings.best
            played = self._proven() if self._best.proven else None
            if played is not None:
                result = "only draws" if played.score == 0 else says(self.before.game, played)
                words = english.proven_mistake(text, result, better, *self._refutation(), seed)
            else:
                words = english.mistake(text, better, loss, *self._refutation(), seed)
            # No arrow: clients draw them on the newest position, and this move is past.
            return Answer(words, candidates=findings.candidates[:1])
        if not self.is_only_move():
            return None
        game = self.before.game
        if self._best.proven:
            verb, others = findings.best.says.split()[0], _result_words(self._others())
            return Answer(english.only_move_with_result(text, verb, others, seed))
        score = max(each.score for each in self._others())
        return Answer(english.only_move(text, bounded_percent(game, score, "upper") or 0, seed))

    @property
    def _best(self) -> RootMove:
        """The best move of the first search."""
        return best_of(self.first.info)

    def _proven(self) -> RootMove | None:
        """The proven result of the played move, from either search; None if it is not proven."""
        known = [each for each in self.first.info.moves if each.move == self.move and each.proven]
        if known:
            return known[0]
        after = best_of(self.after.info)
        if not after.proven:
            return None
        score = after.score
        if is_forced(score):  # one ply more from the position before
            score -= 1 if score > 0 else -1
        if self.before.replay(self.move).turn == self.before.turn:
            return replace(after, move=self.move, score=score)
        lead = None if after.lead is None else -after.lead
        bound = {"lower": "upper", "upper": "lower"}.get(after.bound, after.bound)
        return replace(after, move=self.move, score=-score, bound=bound, lead=lead)

    def _chance(self, move: RootMove) -> float:
        return win_chance(self.before.game, move.score)

    def _others(self) -> list[RootMove]:
        """The verdicts of the first search on all other moves; empty if some are missing."""
        known = self.first.info.moves
        if len(known) < len(self.before.moves()):
            return []
        return [each for each in known if each.move != self.first.info.pv[0]]

    def _chance_after(self, move: str, result: Result) -> float:
        """The chance of the side that made the move, from a search of the position after it."""
        after = self.before.replay(move)
        chance = win_chance(self.before.game, result.info.score)
        return chance if after.turn == self.before.turn else 1 - chance

    def _refutation(self) -> tuple[str, str]:
        """The player's own further moves where the move keeps the turn, and the moves from the
        opponent's reply on, in notation with their numbers; "" where the search expects none.
        """
        played = self.after if self.confirmed is None else self.confirmed[1]
        line = (self.move, *played.info.pv)
        last, position = self.before, self.before.replay(self.move)
        own = 0
        while position.turn == self.before.turn and own < min(OWN_PLIES, len(line) - 1):
            own += 1
            last, position = position, position.replay(line[own])
        further = line_text(self.before, self.ply, line[: own + 1])
        if position.turn == self.before.turn:
            return further, ""
        reply = line[own : own + 1 + REFUTATION_PLIES]
        return further, line_text(last, self.ply + own, reply)


def _result_words(moves: Sequence[RootMove]) -> str:
    """What moves are proven to do, none of which wins: "loses", "only draws", "draws or loses"."""
    draws = [each.score == 0 for each in moves]
    return "only draws" if all(draws) else "draws or loses" if any(draws) else "loses"


async def review_move(
    room: Room, match: Match, ply: int, search: RunSearch
) -> MoveReview | None:  # fmt: skip
    """Searches the positions before and after the move at `ply`; None if one has no moves.

    Raises GameError, GameFault, and the errors of the search.
    """
    move = match.moves[ply].move
    before = position_at(room, match, ply)
    if not before.moves() or not before.replay(move).moves():
        return None
    first = await search(match_job(room, match, ply, COACH_NODES, lines=2))
    after = await search(match_job(room, match, ply + 1, COACH_NODES))
    review = MoveReview(before, ply, move, first, after)
    best = best_of(first.info)
    is_estimate = not best.proven and bool(before.replay(best.move).moves())
    if not is_estimate or review.loss() < MISTAKE_LOSS:
        return review
    job = match_job(room, match, ply, CONFIRM_NODES)
    better = await search(replace(job, moves=(*job.moves, best.move)))
    played = await search(match_job(room, match, ply + 1, CONFIRM_NODES))
    return replace(review, confirmed=(better, played))


class Coach:
    """Comments on the moves of the players who have turned the coach on, on one node."""

    def __init__(self, hub: Hub, bot: Bot) -> None:
        self._hub = hub
        self._bot = bot
        self._tasks: set[asyncio.Task[None]] = set()

    def on_commit(self, commit: RoomCommit) -> None:
        """Starts the review of a player's move that this node has committed (an observer)."""
        room = commit.after
        if commit.cause is not Cause.COMMITTED or type(commit.events[0]) is not Moved:
            return
        if not room.chat:  # a line of chat turns the coach on; this is the fastest check
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
        """Cancels all searches."""
        for task in self._tasks:
            task.cancel()

    async def _comment(self, room: Room, match: Match, ply: int, person: IdentityId) -> None:
        answer = await answer_or_reason(self._find_comment(room, match, ply, person), "")
        runner = self._hub.runner(room.id)
        current = None if runner is None else runner.room
        if current is None or permissions.position_help(current) is not None or not answer.text:
            return
        if person in self._bot.switches.people(room.id, COACH):
            self._bot.send(person, unasked_answer(room.id, answer, COACH), COACH)

    async def _find_comment(
        self, room: Room, match: Match, ply: int, person: IdentityId
    ) -> Answer:  # fmt: skip
        """The comment on a move, without text if there is nothing to say.

        A coach whose searches are refused says so once, and turns itself off.
        """
        try:
            async with self._hub.ports.background.request(person) as search:
                review = await review_move(room, match, ply, search)
        except SearchRefused as refusal:
            self._bot.switches.turn(room.id, person, COACH, False)
            answer = Answer(f"The coach is off: {refusal.message}.")
            self._bot.send(person, unasked_answer(room.id, answer, COACH), COACH)
            return Answer("")
        comment = None if review is None else review.comment(f"{match.id}:{ply}")
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
