"""An engine worker: `python -m server.worker` runs searches for servers on the same broker.

It has a pool like a server's. It advertises its games and its load, receives commands on its own
topic, and sends its answers to the server that sent the command. It has no access to rooms, players
or the store.
"""

import asyncio
import contextlib
import math
import platform
import re
import secrets
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click
import structlog

from engine.dispatch.dispatcher import QueueFull
from engine.pool.compile_queue import WarmState
from engine.pool.pool import Pool
from engine.pool.warmer import CompilesTooLong
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import game_ids, load_game, production_ids
from engine.search.job import (
    RIVALS,
    USES,
    GameQuarantined,
    Info,
    Load,
    RulesChanged,
    SearchError,
    SearchLost,
    Use,
)
from engine.strategies.contract import StrategyFailed
from engine.strategy_pool.pool import StrategyPool
from server.bus import work
from server.bus.broker import Broker, broker_of
from server.bus.codec import NODES_TOPIC, node_topic
from server.bus.link import Link, open_link
from server.bus.work import CompilingGame, Malformed, ReadyGame, UncompiledGame
from server.ports import EngineUnavailable
from server.process.logs import log_compile_error, log_to_stderr
from server.seats.strategies import Strategies, StrategyEngines
from server.settings import SettingError, Settings, settings_from_env

log = structlog.get_logger()

#: Time between two adverts, in seconds.
ADVERT_S = 1.0
#: Time between two keepalive messages of a search, in seconds.
KEEPALIVE_S = 0.5
#: Shortest time between two progress messages of a search, in seconds.
PROGRESS_S = 0.1
#: Time between two log lines about the worker's searches, in seconds.
STATUS_S = 60.0
#: Number of recent searches that a worker remembers, so that it runs none twice.
MAX_REMEMBERED = 1000


class RunningSearch(NamedTuple):
    """A search that a worker runs: the server that asked for it, its class and its task."""

    server: str
    use: Use
    task: "asyncio.Task[None]"


class EngineWorker:
    """Runs the commands that arrive over a link, on a pool. Use `async with open_worker(…)`."""

    def __init__(
        self,
        link: Link,
        pool: Pool,
        cores: int,
        games: tuple[str, ...],
        strategies: Strategies | None = None,
    ) -> None:
        self.link = link
        self._pool = pool
        self._strategies = strategies or StrategyPool(0)
        self._engines = StrategyEngines(pool, self._strategies, load_game)
        self._cores = cores
        self._games = games
        #: Those of the games that are compiled. Strategies play the others.
        self._compiled_games = tuple(game for game in games if game in production_ids())
        #: The measured speed in each game, in nodes per second.
        self._speeds: dict[str, int] = {}
        #: The running searches, by search id and attempt.
        self._running: dict[tuple[str, int], RunningSearch] = {}
        #: The searches that have arrived, oldest first, so that none runs twice.
        self._seen: dict[tuple[str, int], None] = {}
        #: The searches that a Stop has named: it may arrive before its Search.
        self._stopped: dict[tuple[str, int], None] = {}
        self._answered: Counter[Use] = Counter()
        self._advert_changed = asyncio.Event()
        link.subscribe(work.commands_topic(link.name), self._on_command)
        link.subscribe(f"{NODES_TOPIC}/+", self._on_node)

    # --- adverts

    async def run(self) -> None:
        """Publishes the advert and compiles the games until cancelled.

        Searches, and servers on this machine, have priority over compiling.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._compile_games(), name="worker compiling")
            tasks.create_task(self._log_status(), name="worker status")
            while True:
                self._advert_changed.clear()
                self.link.set_status(work.encode(self.advert()))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ADVERT_S):
                        await self._advert_changed.wait()
                        await asyncio.sleep(PROGRESS_S)

    def advert(self) -> work.Advert:
        """The compiled games, the games still to compile, and this worker's load."""
        warm = [game for game in self._compiled_games if self._pool.is_warm(game)]
        offers = {
            game: ReadyGame(load_game(game).digest, self._speeds.get(game, 0)) for game in warm
        }
        warming = {
            game: CompilingGame(load_game(game).digest, min(99, self._pool.warm_percent(game)))
            for game in self._compiled_games
            if game not in offers and self._is_playable(game) and _can_load(game)
        }
        uncompiled = {
            game: UncompiledGame(load_game(game).digest)
            for game in self._games
            if game not in offers and game not in warming and _can_load(game)
        }
        load, strategies = self._engines.load(), self._strategies.names[: work.MAX_STRATEGIES]
        live = load.of("live")
        background_count = load.running + load.waiting - live.running - live.waiting
        return work.Advert(
            self.link.name, self._cores, offers, live.running, live.waiting, warming,
            work.CAPABILITIES, strategies, uncompiled if strategies else {},
            work.background_size(self._cores), background_count,
        )  # fmt: skip

    def _is_playable(self, game: str) -> bool:
        """Whether levels can play a game that is not compiled: one that is still to compile, or
        whose compilation takes too long.
        """
        is_too_long = isinstance(self._pool.compile_error(game), CompilesTooLong)
        return is_too_long or self._pool.warm_state(game) != "failed"

    async def _log_status(self) -> None:
        """Logs the searches by class every STATUS_S, if there were any since the last line."""
        logged: dict[str, int] = {}
        while True:
            await asyncio.sleep(STATUS_S)
            status = describe_load(self._engines.load(), self._answered)
            if status != logged:
                log.info("searches", **status)
                logged = status

    async def _compile_games(self) -> None:
        """Compiles the games one after the other. The pool reports and repeats what fails."""
        for game in self._compiled_games:
            with contextlib.suppress(SearchError):
                await self._pool.warm(game, idle=True)

    def on_warm(self) -> None:
        """Publishes the advert soon, because the state of a game has changed."""
        self._advert_changed.set()

    # --- commands

    def _on_command(self, topic: str, payload: bytes) -> None:
        """Handles a command that the broker delivers."""
        try:
            command = work.parse_command(payload)
        except Malformed as error:
            self._on_malformed(payload, error)
            return
        if isinstance(command, work.Expect):
            if command.game in self._games:
                self._pool.expect(command.game)
            return
        key = (command.id, command.attempt)
        match command:
            case work.Search() if key not in self._seen and key not in self._stopped:
                _remember(self._seen, key)
                self._start_search(command)
            case work.Search():
                pass  # the broker delivered it twice, or after its Stop
            case work.Stop():
                _remember(self._stopped, key)
                if key in self._running:
                    self._running[key].task.cancel()

    def _on_malformed(self, payload: bytes, error: Malformed) -> None:
        """Counts a malformed command; if it is a search with a valid header, refuses the search.

        An unknown field comes from a newer server.
        """
        self.link.counts.refused += 1
        log.warning("command refused", reason=str(error)[:80], refused=self.link.counts.refused)
        header = work.parse_search_header(payload)
        if header is not None:
            self._refuse(header, "failed", f"this worker does not understand the search: {error}")

    def _on_node(self, topic: str, payload: bytes) -> None:
        """Cancels the searches of a server that is down: its retained status is then empty."""
        if not payload:
            for running in tuple(self._running.values()):
                if node_topic(running.server) == topic:
                    running.task.cancel()

    def _start_search(self, search: work.Search) -> None:
        """Starts a search, or refuses it."""
        if search.job.game not in self._games:
            self._refuse(search, "failed", f"this worker does not play {search.job.game}")
        elif unknown := set(search.job.needs).difference(work.CAPABILITIES):
            names = ", ".join(sorted(unknown))
            self._refuse(search, "failed", f"this worker's program cannot do: {names}")
        elif search.job.strategy not in (None, *self._strategies.names):
            self._refuse(search, "failed", "this worker does not have that strategy")
        elif search.job.rules != (rules := load_game(search.job.game).digest):
            self._refuse(search, "game.changed", f"the rules of {search.job.game} are {rules} here")
        elif (count := self._rival_count(search.job.use)) >= self._capacity(search.job.use):
            self._refuse(search, "busy", f"this worker has {count} searches already")
        else:
            key = (search.id, search.attempt)
            task = asyncio.create_task(self._serve(search), name=f"search {search.id}")
            self._running[key] = RunningSearch(search.server, search.job.use, task)
            task.add_done_callback(lambda _: self._running.pop(key))
        self._advert_changed.set()

    def _rival_count(self, use: Use) -> int:
        """The number of searches that count for the capacity of this class."""
        return sum(running.use in RIVALS[use] for running in self._running.values())

    def _capacity(self, use: Use) -> int:
        """The number of searches of this class that the worker runs and queues."""
        if use == "live":
            return (1 + work.QUEUED_PER_CORE) * self._cores
        return work.background_size(self._cores)

    async def _serve(self, search: work.Search) -> None:
        """Runs a search and sends its answer."""
        keepalive = asyncio.create_task(
            self._send_keepalives(search), name=f"keepalive {search.id}"
        )
        try:
            async with asyncio.timeout(search.deadline_ms / 1000):
                result = await self._engines.search(
                    search.job, self._progress_reporter(search), search.time_ms
                )
        except RulesChanged as error:
            self._refuse(search, "game.changed", str(error))
        except QueueFull as error:
            self._refuse(search, "busy", str(error))
        except GameQuarantined as error:
            left_s = 0.0 if math.isinf(error.left_s) else min(error.left_s, 86_400.0)
            self._refuse(search, "quarantined", str(error), left_ms=math.ceil(1000 * left_s))
        except EngineUnavailable as error:
            self._refuse(search, "busy", str(error))
        except StrategyFailed as error:
            self._refuse(search, "strategy", str(error))
        except SearchError as error:
            self._refuse(search, "failed", str(error), is_lost=isinstance(error, SearchLost))
        except TimeoutError:
            log.warning("search beyond its deadline", game=search.job.game)
        else:
            self._answered[search.job.use] += 1
            is_search = search.job.strategy is None
            if is_search and result.info.nodes > 0 and result.info.time_ms > 0:
                average = self._speeds.get(search.job.game, result.info.nps)
                self._speeds[search.job.game] = (3 * average + result.info.nps) // 4
            self._send(search, work.Answered(search.id, search.attempt, result), reliable=True)
        finally:
            keepalive.cancel()
            self._advert_changed.set()

    async def _send_keepalives(self, search: work.Search) -> None:
        """Sends keepalive messages of a search until cancelled."""
        while True:
            self._send(search, work.Taken(search.id, search.attempt))
            await asyncio.sleep(KEEPALIVE_S)

    def _progress_reporter(self, search: work.Search) -> Callable[[Info], None]:
        """Returns a function that sends a search's progress at most once every PROGRESS_S."""
        sent_s = 0.0
        loop = asyncio.get_running_loop()

        def report(info: Info) -> None:
            nonlocal sent_s
            if loop.time() - sent_s >= PROGRESS_S:
                sent_s = loop.time()
                self._send(search, work.Progress(search.id, search.attempt, info))

        return report

    def _refuse(
        self,
        search: work.Search | work.SearchHeader,
        reason: str,
        message: str,
        *,
        is_lost: bool = False,
        left_ms: int = 0,
    ) -> None:
        log.info("search refused", reason=reason, message=message)
        refusal = work.Refused(
            search.id, search.attempt, reason, message[:1000], is_lost, left_ms  # type: ignore[arg-type]
        )  # fmt: skip
        self._send(search, refusal, reliable=True)

    def _send(
        self,
        search: work.Search | work.SearchHeader,
        message: work.WorkerMessage,
        reliable: bool = False,
    ) -> None:
        self.link.publish(
            work.answers_topic(search.server), work.encode(message), reliable=reliable
        )

    async def close(self) -> None:
        """Cancels all searches. The servers notice when the advert disappears."""
        tasks = [running.task for running in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def describe_load(load: Load, answered: Counter[Use]) -> dict[str, int]:
    """The searches of a worker by class, for its log."""
    status: dict[str, int] = {}
    for use in USES:
        each = load.of(use)
        status[f"{use}_running"], status[f"{use}_waiting"] = each.running, each.waiting
        status[f"{use}_preempted"], status[f"{use}_answered"] = each.preempted, answered[use]
    return status


def _can_load(game: str) -> bool:
    """Whether the game's file loads.

    A plug-in's file may raise anything; the pool logs the error.
    """
    try:
        load_game(game)
    except Exception:
        return False
    return True


def _remember(keys: dict[tuple[str, int], None], key: tuple[str, int]) -> None:
    """Adds a key, and drops the oldest one beyond MAX_REMEMBERED."""
    keys[key] = None
    if len(keys) > MAX_REMEMBERED:
        del keys[next(iter(keys))]


@asynccontextmanager
async def open_worker(
    broker: Broker,
    name: str,
    cores: int,
    games: tuple[str, ...] | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[EngineWorker]:
    """Runs a worker on a broker, which need not be up yet. The name gets a random suffix.

    The settings are those of strategies.
    """
    client_id = f"worker-{name}-{secrets.token_hex(3)}"
    worker: EngineWorker | None = None

    def on_warm(game_id: str, state: WarmState) -> None:
        if worker is not None:
            worker.on_warm()

    async with (
        Pool(cores, warm=(), on_warm=on_warm, on_compile_error=log_compile_error) as pool,
        make_strategies(settings or Settings()) as strategies,
        open_link(broker, client_id, work.worker_topic(client_id)) as link,
    ):
        worker = EngineWorker(link, pool, cores, games or tuple(game_ids()), strategies)
        task = asyncio.create_task(worker.run(), name="engine worker")
        try:
            yield worker
        finally:
            task.cancel()
            await asyncio.wait([task])
            await worker.close()


def make_strategies(settings: Settings) -> StrategyPool:
    """The processes for strategies that the settings describe."""
    return StrategyPool(settings.strategy_processes, settings.strategy_memory_mib << 20)


def _parse_games(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(part.strip() for part in value.split(",") if part.strip())
    unknown = set(names) - set(game_ids())
    if unknown or not names:
        raise click.BadParameter(f"the games are: {', '.join(game_ids())}")
    return names


def _parse_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    name = (
        value
        if value is not None
        else re.sub(r"[^\w-]", "-", platform.node(), flags=re.ASCII)[:40] or "somewhere"
    )
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
        raise click.BadParameter("letters, digits, - and _ are expected, at most 40")
    return name


@click.command()
@click.option(
    "--bus",
    help="The broker: mqtt://user:password@host:port/prefix, or mqtts://… for TLS."
    "  [env: PLYROOM_BUS]",
)
@click.option(
    "--bus-file", type=click.Path(dir_okay=False, path_type=Path),
    help="A file that contains the broker's address: other users of this machine can see"
    " command lines.  [env: PLYROOM_BUS_FILE]",
)  # fmt: skip
@click.option(
    "--games", callback=_parse_games, help="Games to search, separated by commas.  [default: all]"
)
@click.option(
    "--cores",
    type=click.IntRange(1, 256),
    help="Search processes.  [default: one per core, at most 4]",
)
@click.option(
    "--name",
    callback=_parse_name,
    help="The worker's name in logs.  [default: this machine's name]",
)
def main(
    bus: str | None,
    bus_file: Path | None,
    games: tuple[str, ...] | None,
    cores: int | None,
    name: str,
) -> None:
    """Runs an engine worker, which runs searches for the Plyroom servers on the same broker."""
    try:
        settings = settings_from_env()
        if bus is not None or bus_file is not None:
            settings = replace(settings, bus=bus or "", bus_file=bus_file)
        broker = broker_of(settings)
        if broker is None:
            raise SettingError(
                "no broker is set: use --bus mqtt://host, PLYROOM_BUS or PLYROOM_BUS_FILE"
            )
    except SettingError as error:
        raise click.ClickException(str(error)) from error
    log_to_stderr(settings.log)
    ignore_overflow()
    cores = cores or max(1, settings.workers)
    asyncio.run(_run(broker, name, cores, games, settings))


async def _run(
    broker: Broker, name: str, cores: int, games: tuple[str, ...] | None, settings: Settings
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, stop.set)
    async with open_worker(broker, name, cores, games, settings) as worker:
        click.echo(
            f"{worker.link.name} runs searches for {broker} on {cores} cores. Ctrl-C stops it."
        )
        await stop.wait()


if __name__ == "__main__":
    main()
