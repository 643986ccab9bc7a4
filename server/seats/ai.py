"""An AI seat: requests a move from an engine, and reports the running search to the room."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import structlog
from msgspec.structs import replace

from engine.dispatch.dispatcher import QueueFull
from engine.rules.numbering import move_number
from engine.search.job import (
    GameQuarantined,
    Info,
    Job,
    Limit,
    Load,
    Priority,
    Result,
    RulesChanged,
    SearchError,
    SearchLost,
)
from engine.search.timeman import budget
from engine.strategies.contract import StrategyFailed
from engine.strategies.reasons import LATE
from server.commands import AiFailure, AiMove, AiReply
from server.ports import EngineUnavailable, Ports
from server.protocol import messages as wire
from server.rooms.clock import available_ms
from server.rooms.model import Match, Room
from server.rooms.thinking import search_seed
from server.rooms.turns import turns_since
from server.store.base import Thought
from server.time_controls import ByoYomi

#: Shortest time between two reports of a running search, in ms. The end is always reported.
THINKING_EVERY_MS = 100

#: Default time of a strategy's move, in ms.
STRATEGY_MS = 2_000

#: Pause after a lost search before the next one, in seconds; each further pause is twice as long.
LOST_PAUSE_S = 2.0
#: Longest time that an AI waits for one move in all, after lost searches and for the ends of
#: quarantines, in seconds. A busy machine loses the searches of faultless games too, and its first
#: quarantines are 60 and 120 s.
MAX_LOST_WAIT_S = 300.0

#: Time between two attempts while no engine is connected, in seconds.
ABSENT_RETRY_S = 0.5

log = structlog.get_logger()

_encode = msgspec.json.Encoder().encode


def command_id(match: Match, v: int) -> str:
    """The id of the AI's command at version `v`.

    Two nodes that both search use the same id, so the store commits only one of their moves. It
    contains `v` rather than the ply, because a takeback would repeat plies.
    """
    return f"ai:{match.id}:{v}"


def search_key_prefix(match: str, digest: str) -> str:
    """The start of a key for a match's current position; `digest` is the position's."""
    return f"{match}:{digest}:"


def job_for(
    room: Room,
    match: Match,
    seat: int,
    strategy_ms: int = STRATEGY_MS,
    *,
    is_followed: bool = True,
) -> Job:
    """The search job for the seat to move; a strategy has `strategy_ms` for a move.

    In a match between AIs it comes after those of people who wait for their opponent, and last if
    nobody follows the room.

    Its seed depends only on the match and the ply, so that a repeated search gives the same move.
    """
    assert room.game is not None, "a room without rules has no AI to move"
    occupant = match.seats[seat]
    priority: Priority = 0
    if all(each.kind == "ai" for each in match.seats):
        priority = 1 if is_followed else 2
    limit = Limit()
    if occupant.strategy is not None:
        limit = Limit(depth=occupant.depth, time_ms=strategy_ms)
    return Job(
        game=room.game_id, rules=room.game.digest, options=dict(room.options), start=match.start,
        moves=tuple(played.move for played in match.moves), affinity=room.id, level=occupant.level,
        persona=occupant.persona, limit=limit,
        seed=search_seed(match.id, match.ply), digest=match.digest,
        strategy=occupant.strategy, evaluator=occupant.evaluator or "", priority=priority,
    )  # fmt: skip


#: The time of a clock that an AI keeps for what its search does not count, in ms.
CLOCK_RESERVE_MS = 300
#: The least time that an AI has for a move.
MIN_MOVE_MS = 50
#: The time on its clock below which an AI plays at once, without a pace, in ms.
MIN_PACED_MS = 20_000


def time_for_move(match: Match) -> int | None:
    """The time that the clock gives an AI for its move, in ms; None without a clock, and before it
    runs.

    It is the share of `engine.search.timeman` of the time until the next stage, or of the match.
    """
    clock = match.clock
    if clock is None or not all(clock.opened):
        return None
    side, stages = clock.sides[clock.turn], clock.control.stages
    stage = stages[min(side.stage, len(stages) - 1)]
    turns = side.periods if stage.turns is not None or side.stage == len(stages) else None
    is_byoyomi = side.stage == len(stages) and isinstance(clock.control.overtime, ByoYomi)
    # In byo-yomi a move may use the present period, and no further one.
    left_ms = side.left_ms if is_byoyomi else available_ms(clock)
    limit = Limit(
        clock_ms=max(1, left_ms - CLOCK_RESERVE_MS),
        increment_ms=stage.gain_ms if side.stage < len(stages) else 0,
        moves_to_go=1 if is_byoyomi else turns,
    )
    share = budget(limit)
    assert share is not None, "a clock gives a budget"
    return max(MIN_MOVE_MS, round(share.soft_ms))


class ThinkingReporter:
    """Turns the infos of one search into `thinking` frames, at most one every THINKING_EVERY_MS."""

    def __init__(
        self,
        room: Room,
        match: Match,
        seat: int,
        now_ms: Callable[[], int],
        send: Callable[[wire.Thinking], None],
        get_percent: Callable[[], int] = lambda: 100,
    ) -> None:
        assert room.game is not None, "a room without rules has no AI to move"
        number = move_number(room.game, match.ply, seat)
        self._common_fields = {
            "room": room.id,
            "match": match.id,
            "ply": match.ply,
            "seat": seat,
            "number": number,
        }
        self._now_ms = now_ms
        self._get_percent = get_percent
        self._send_thinking = send
        self._sent_ms = -THINKING_EVERY_MS
        #: Whether the search has reported any progress since it last waited.
        self.has_info = False

    def report_waiting(self, is_warm: bool, wait: str = "") -> None:
        """Reports that the search waits for a worker, or for the game to be compiled.

        `wait` says what a compiled game's search waits for, in words.
        """
        self.has_info = False
        state = "queued" if is_warm else "warming"
        self._send(wire.Thinking(**self._common_fields, state=state, wait=wait if is_warm else ""))  # type: ignore[arg-type]

    def report_readiness(self) -> None:
        """Reports only the progress of compiling the game. Clients keep the last analysis."""
        self._send(wire.Thinking(**self._common_fields, state="done"))  # type: ignore[arg-type]

    def report_absent(self) -> None:
        """Reports that no engine is connected. The match waits for one."""
        self._send(wire.Thinking(**self._common_fields, state="absent"))  # type: ignore[arg-type]

    def report_info(self, info: Info) -> None:
        """Reports the progress of the search, unless a report was sent just before."""
        self.has_info = True
        now_ms = self._now_ms()
        if now_ms - self._sent_ms >= THINKING_EVERY_MS:
            self._sent_ms = now_ms
            self._send(self._thinking(info, "searching"))

    def report_done(self, info: Info, move: str) -> None:
        """Reports the final info of the search, and the move that is played."""
        self._send(replace(self._thinking(info, "done"), played=move))

    def _thinking(self, info: Info, state: str) -> wire.Thinking:
        return wire.Thinking(
            **self._common_fields, state=state,  # type: ignore[arg-type]
            depth=info.depth, score=info.score, nodes=info.nodes, nps=info.nps,
            time_ms=info.time_ms, pv=info.pv, moves=info.moves, warming=info.warming,
            value=info.value, log=info.log if state == "done" else "",
            counts=info.counts, depths=info.depths,
        )  # fmt: skip

    def _send(self, thinking: wire.Thinking) -> None:
        """Sends the message, with the progress of compiling the game until it is compiled."""
        percent = self._get_percent()
        if percent < 100:
            thinking = replace(thinking, ready=percent)
        self._send_thinking(thinking)


#: Time between two reports of the compilation after the AI's move, in seconds.
READY_EVERY_S = 1.0


def reporter_of(
    ports: Ports, room: Room, match: Match, seat: int, send: Callable[[wire.Thinking], None]
) -> ThinkingReporter:
    """The reporter of the AI's search at this seat. For a strategy nothing is compiled."""
    is_compiled = match.seats[seat].strategy is not None
    return ThinkingReporter(
        room, match, seat, ports.uptime_ms, send,
        lambda: 100 if is_compiled else ports.engines.warm_percent(room.game_id),
    )  # fmt: skip


#: Time between two reports of a search that waits, in seconds.
WAIT_REPORT_S = 1.0
#: The number of such reports after which the log says what the search waits for.
WAIT_REPORTS_BEFORE_LOG = 2


@contextmanager
def reports_of_waiting(
    ports: Ports, room: Room, job: Job, reporter: ThinkingReporter
) -> Iterator[None]:
    """Reports what a search waits for, every WAIT_REPORT_S until it has begun or the block ends.

    A search that waits long is logged once.
    """
    loop = asyncio.get_running_loop()
    count = 0
    timer: asyncio.TimerHandle | None = None

    def report() -> None:
        nonlocal count, timer
        if reporter.has_info:
            return
        count += 1
        is_warm = job.strategy is not None or ports.engines.is_warm(job.game)
        wait = wait_text(ports.engines.load())
        reporter.report_waiting(is_warm, wait)
        if count == WAIT_REPORTS_BEFORE_LOG:
            wait = wait if is_warm else "waits until the game is compiled"
            log.warning("search waits", room=room.id, game=job.game, wait=wait)
        timer = loop.call_later(WAIT_REPORT_S, report)

    timer = loop.call_later(WAIT_REPORT_S, report)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


async def wait_for_next_try(reporter: ThinkingReporter, why: str, wait_s: float) -> None:
    """Waits until the next search, and reports every WAIT_REPORT_S why and for how long."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + wait_s
    while (left_s := end_s - loop.time()) > 0:
        reporter.report_waiting(True, f"waits: {why}; next try in {max(1, round(left_s))} s")
        await asyncio.sleep(min(WAIT_REPORT_S, left_s))


def wait_text(load: Load) -> str:
    """What a search waits for at this load, in words."""
    if not load.workers:
        return "waits until a search process has started"
    if load.running >= load.workers:
        ahead = f", {load.waiting} wait" if load.waiting > 1 else ""
        return f"waits for a free search process: {load.running} at work{ahead}"
    return "waits until a search process has loaded the game"


async def find_move(
    ports: Ports,
    room: Room,
    match: Match,
    seat: int,
    send: Callable[[wire.Thinking], None],
    *,
    is_followed: bool = True,
) -> tuple[AiMove | AiFailure, bytes | None]:
    """Searches for the AI seat's move; returns its command, and its analysis as JSON.

    Returns an AiFailure after `ai_tries` failed searches, and at once if a strategy fails or the
    rules have changed. A lost search, and one for which the queue has no room, is tried again after
    a pause, and the end of a quarantine is waited for, up to MAX_LOST_WAIT_S in all. While no
    engine is connected, it waits.
    """
    time_ms = time_for_move(match)
    strategy_ms = round(1000 * ports.settings.strategy_move_s)
    move_ms = strategy_ms if time_ms is None else min(strategy_ms, time_ms)
    job = job_for(room, match, seat, move_ms, is_followed=is_followed)
    reporter = reporter_of(ports, room, match, seat, send)
    key = command_id(match, room.v)
    reason, tries, lost_count, waited_s, is_absent = "", 0, 0, 0.0, False
    while tries < max(1, ports.settings.ai_tries):
        if not is_absent:
            is_warm = job.strategy is not None or ports.engines.is_warm(job.game)
            load = ports.engines.load()
            is_busy = load.running >= load.workers
            reporter.report_waiting(is_warm, wait_text(load) if is_busy else "")
        try:
            with reports_of_waiting(ports, room, job, reporter):
                result = await ports.engines.search(job, reporter.report_info, time_ms)
        except EngineUnavailable:
            if not is_absent:
                log.warning("no engine", room=room.id, game=job.game)
                is_absent = True
                reporter.report_absent()
            await asyncio.sleep(ABSENT_RETRY_S)
            continue
        except (SearchLost, GameQuarantined, QueueFull) as error:
            reason, is_absent = _reason(error), False
            log.warning("search lost", room=room.id, game=job.game, error=str(error))
            if isinstance(error, GameQuarantined):
                wait_s, why = error.left_s, "the last searches of this game were lost"
            else:
                wait_s = LOST_PAUSE_S * 2.0**lost_count
                is_full = isinstance(error, QueueFull)
                why = "too many searches wait already" if is_full else "the last search was lost"
                lost_count += 1
            waited_s += wait_s
            if waited_s > MAX_LOST_WAIT_S:
                break
            await wait_for_next_try(reporter, why, wait_s)
            continue
        except (RulesChanged, StrategyFailed) as error:
            reason = _reason(error)
            if match.clock is not None and match.position is not None and reason == LATE:
                # The clock gave it less time than it may have elsewhere.
                move = match.position.tokens()[0]
                return AiMove(key, match.id, seat, match.digest, move, spent_ms=time_ms), None
            cause = str(error.__cause__ or error)
            log.warning("no search", room=room.id, game=job.game, error=cause)
            break
        except SearchError as error:
            reason, tries, is_absent = _reason(error), tries + 1, False
            log.warning("search failed", room=room.id, game=job.game, error=str(error))
            continue
        reporter.report_done(result.info, result.move)
        paced_ms = await _wait_for_pace(ports, match, room.changed_ms)
        spent_ms = None if match.clock is None else result.info.time_ms + paced_ms
        return AiMove(key, match.id, seat, match.digest, result.move, spent_ms=spent_ms), _encode(
            _stored_analysis(result)
        )
    return AiFailure(key, match.id, seat, match.digest, reason), None


def _reason(error: SearchError) -> str:
    """Why there is no move, in words for players. The engine's message goes to the log only."""
    match error:
        case RulesChanged():
            return "the rules of this game have changed since the match began"
        case GameQuarantined():
            return "too many searches of this game failed"
        case SearchLost():
            return "the processes that searched for its move died or hung"
        case StrategyFailed():
            return str(error)
        case _:
            return "no engine found a move"


async def report_readiness(
    ports: Ports, room: Room, match: Match, seat: int, send: Callable[[wire.Thinking], None]
) -> None:
    """Reports the progress of compiling the game after the AI's move, until it is compiled.

    The runner starts it if the game was not compiled when the search started. The last report
    follows the end of compiling.
    """
    reporter = reporter_of(ports, room, match, seat, send)
    is_ready = False
    while not is_ready:
        await asyncio.sleep(READY_EVERY_S)
        is_ready = ports.engines.warm_percent(room.game_id) == 100
        reporter.report_readiness()


#: Turns of a match before an AI accepts a draw. Its score is unreliable before. A turn is one ply,
#: or more in games with extra turns.
DRAW_TURNS = 40


class _Score(msgspec.Struct):
    score: int = 0


def answer_draw_offer(room: Room, match: Match, seat: int, thoughts: Sequence[Thought]) -> AiReply:
    """The AI's answer to an offer of a draw.

    After DRAW_TURNS it accepts if its score at its last move was not positive.
    """
    # The analyses of moves that were taken back are stored too; that of the last move has the
    # highest v of its ply.
    ply = match.last_ply_of(seat)
    analyses = (thought for thought in thoughts if thought.ply == ply)
    last = max(analyses, key=lambda thought: thought.v, default=None)
    score = msgspec.json.decode(last.body, type=_Score).score if last is not None else None
    is_late = turns_since(match, 0) >= DRAW_TURNS
    accept = is_late and score is not None and score <= 0
    return AiReply(f"draw:{match.id}:{room.v}", match.id, seat, accept)


def _stored_analysis(result: Result) -> dict[str, object]:
    """The analysis that is stored with a move: the search's last info and the move."""
    analysis = msgspec.to_builtins(result.info)
    assert isinstance(analysis, dict), "a struct becomes an object"
    return {**analysis, "move": result.move}


async def _wait_for_pace(ports: Ports, match: Match, last_ms: int) -> int:
    """Waits until players have had time to see the previous move; returns the ms that it waited.

    An AI that has little time left on its clock does not wait.
    """
    if match.clock is not None and available_ms(match.clock) < MIN_PACED_MS:
        return 0
    is_duel = all(occupant.kind == "ai" for occupant in match.seats)
    pace_ms = ports.settings.ai_duel_pace_ms if is_duel else ports.settings.ai_pace_ms
    left_ms = last_ms + pace_ms - ports.now_ms()
    if left_ms <= 0:
        return 0
    await asyncio.sleep(min(left_ms, pace_ms) / 1000)
    return min(left_ms, pace_ms)
