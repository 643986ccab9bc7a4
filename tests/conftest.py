"""Settings for all tests.

Property tests have no deadline (the machine may be busy), and repeat exactly in CI. With
`-n auto --dist loadscope` (`make test`) a module's tests stay in one process, unless LONGEST cuts
it, and the long ones begin first, so that all processes end at about the same time. No test depends
on real time (see test_wall_clock.py): there are two processes a core, because many tests wait for
other programs. All processes share one folder of compiled code, which the next run uses too.
"""

import asyncio
import faulthandler
import gc
import os
import signal
import sys
import threading

# pytest imports it when it reports an exception that no caller sees; two threads that do so at once
# get a half-imported module.
import tracemalloc  # noqa: F401
from collections.abc import AsyncIterator, Generator
from importlib import import_module
from pathlib import Path
from typing import Protocol, TextIO

import pytest
import pytest_asyncio
from hypothesis import settings
from playwright.async_api import Browser
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from engine.rules import overflow
from engine.rules.call import refused_games
from server.process.lean import enable_gc
from tests.support.browser import OPEN_S, open_chromium
from tests.support.server_process import ServerProcess

TESTS = Path(__file__).parent
#: The modules that take 10 s or more, in the order in which they begin, and what of them stays
#: together: tests that share a server or a browser, else each function, or each case.
LONGEST = {
    "system/test_every_game.py": "function",
    "cluster/test_faults.py": "function",
    "server/test_two_nodes.py": "case",
    "engine/test_conformance.py": "case",
    "system/test_terminal.py": "module",
    "system/test_browser.py": "module",
    "system/test_browser_rooms.py": "module",
    "system/test_browser_lessons.py": "module",
    "engine/test_pool_compiling.py": "module",
    "system/test_browser_lobby.py": "module",
    "system/test_slow.py": "function",
    "system/test_browser_settings.py": "module",
    "system/test_stop.py": "function",
    "engine/games/test_chess.py": "function",
    "system/test_browser_glass.py": "module",
    "system/test_browser_replay.py": "module",
    "engine/match/test_match.py": "function",
    "engine/test_interpreted.py": "case",
    "engine/test_native.py": "module",
    "server/test_wake_ups.py": "function",
    "system/test_add_a_game.py": "function",
    "engine/games/test_gomoku.py": "function",
    "system/test_browser_loading.py": "module",
    "system/test_remote_workers.py": "function",
    "system/test_browser_gone.py": "module",
    "system/test_browser_chess.py": "module",
    "client/test_glass_traces.py": "module",
    "client/test_web_units.py": "module",
    "server/test_permissions.py": "function",
    "system/test_browser_pages.py": "module",
    "server/test_migrations.py": "function",
    "system/test_hostile.py": "function",
    "engine/match/test_ablations.py": "function",
    "system/test_kill.py": "function",
    "server/test_store_contract_lobby.py": "module",
    "system/test_browser_thinking.py": "module",
    "engine/teach/test_command.py": "function",
    "system/test_workers.py": "function",
    "engine/test_tune.py": "function",
    "cluster/test_cluster.py": "function",
    "cluster/test_meeting.py": "function",
    "system/test_failpoints.py": "function",
    "system/test_resend.py": "function",
    "engine/test_connect_four_top_level.py": "function",
    "engine/games/test_draughts_tables.py": "function",
}

#: How much of a server's log the report of a failure has, in characters.
LOG_CHARACTERS = 5000
#: How much of its reason is named when a test fails in a parallel run, in characters.
REASON = 300
#: The time limit of the first test of a process that needs all searches, in seconds.
WARM_S = 900
#: How long a test may take to end once its time is over, in seconds; then its process ends.
END_S = 60
#: The standard error of this process, which pytest's capture does not replace.
STDERR = pytest.StashKey[TextIO]()
#: Whether a test of this process has begun that compiles all searches.
is_warm = False

# The compiled code of earlier runs is used again: its folders have the digests of rules and search
# in their names, and each game keeps its last versions. `pytest --cache-clear` removes it.
CODE = TESTS.parent / ".pytest_cache" / "code"
CODE.mkdir(mode=0o700, parents=True, exist_ok=True)
os.environ.setdefault("PLYROOM_TEST_CACHE", str(CODE))

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    # A shell without job control starts background jobs with SIGINT ignored, and all programs
    # started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Imports and collection create no garbage: the collector is off until `pytest_collection_finish`.
gc.disable()

settings.register_profile("local", deadline=None, print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def process_chromium() -> AsyncIterator[Browser]:
    """The one Chromium of this process: starting it takes as long as a short test."""
    async with open_chromium() as browser:
        yield browser


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def chromium(process_chromium: Browser) -> AsyncIterator[Browser]:
    """A Chromium for the tests of a module, which have the loop scope "session".

    No cookie, cache or page remains: each test opens contexts, and the last ones are closed here.
    """
    yield process_chromium
    async with asyncio.timeout(OPEN_S):
        for context in process_chromium.contexts:
            await context.close()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[STDERR] = os.fdopen(os.dup(2), "w")
    if "PYTEST_XDIST_WORKER" not in os.environ and config.getoption("numprocesses", None):
        config.pluginmanager.register(FailuresAtOnce(config))


class FailuresAtOnce:
    """Names a test as soon as it fails in a parallel run, which may be stopped before its end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if report.failed and reporter is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = (crash.message if crash else str(report.longrepr)).partition("\n")[0]
            reporter.write_line(f"\nFAILED {report.nodeid}, {report.when}: {reason[:REASON]}")


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around that of pytest-timeout
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Gives the first test of this process that needs all searches time to compile them, even on a
    busy machine. Ends the time limit of the whole process for the test.
    """
    global is_warm
    if not is_warm and "warm_engine" in getattr(item, "fixturenames", ()):
        is_warm = True
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(WARM_S))
    result = yield
    faulthandler.cancel_dump_traceback_later()
    return result


class TimeLimit(Protocol):
    """The settings of pytest-timeout for a test."""

    timeout: float


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: TimeLimit) -> None:
    """Lets this process end, with the stacks of its threads, if a test goes on after its time.

    At its time limit an exception is raised in the test; native code does not see it, and what the
    test has opened may wait for ever for a browser that hangs. The other processes of a parallel
    run, and a new one, do the rest.
    """
    if not item.config.getoption("usepdb"):
        end_s = settings.timeout + END_S
        faulthandler.dump_traceback_later(end_s, exit=True, file=item.config.stash[STDERR])


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Gives a test that has failed END_S to tear its fixtures down.

    pytest has just taken all limits away, for a debugger.
    """
    if isinstance(node, pytest.Item) and not node.config.getoption("usepdb"):
        faulthandler.dump_traceback_later(END_S, exit=True, file=node.config.stash[STDERR])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forgets what the test before left in this process: the games that are refused because one of
    their rules did not return, and the flag that silences numpy's overflow warnings.

    A test may call a command that sets this flag as a function; numpy's own setting ends with the
    test's context. As a hook it costs less than two fixtures of each test would.
    """
    refused_games.clear()
    overflow.is_ignored = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the log of the test's server to the report of a failure, with its warnings."""
    report = yield
    server = getattr(item, "funcargs", {}).get("server")
    if report.failed and isinstance(server, ServerProcess):
        report.sections.append(("the server's log", server.errors[-LOG_CHARACTERS:]))
    return report


def pytest_sessionstart(session: pytest.Session) -> None:
    """Imports this process's share of the test modules ahead of the collection.

    In a clean clone no module has bytecode, and pytest rewrites its assertions, which takes longer
    than all else in the collection. The processes of a parallel run would all do so for all modules
    at the same time, because they collect in the same order.
    """
    name = os.environ.get("PYTEST_XDIST_WORKER")
    if name is None or [Path(at).resolve() for at in session.config.args] != [TESTS]:
        return
    import_module("tests.engine.conftest")  # it sets what must precede the other modules
    count = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    modules = sorted(TESTS.rglob("test_*.py"))
    for path in modules[int(name.removeprefix("gw")) :: count]:
        import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Forbids bytecode from now on: Python takes the bytecode of a file that changed within the
    same second without changing its size, as files of games in tests do. The modules of the project
    have theirs by now.

    Turns the garbage collector on, with the thresholds of a server: at Python's own it would look
    at all items and modules again and again.
    """
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    enable_gc()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starts the longest modules first in parallel runs."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = {module: i for i, module in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(item.path.relative_to(TESTS).as_posix(), len(place)))


def pytest_xdist_auto_num_workers() -> int:
    """Two processes a core (`-n auto`)."""
    return 2 * (os.cpu_count() or 1)


def unit_of(node_id: str) -> str:
    """Returns the name of the tests that stay in one process with this one."""
    file, *names = node_id.split("::")
    match LONGEST.get(file.removeprefix("tests/"), "module"):
        case "case":
            return node_id
        case "function":
            return "::".join([file, *names]).split("[")[0]
        case _:
            return file


class Units(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives each process a unit at a time, in the order of the collected tests."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """Gives the rest of a process that ended to the others; returns the test that ended it.

        The class itself would give them that test too, which may end them as well, and units that
        are done, after which they would get no other.
        """
        workload = self.assigned_work[node]
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]
        crashed: str | None = None
        for unit in workload.values():
            crashed = next(test for test, is_done in unit.items() if not is_done)
            unit[crashed] = True
            break
        super().remove_node(node)
        return crashed


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Units | None:
    """Cuts the long modules (`--dist loadscope`)."""
    return Units(config, log) if config.getoption("dist") == "loadscope" else None
