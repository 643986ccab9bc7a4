"""The AI's seat: asks a search engine for a move and tells the room what it is thinking meanwhile."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence

import msgspec
import structlog

from engine.rules.numbering import move_number
from engine.search.job import GameQuarantined, Info, Job, Result, RulesChanged, SearchError
from server.ports import EnginesAway, Ports
from server.protocol import messages as wire
from server.protocol.codec import format_message
from server.protocol.frames import text_frame
from server.rooms.model import AiFailure, AiMove, AiReply, Match, Room
from server.store.base import Thought

#: The room hears of a search at most so often, and of its end always.
THINKING_EVERY_MS = 100

#: Where there is no engine at all, one is looked for so often.
AWAY_S = 0.5

log = structlog.get_logger()

_encode = msgspec.json.Encoder().encode


def command_id(match: Match, v: int) -> str:
    """The id of the AI's answer at v, so that two nodes that both ask make one move.
    v and not the ply: a takeback repeats plies.
    """
    return f"ai:{match.id}:{v}"


def question(match: str, digest: str) -> str:
    """What an AI is asked begins so: its answer names the same match and position."""
    return f"{match}:{digest}:"


def job_for(room: Room, match: Match, seat: int) -> Job:
    """The search for the seat to move; its seed is the same wherever and whenever it is asked
    again.
    """
    assert room.game is not None, "a room without rules has no AI to move"
    occupant = match.seats[seat]
    seed = hashlib.blake2b(f"{match.id}:{match.ply}".encode(), digest_size=6).digest()
    return Job(
        game=room.game_id, rules=room.game.digest, options=dict(room.options), start=match.start,
        moves=tuple(played.move for played in match.moves), affinity=room.id, level=occupant.level,
        persona=occupant.persona,
        seed=int.from_bytes(seed, "big"), digest=match.digest,
    )  # fmt: skip


class Thoughts:
    """Turns the infos of one search into `thinking` frames, not more often than anybody can read."""

    def __init__(
        self,
        room: Room,
        match: Match,
        seat: int,
        now_ms: Callable[[], int],
        tell: Callable[[bytes], None],
        percent: Callable[[], int] = lambda: 100,
    ) -> None:
        assert room.game is not None, "a room without rules has no AI to move"
        number = move_number(room.game, match.ply, seat)
        self._fixed = {
            "room": room.id,
            "match": match.id,
            "ply": match.ply,
            "seat": seat,
            "number": number,
        }
        self._now_ms = now_ms
        self._percent = percent
        self._tell = tell
        self._told_ms = 0

    def waiting(self, warm: bool) -> None:
        """The search is asked for: it waits for a free worker, or for an engine that has its game."""
        self._send(wire.Thinking(**self._fixed, state="queued" if warm else "warming"))  # type: ignore[arg-type]

    def readiness(self) -> None:
        """How far the game is compiled, and nothing else: what the AI saw before stays to be read."""
        self._send(wire.Thinking(**self._fixed, state="done"))  # type: ignore[arg-type]

    def absent(self) -> None:
        """There is nobody who could search; the match waits for somebody to come."""
        self._send(wire.Thinking(**self._fixed, state="absent"))  # type: ignore[arg-type]

    def info(self, info: Info) -> None:
        """The search goes on."""
        now_ms = self._now_ms()
        if now_ms - self._told_ms >= THINKING_EVERY_MS:
            self._told_ms = now_ms
            self._send(self._thinking(info, "searching"))

    def done(self, info: Info) -> None:
        """The search is over, and this is what it thought at the end."""
        self._send(self._thinking(info, "done"))

    def _thinking(self, info: Info, state: str) -> wire.Thinking:
        return wire.Thinking(
            **self._fixed, state=state, depth=info.depth, score=info.score, nodes=info.nodes, nps=info.nps,  # type: ignore[arg-type]
            time_ms=info.time_ms, pv=info.pv, moves=info.moves, warming=info.warming,
        )  # fmt: skip

    def _send(self, thinking: wire.Thinking) -> None:
        """With how far the game is compiled, as long as it is not."""
        percent = self._percent()
        if percent < 100:
            thinking = msgspec.structs.replace(thinking, ready=percent)
        self._tell(text_frame(format_message(thinking)))


#: A room hears so often how far its game is compiled, between the AI's moves as well.
READY_EVERY_S = 1.0


def thoughts_of(
    ports: Ports, room: Room, match: Match, seat: int, tell: Callable[[bytes], None]
) -> Thoughts:
    """What tells the room of the AI's search at this seat."""
    return Thoughts(
        room, match, seat, ports.now_ms, tell, lambda: ports.engines.warm_percent(room.game_id)
    )


async def answer(
    ports: Ports, room: Room, match: Match, seat: int, tell: Callable[[bytes], None]
) -> tuple[AiMove | AiFailure, bytes | None]:
    """The command that the AI seat gives in this position, and what it saw;
    a search that fails is tried again before it gives up.
    """
    job = job_for(room, match, seat)
    thoughts = thoughts_of(ports, room, match, seat, tell)
    key = command_id(match, room.v)
    reason, tries, is_absent = "", 0, False
    while tries < max(1, ports.settings.ai_tries):
        if not is_absent:
            thoughts.waiting(ports.engines.is_warm(job.game))
        try:
            result = await ports.engines.search(job, thoughts.info)
        except EnginesAway:
            if not is_absent:
                log.warning("no engine", room=room.id, game=job.game)
                is_absent = True
                thoughts.absent()
            await asyncio.sleep(AWAY_S)
            continue
        except (RulesChanged, GameQuarantined) as error:
            reason = _reason(error)
            log.warning("no search", room=room.id, game=job.game, error=str(error))
            break
        except SearchError as error:
            reason, tries, is_absent = _reason(error), tries + 1, False
            log.warning("search failed", room=room.id, game=job.game, error=str(error))
            continue
        thoughts.done(result.info)
        await _pace(ports, match, room.changed_ms)
        return AiMove(key, match.id, seat, match.digest, result.move), _encode(_seen(result))
    return AiFailure(key, match.id, seat, match.digest, reason), None


def _reason(error: SearchError) -> str:
    """Why there is no move, in words for the room: what an engine says of it stands in the log
    only.
    """
    match error:
        case RulesChanged():
            return "the rules of this game have changed since the match began"
        case GameQuarantined():
            return "too many searches of this game failed"
        case _:
            return "no engine found a move"


async def tell_readiness(
    ports: Ports, room: Room, match: Match, seat: int, tell: Callable[[bytes], None]
) -> None:
    """Tells a room after the AI's move how far its game is compiled, until there is nothing to wait
    for: of a game that was not when the AI was asked, so that the last word is always that it is
    ready.
    """
    thoughts = thoughts_of(ports, room, match, seat, tell)
    is_ready = False
    while not is_ready:
        await asyncio.sleep(READY_EVERY_S)
        is_ready = ports.engines.warm_percent(room.game_id) == 100
        thoughts.readiness()


#: An AI accepts no draw before so many plies: until then its score says little.
DRAW_PLIES = 40


class _Score(msgspec.Struct):
    score: int = 0


def reply(room: Room, match: Match, seat: int, thoughts: Sequence[Thought]) -> AiReply:
    """What the AI says to the offer of a draw: yes where it saw no advantage for itself when it
    last moved.
    """
    last = max(thoughts, key=lambda thought: thought.ply, default=None)
    score = msgspec.json.decode(last.body, type=_Score).score if last is not None else None
    accept = match.ply >= DRAW_PLIES and score is not None and score <= 0
    return AiReply(f"draw:{match.id}:{room.v}", match.id, seat, accept)


def _seen(result: Result) -> dict[str, object]:
    """What is kept of a search beside its move."""
    seen = msgspec.to_builtins(result.info)
    assert isinstance(seen, dict), "a struct becomes an object"
    return {**seen, "move": result.move}


async def _pace(ports: Ports, match: Match, last_ms: int) -> None:
    """Waits until people have had time to see the move before."""
    duel = all(occupant.kind == "ai" for occupant in match.seats)
    pace_ms = ports.settings.ai_duel_pace_ms if duel else ports.settings.ai_pace_ms
    left_ms = last_ms + pace_ms - ports.now_ms()
    if left_ms > 0:
        await asyncio.sleep(min(left_ms, pace_ms) / 1000)
