"""A game whose searches hang is put into quarantine, also where each has had an answer; a machine
that was slow for a moment puts no game there. Fake processes on virtual time.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from engine.pool.quarantine import FAULTS_IN_A_ROW, FIRST_PAUSE_S
from engine.search.job import GameQuarantined, Result
from tests.support.search_places import Places, pool_places, run_callbacks
from tests.support.virtual_time import run_virtual


def play(workers: int, script: Callable[[Places], Coroutine[Any, Any, None]]) -> None:
    """Runs a script with a pool of fake worker processes."""

    async def main() -> None:
        with pytest.MonkeyPatch.context() as patch:
            async with pool_places(workers, patch) as places:
                await script(places)

    run_virtual(main())


async def hang(places: Places) -> Result:
    """A search that reports one depth and then hangs: it is answered with that depth's move."""
    searching = places.search()
    sent = await places.next_attempt()
    await sent.report(1)
    return await searching


async def answer(places: Places) -> Result:
    """A search that its worker answers."""
    searching = places.search()
    sent = await places.next_attempt()
    await sent.answer(3)
    return await searching


async def is_quarantined(places: Places) -> bool:
    """Whether the pool refuses a search of the game; otherwise its caller gives it up at once."""
    searching = places.search()
    await run_callbacks()
    if searching.done():
        return isinstance(searching.exception(), GameQuarantined)
    sent = await places.next_attempt()
    await sent.answer(3)
    await searching
    return False


def test_searches_that_hang_after_a_first_move_are_faults() -> None:
    """Each costs a worker and its caller's time, though it is answered."""

    async def script(places: Places) -> None:
        for _ in range(FAULTS_IN_A_ROW):
            assert (await hang(places)).info.depth == 1
        assert await is_quarantined(places)
        await asyncio.sleep(FIRST_PAUSE_S)
        await hang(places)  # the quarantine ends, and one more fault starts the next one
        assert await is_quarantined(places)

    play(1, script)


def test_searches_that_hang_and_wait_for_a_worker_in_vain_are_faults() -> None:
    """They are answered when their time is over."""

    async def script(places: Places) -> None:
        for _ in range(FAULTS_IN_A_ROW):
            searching = places.search(time_ms=5000)
            await (await places.next_attempt()).report(1)
            places.stop_replacements()
            assert (await searching).info.depth == 1
            places.may_start.set()  # type: ignore[attr-defined]
            await asyncio.sleep(10)
        assert await is_quarantined(places)

    play(1, script)


def test_a_hung_search_that_another_worker_answers_is_no_fault() -> None:
    """One worker hung, and the next one found the answer."""

    async def script(places: Places) -> None:
        for _ in range(2 * FAULTS_IN_A_ROW):
            searching = places.search(time_ms=10_000)
            await (await places.next_attempt()).report(1)
            await (await places.next_attempt()).answer(3)
            assert (await searching).info.depth == 3
        assert places.engines._quarantine._records == {}

    play(1, script)


def test_cancelled_searches_that_do_not_stop_are_faults() -> None:
    """A worker that does not stop is killed, and no caller waits for an answer any more."""

    async def script(places: Places) -> None:
        for _ in range(FAULTS_IN_A_ROW):
            searching = places.search()
            await places.next_attempt()
            await run_callbacks()
            searching.cancel()
            await asyncio.sleep(2.0)
        assert await is_quarantined(places)

    play(1, script)


def test_an_answer_resets_the_count_of_hung_searches() -> None:
    """A game whose other searches are answered stays."""

    async def script(places: Places) -> None:
        for _ in range(3):
            for _ in range(FAULTS_IN_A_ROW - 1):
                await hang(places)
            await answer(places)
        assert not await is_quarantined(places)

    play(1, script)


def test_searches_that_are_lost_together_count_once() -> None:
    """A machine that was suspended loses the searches of all its workers at once."""

    async def script(places: Places) -> None:
        searches = []
        for _ in range(2 * FAULTS_IN_A_ROW):
            searches.append(places.search())
            await (await places.next_attempt()).report(1)
        await asyncio.gather(*searches)
        assert not await is_quarantined(places)

    play(2 * FAULTS_IN_A_ROW, script)


def test_workers_that_die_are_no_hung_searches() -> None:
    """A search that is answered with its best move because its worker died says nothing about the
    game: somebody killed the process, or the memory was full.
    """

    async def script(places: Places) -> None:
        for _ in range(2 * FAULTS_IN_A_ROW):
            places.stop_replacements()
            searching = places.search()
            sent = await places.next_attempt()
            await sent.report(1)
            await sent.die()
            assert (await searching).info.depth == 1
            places.may_start.set()  # type: ignore[attr-defined]
            await asyncio.sleep(10)
        assert not await is_quarantined(places)

    play(1, script)


def test_a_worker_that_hangs_while_it_loads_says_nothing_about_the_search() -> None:
    """The search has not begun: the machine is slow to read the code."""

    async def script(places: Places) -> None:
        for _ in range(FAULTS_IN_A_ROW):
            places.are_unresponsive = True
            searching = places.search()
            await places.next_attempt()
            searching.cancel()
            await asyncio.sleep(5.0)
        places.are_unresponsive = False
        assert not await is_quarantined(places)

    play(1, script)
