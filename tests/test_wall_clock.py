"""No test that `make test` runs depends on a clock that it does not control.

So no test fails because the machine is busy. Tests advance the time (`tests.support.clock`,
`tests.support.virtual_time`) or assert the order of events. A time limit may end a test that hangs,
but it must be too long for any other test to reach.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CLOCKS = {"perf_counter", "monotonic", "time", "process_time", "thread_time"}
CLOCKS |= {f"{name}_ns" for name in CLOCKS}
#: Functions with which a test controls its clock.
CLOCK_CONTROLS = {"virtual", "run_virtual", "stopped_clock", "ends_within"}
#: Functions with a time limit as an argument.
LIMITS = {"timeout", "wait_for", "wait_procs", "wait", "run", "communicate"}
#: The minimum of a time limit that only a test that hangs reaches, in seconds.
MIN_LIMIT_S = 20

#: Benchmarks, which measure real time; `make bench` or a person runs them.
PROGRAMS = ("engine/*_peers.py",)
#: Places that may read a real clock or set a short limit, each with the reason. "long" is a test
#: that `make test` leaves out.
ALLOWED = {
    ("client/test_clocks.py", "now_ms"): "for tests on virtual time",
    ("support/clock.py", "StoppedClock.__init__"): "the clock itself",
    ("support/cluster_load.py", "ClusterLoad.play"): "a figure that is printed",
    ("support/cluster_load.py", "ClusterLoad.wait_for_progress"): "a figure that is printed",
    (
        "engine/formats/test_read_oracles.py",
        "test_pgn_is_read_at_half_the_speed_of_python_chess",
    ): "long",
    ("engine/test_pool_workers.py", "test_two_hundred_kills"): "long",
    ("support/load.py", "Link._record"): "the time of a record in a history",
    ("support/load.py", "answer_or_none"): "the checker judges a missing answer",
    ("server/test_bus_faults.py", "Chatter.listen"): "long",
    ("server/test_bus_faults.py", "Chatter._send"): "long",
    ("server/test_nodes_that_die.py", "now_s"): "for tests on virtual time",
    ("server/test_remote_engines.py", "now_s"): "for tests on virtual time",
    ("server/test_stopping.py", "FakeSocket"): "for tests on virtual time",
    (
        "server/test_store_sqlite.py",
        "test_a_write_waits_for_a_short_lock",
    ): "slowness cannot make it fail",
    ("server/test_planted_analyses.py", "stored_depth_of_time"): "a planted fault",
    ("support/fake_server.py", "loop_ms"): "the fake server uses its loop's time",
    ("support/fake_server.py", "FakeServer.ports"): "the fake server uses its loop's time",
    ("support/search_places.py", "loop_s"): "for tests on virtual time",
    ("support/pseudo_terminal.py", "Screen"): "limits for what hangs",
    ("system/test_kill.py", "test_kill_9_takes_no_time_from_clocks"): "long",
    ("system/test_remote_workers.py", "Adverts.wait_for_busy"): "long",
    ("system/test_remote_workers.py", "Duel.watch"): "long",
    ("system/test_remote_workers.py", "test_workers_killed_while_the_ai_plays"): "long",
}


def clock_uses(source: str) -> Iterator[tuple[str, str]]:
    """Yields the places that read a real clock or set a short limit: function name and fault."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    yield from _uses(tree, "", constants)


def _uses(node: ast.AST, name: str, constants: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if not _controls_clock(child):
                    yield from _uses(child, f"{name}.{child.name}".strip("."), constants)
            case ast.With(
                items=[
                    ast.withitem(
                        context_expr=ast.Call(func=ast.Attribute(attr="raises"), args=args)
                    )
                ]
            ):
                if not any(isinstance(arg, ast.Name) and arg.id == "TimeoutError" for arg in args):
                    yield from _uses(child, name, constants)
            case ast.Call(func=ast.Attribute(attr=attribute)):
                if attribute in CLOCKS:
                    yield name, f"line {child.lineno}: a clock is read: {ast.unparse(child)}"
                elif (
                    attribute in LIMITS
                    and (limit := _limit(child, attribute, constants)) is not None
                ):
                    yield (
                        name,
                        f"line {child.lineno}: {limit:g} s may be too short for a busy machine",
                    )
                yield from _uses(child, name, constants)
            case _:
                yield from _uses(child, name, constants)


def _controls_clock(function: ast.AST) -> bool:
    """Returns whether a function controls its clock, in its body or by a decorator."""
    return not isinstance(function, ast.ClassDef) and any(
        isinstance(node, ast.Name) and node.id in CLOCK_CONTROLS for node in ast.walk(function)
    )


def _limit(call: ast.Call, name: str, constants: Mapping[str, object]) -> float | None:
    """Returns the time limit that a call sets if it is short, else None."""
    limits = [keyword.value for keyword in call.keywords if keyword.arg == "timeout"]
    limits += call.args[:1] if name == "timeout" else call.args[1:2] if name == "wait_for" else []
    for limit in limits:
        value = (
            constants.get(limit.id)
            if isinstance(limit, ast.Name)
            else getattr(limit, "value", None)
        )
        if isinstance(value, int | float) and value < MIN_LIMIT_S:
            return float(value)
    return None


def test_no_test_depends_on_a_clock_that_it_does_not_control() -> None:
    """No test reads real time or sets a short limit, except those in ALLOWED."""
    found, used = [], set()
    for path in sorted(TESTS.rglob("*.py")):
        module = path.relative_to(TESTS)
        if any(module.match(pattern) for pattern in PROGRAMS):
            continue
        for name, what in clock_uses(path.read_text("utf-8")):
            allowed = {
                place
                for place in ALLOWED
                if place[0] == str(module) and f"{name}.".startswith(f"{place[1]}.")
            }
            used |= allowed
            if not allowed:
                found.append(f"{module}, {name}: {what}")
    assert found == []
    assert used == set(ALLOWED), "every exception is needed"


@pytest.mark.parametrize(
    "body",
    [
        "begun = time.perf_counter(); work(); assert time.perf_counter() - begun < 0.5",
        "assert asyncio.get_running_loop().time() < 3",
        "async with asyncio.timeout(2): await work()",
        "await asyncio.wait_for(work(), 5)",
        "await asyncio.wait_for(work(), timeout=PROMPT_S)",
        "process.wait(timeout=PROMPT_S)",
        "with pytest.raises(KeyError): time.monotonic()",
    ],
)
def test_a_real_clock_is_found(body: str) -> None:
    """`clock_uses` reports a real clock and a short limit."""
    header = "PROMPT_S = 1.5\nasync def test():\n    "
    assert [name for name, _ in clock_uses(header + body)][:1] == ["test"]


@pytest.mark.parametrize(
    "body",
    [
        "async with asyncio.timeout(60): await work()",
        "async with stopped_clock() as clock: assert asyncio.get_running_loop().time() < 3",
        "run_virtual(asyncio.wait_for(work(), 5))",
        "with pytest.raises(TimeoutError):\n        await asyncio.wait_for(work(), 0.1)",
        "process.wait()",
    ],
)
def test_controlled_clocks_are_accepted(body: str) -> None:
    """Controlled clocks and limits for hanging tests are accepted."""
    assert list(clock_uses(f"async def test():\n    {body}\n")) == []
