"""A node that dies just before an append, after it, or before the ack loses no command."""

import asyncio
import random
from pathlib import Path

import pytest

from server.process.failpoint import PLACES, make_failpoint, no_failpoint
from server.settings import SettingError
from tests.oracle.journal import Journal, read_logs
from tests.support.players import LONG_STICKS, two_people
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, assert_no_traceback, serving

#: The number of kills per failpoint; the long form and tests/cluster have more.
KILLS = 1


@pytest.mark.parametrize(
    "kills", [KILLS, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
@pytest.mark.parametrize("place", PLACES)
async def test_a_node_that_dies_at_a_failpoint_loses_and_repeats_no_command(
    tmp_path: Path, place: str, kills: int
) -> None:
    """Repeated crashes at a failpoint lose no command and repeat none.

    An acknowledged command is in the log once, a resend is acknowledged with the same v, clients
    receive only committed events, and all matches continue.
    """
    rng = random.Random(f"{place} {kills}")
    journal, stop = Journal(), asyncio.Event()
    async with serving(tmp_path / "data", ai_pace_ms=0, **NO_RATE_LIMITS) as server:
        async with asyncio.TaskGroup() as tasks:
            for n in range(5):
                tasks.create_task(two_people(server.url, "sticks", LONG_STICKS, journal, n, stop))
            await journal.wait_for_acks(20)
            await server.kill()
            for _ in range(kills):
                await die_at(server, f"{place}:{rng.randrange(1, 60)}")
                assert journal.violations(read_logs(server.data)) == []
            await server.start()
            await journal.wait_for_acks(20)
            stop.set()
        assert await server.stop() == 0
    assert journal.violations(read_logs(server.data)) == []
    assert journal.refused == []
    assert_no_traceback(server)


async def die_at(server: ServerProcess, spec: str) -> None:
    """Runs the server until its failpoint kills it."""
    await server.start(failpoint=spec)
    assert await server.wait() == -9


@pytest.mark.parametrize(
    "spec", ["after", "after_append", "after_append:0", "after_append:x", "nowhere:1", ":1"]
)
def test_an_invalid_failpoint_is_refused(spec: str) -> None:
    """The error lists the existing failpoints; an empty setting means none."""
    with pytest.raises(SettingError, match="before_append, after_append, before_ack"):
        make_failpoint(spec)
    assert make_failpoint("") is no_failpoint
