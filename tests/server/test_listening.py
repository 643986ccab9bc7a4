"""Clocks that jump, stalls and sleep: what counts as the time in which a player has been gone."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.commands import LetAiPlay, ReclaimSeat
from server.ids import RoomId
from server.net.session import Session, Sessions
from server.protocol.codes import Code
from server.rooms.model import CommandRejected
from server.runtime.followers.listening import LISTEN_S, MAX_GAP_MS, MAX_SETTLING_MS, ListeningClock
from server.runtime.node.hub import Hub
from tests.server.test_absences import (
    CLAIMS,
    CLOSED_PAGE_S,
    GONE_S,
    MOMENT_S,
    begin,
    claim_win,
    claims_of,
    gone_ms,
    on_bens_turn,
    on_two_nodes,
)
from tests.support.fake_server import Client, FakeServer, virtual
from tests.support.two_players import playing
from tests.support.virtual_time import VirtualLoop

HOUR_S = 3600.0
SETTLING_S = MAX_SETTLING_MS / 1000


class TurnedClocks(FakeServer):
    """A server whose time of day and whose uptime a test turns, in ms."""

    def __init__(self) -> None:
        super().__init__()
        self.turned_ms = 0
        self.slept_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.turned_ms

    def uptime_ms(self) -> int:
        return super().uptime_ms() + self.slept_ms


@asynccontextmanager
async def with_turned_clocks() -> AsyncIterator[tuple[TurnedClocks, Hub, RoomId, Client, Client]]:
    """Opens a match of Ada against Ben, in which Ben is to move."""
    fake = TurnedClocks()
    async with playing(fake=fake) as (_, hub, room, ada, ben):
        await begin(room, ada, ben)
        yield fake, hub, room, ada, ben


def stall(seconds: float) -> None:
    """Stops the whole process for a while."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    loop.stall(seconds)


async def may_claim_after(client: Client, room: str, seconds: float) -> None:
    """Asserts that the claims are listed after so many seconds, and refused and not listed until
    shortly before.
    """
    await asyncio.sleep(seconds - 0.5)
    assert claims_of(client) == []
    assert await client.expect_refusal(claim_win(client, room)) in (
        Code.CLAIM_NONE, Code.CLAIM_UNSURE
    )  # fmt: skip
    await asyncio.sleep(1)
    assert claims_of(client) == CLAIMS


# --- the clock ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2 * MAX_GAP_MS) | st.integers(0, 10**9)))
def test_the_clock_counts_the_time_between_stalls(gaps_ms: list[int]) -> None:
    """The clock never runs backwards; it counts a gap that is no stall in full, unless it still
    stands still after a stall: for as long again, at most MAX_SETTLING_MS. What `uptime_of_ms`
    announces is the first time at which the clock has got there.
    """
    uptime_ms = 5_000
    clock = ListeningClock(lambda: uptime_ms)
    shown_ms, resumes_ms, stall_count = clock.now_ms(), 0, 0
    for gap_ms in gaps_ms:
        target_ms = shown_ms + 700
        announced_ms = clock.uptime_of_ms(target_ms)
        uptime_ms += gap_ms
        if gap_ms > MAX_GAP_MS:
            stall_count += 1
            resumes_ms = max(resumes_ms + gap_ms, uptime_ms + min(gap_ms, MAX_SETTLING_MS))
            expected_ms = shown_ms
        else:
            expected_ms = shown_ms + min(gap_ms, max(0, uptime_ms - resumes_ms))
            assert (clock.now_ms() >= target_ms) is (uptime_ms >= announced_ms)
        shown_ms = clock.now_ms()
        assert (shown_ms, clock.stall_count) == (expected_ms, stall_count)
        assert clock.settling_ms == max(0, resumes_ms - uptime_ms)


def test_the_duty_reads_often_enough() -> None:
    """Two readings by the duty are never taken for a stall, even if one is late by half a gap."""
    assert LISTEN_S * 1000 + MAX_GAP_MS / 2 <= MAX_GAP_MS


# --- jumps of the time of day ---------------------------------------------------------------------


@pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S, 24 * HOUR_S, -24 * HOUR_S, 30.0, -30.0])
def test_a_jump_of_the_time_of_day_neither_grants_nor_delays_a_claim(jump_s: float) -> None:
    """Every clock that is set after the start of a small computer jumps. The claims come when the
    player has been gone for the time, and the countdown says so before and after.
    """

    @virtual
    async def run() -> None:
        async with with_turned_clocks() as (fake, _, room, ada, ben):
            ben.close(has_closed_page=True)
            await asyncio.sleep(10)
            fake.turned_ms += int(jump_s * 1000)
            again = Client(ada.hub, "ada")
            await again.ack(again.join(room))
            left_ms = gone_ms(again)[1]
            assert left_ms is not None
            assert abs(left_ms / 1000 - (CLOSED_PAGE_S - 10)) < 0.5
            await may_claim_after(ada, room, CLOSED_PAGE_S - 10)
            await ada.ack(claim_win(ada, room))

    run()


@pytest.mark.parametrize("jump_s", [24 * HOUR_S, -24 * HOUR_S])
def test_a_jump_of_the_time_of_day_moves_no_other_duration(jump_s: float) -> None:
    """It refills no limit and empties none for a day, and closes no room that was in use."""

    @virtual
    async def run() -> None:
        fake = TurnedClocks()
        fake.settings = replace(fake.settings, rooms_burst=1, rooms_per_minute=6)
        async with fake.hub() as hub:
            ada = Client(hub, "ada")
            room = await ada.create()
            fake.turned_ms += int(jump_s * 1000)
            with pytest.raises(CommandRejected):
                await ada.create()
            hub.close_idle_rooms(fake.settings.room_idle_s)
            assert hub.runner(room) is not None
            await asyncio.sleep(10)
            assert await ada.create() != room

    run()


# --- stalls and sleep -----------------------------------------------------------------------------


def stopped(_fake: TurnedClocks) -> None:
    """The process is stopped for a minute; every clock runs on."""
    stall(60)


def slept(fake: TurnedClocks) -> None:
    """The machine sleeps for eight hours: the event loop's clock stands still, the time of day and
    the uptime do not.
    """
    fake.slept_ms += int(8 * HOUR_S * 1000)
    fake.turned_ms += int(8 * HOUR_S * 1000)


@pytest.mark.parametrize("happens", [stopped, slept])
def test_time_in_which_the_node_heard_nobody_does_not_count(
    happens: Callable[[TurnedClocks], None],
) -> None:
    """After it the opponent has been gone for as long as before, and the node listens for ten
    seconds before it counts on. The other player's countdown says that.
    """

    @virtual
    async def run() -> None:
        async with with_turned_clocks() as (fake, _, room, ada, ben):
            ben.close(has_closed_page=True)
            await asyncio.sleep(CLOSED_PAGE_S - 5)
            happens(fake)
            await asyncio.sleep(MOMENT_S + LISTEN_S)
            left_ms = gone_ms(ada)[1]
            assert left_ms is not None
            assert abs(left_ms / 1000 - (SETTLING_S + 5)) < 1.5
            # Up to LISTEN_S before the stall do not count: nobody knows when it began.
            await may_claim_after(ada, room, SETTLING_S + 5 - MOMENT_S - LISTEN_S / 2)

    run()


@pytest.mark.parametrize("happens", [stopped, slept])
def test_a_return_that_is_unread_comes_before_a_claim(
    happens: Callable[[TurnedClocks], None],
) -> None:
    """A claim that was listed before a stall is refused after it, while the node reads who has come
    back meanwhile, even if the claim is read first. It is listed again if nobody has.
    """

    @virtual
    async def run() -> None:
        for comes_back in (True, False):
            async with with_turned_clocks() as (fake, hub, room, ada, ben):
                ben.close(has_closed_page=True)
                await asyncio.sleep(CLOSED_PAGE_S + 1)
                assert claims_of(ada) == CLAIMS
                happens(fake)
                assert await ada.expect_refusal(claim_win(ada, room)) == Code.CLAIM_UNSURE
                await asyncio.sleep(1)
                assert claims_of(ada) == []
                if comes_back:
                    again = Client(hub, "ben")
                    await again.ack(again.join(room))
                    await asyncio.sleep(2 * SETTLING_S)
                    assert claims_of(ada) == []
                else:
                    await may_claim_after(ada, room, SETTLING_S - 1)

    run()


@virtual
async def test_a_short_stall_costs_as_much_again() -> None:
    """A loop that was blocked for two seconds delays the claim by these and two more."""
    async with on_bens_turn() as (_, _, room, ada, ben):
        ben.close(has_closed_page=True)
        await asyncio.sleep(5)
        stall(2)
        await may_claim_after(ada, room, CLOSED_PAGE_S - 5 + 2)


@virtual
async def test_a_stall_makes_no_other_node_silent() -> None:
    """A node that wakes first reads what the others have sent, even if the duty that looks for
    silent nodes comes before it: no player on another node has gone, not even for a moment.
    """
    async with on_two_nodes() as (_, _, ada, ben, _):
        since = len(ada.messages)
        stall(60)
        ada.hub.membership.forget_silent_nodes()
        assert ada.hub.membership.node_count == 2
        await asyncio.sleep(30)
        shown = [m["seats"] for m in ada.messages[since:] if m["t"] == "presence"]
        assert all(seats == [True, True] for seats in shown)
        assert ben.hub.membership.node_count == ada.hub.membership.node_count == 2


@dataclass(eq=False)
class SessionStub:
    """The part of a session that `Sessions` uses."""

    last_received_s: float
    identity: str = ""
    closed_with: str | None = None

    def close_at_once(self, code: int, reason: str) -> None:
        self.closed_with = reason


@pytest.mark.parametrize("happens", [stopped, slept])
def test_after_a_stall_a_connection_is_read_before_it_counts_as_silent(
    happens: Callable[[TurnedClocks], None],
) -> None:
    """A node that wakes gives every connection the whole time anew, since what it has sent may be
    unread; then it closes those that stay silent, and no other.
    """

    @virtual
    async def run() -> None:
        fake, now_s = TurnedClocks(), asyncio.get_running_loop().time
        async with fake.hub() as hub:
            silence_s = fake.settings.silence_s
            sessions = Sessions(hub, now_s)
            lively, silent = SessionStub(now_s()), SessionStub(now_s())
            sessions._open.update(cast(set[Session], {lively, silent}))
            watch = asyncio.create_task(sessions.run())
            await asyncio.sleep(silence_s / 4 + 1)
            happens(fake)
            for _ in range(6):  # six sweeps: the first ones are due before anything is read
                await asyncio.sleep(silence_s / 4)
                assert lively.closed_with is None
                lively.last_received_s = now_s()
            assert silent.closed_with == "silent"
            watch.cancel()

    run()


# --- both have gone -------------------------------------------------------------------------------


@pytest.mark.parametrize("together_s", [0.0, 7.0])
def test_the_first_to_come_back_waits_for_what_is_left(together_s: float) -> None:
    """The absence of a player counts only while the other one is there: whoever comes back first,
    after however long, waits for the time that the other has not been waited for yet.
    """

    @virtual
    async def run() -> None:
        async with on_bens_turn() as (_, hub, room, ada, ben):
            spectator = Client(hub, "cyd")  # who keeps the room in memory
            await spectator.ack(spectator.join(room))
            ben.close(has_closed_page=True)
            await asyncio.sleep(together_s)
            ada.close()
            await asyncio.sleep(HOUR_S)
            again = Client(hub, "ada")
            await again.ack(again.join(room))
            left_ms = gone_ms(again)[1]
            assert left_ms is not None
            assert abs(left_ms / 1000 - (CLOSED_PAGE_S - together_s)) < 0.5
            await may_claim_after(again, room, CLOSED_PAGE_S - together_s)

    run()


@virtual
async def test_the_time_adds_up_over_short_absences_of_the_claimant() -> None:
    """A claimant on a poor line waits for the time in all, not in one piece."""
    async with on_bens_turn() as (_, hub, room, ada, ben):
        ben.close(has_closed_page=True)
        for _ in range(3):
            await asyncio.sleep(5)
            ada.close()
            await asyncio.sleep(30)
            ada = Client(hub, "ada")
            await ada.ack(ada.join(room))
        await may_claim_after(ada, room, CLOSED_PAGE_S - 3 * 5)


@virtual
async def test_a_claimant_on_another_node_counts_as_well() -> None:
    """Presence is that of the seat, on any node: Ada comes back on another node than the one that
    she left, and waits there for what is left.
    """
    async with on_two_nodes() as (_, room, ada, ben, other):
        cyd, dan = Client(ada.hub, "cyd"), Client(other, "dan")  # who keep the room in memory
        for client in (cyd, dan):
            await client.ack(client.join(room))
        ben.close(has_closed_page=True)
        await asyncio.sleep(5)
        ada.close()
        await asyncio.sleep(HOUR_S)
        again = Client(other, "ada")
        await again.ack(again.join(room))
        await may_claim_after(again, room, CLOSED_PAGE_S - 5)


@virtual
async def test_a_player_whose_seat_was_kept_waits_too() -> None:
    """Ada lets the AI play on for Ben and goes. When he comes back and takes the seat, he may claim
    nothing at once: nobody waited for her.
    """
    async with on_bens_turn() as (_, hub, room, ada, ben):
        spectator = Client(hub, "cyd")  # who keeps the room in memory
        await spectator.ack(spectator.join(room))
        ben.close(has_closed_page=True)
        await asyncio.sleep(CLOSED_PAGE_S + 1)
        await ada.ack(ada.plain(LetAiPlay, room))
        await ada.until(lambda m: m["t"] == "turn" and m["v"] > 8)
        ada.close()
        await asyncio.sleep(HOUR_S)
        again = Client(hub, "ben")
        await again.ack(again.join(room))
        await again.ack(again.plain(ReclaimSeat, room))
        await may_claim_after(again, room, GONE_S)
