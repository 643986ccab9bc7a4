"""tests/support/clock.py: the clock that tests advance."""

import asyncio

import pytest

from tests.support.clock import moment, stopped_clock, until


async def test_time_stands_still_until_it_is_advanced() -> None:
    """A timer runs when it is due, not before; other threads run while the clock stands still."""
    loop = asyncio.get_running_loop()
    called: list[float] = []
    async with stopped_clock() as clock:
        before_s = loop.time()
        for delay_s in (0.001, 60, 3600):
            loop.call_later(delay_s, called.append, delay_s)
        for _ in range(5):
            await moment()
        assert (called, loop.time()) == ([], before_s)
        clock.advance(60)
        await until(lambda: bool(called))
        assert called == [0.001, 60]
        clock.advance(3539)
        await moment()
        assert called == [0.001, 60]
        clock.advance(1)
        await until(lambda: len(called) == 3)
    assert before_s + 3600 <= loop.time()


async def test_time_continues_afterwards() -> None:
    """Timers work again, and time has not gone back."""
    loop = asyncio.get_running_loop()
    async with stopped_clock() as clock:
        clock.advance(1000)
        last_s = loop.time()
    assert loop.time() >= last_s
    await asyncio.sleep(0.001)
    assert loop.time() > last_s


async def test_until_advances_from_timer_to_timer() -> None:
    """Timers that set further timers run in order and on time.

    A condition that is not true within its time raises AssertionError.
    """
    loop = asyncio.get_running_loop()
    called: list[float] = []
    async with stopped_clock() as clock:
        start_s = clock.now_s

        async def three_times() -> None:
            for _ in range(3):
                await asyncio.sleep(1)
                called.append(loop.time() - start_s)

        task = asyncio.create_task(three_times())
        assert await clock.until(lambda: len(called) == 2, within_s=2.1) == pytest.approx(2)
        with pytest.raises(AssertionError, match=r"within 0\.9 s"):
            await clock.until(task.done, within_s=0.9)
        assert called == pytest.approx([1, 2])
        await clock.run(10)
        assert called == pytest.approx([1, 2, 3])
        assert clock.now_s == pytest.approx(start_s + 12)
