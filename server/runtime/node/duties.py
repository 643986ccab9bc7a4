"""The periodic duties of a node. Each is a coroutine that runs until it is cancelled.

A duty survives failures of the store: it tries again in its next period.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog

from server.bus.base import Heartbeat, NodeDown
from server.ports import Ports
from server.runtime.followers.listening import LISTEN_S
from server.runtime.node.hub import Hub
from server.runtime.room.expiry import EXPIRY_STEP_S
from server.store.base import StoreDamaged, StoreError, StoreReadOnly

log = structlog.get_logger()

#: Time between two sweeps over the open rooms, in seconds.
SWEEP_S = 5.0
#: Time between two queries for due rooms, in seconds, from the time when a node goes down until
#: its heartbeat has expired.
DUE_ROOMS_RETRY_S = 0.2
#: Time between two looks at the store's condition, in seconds.
CONDITION_CHECK_S = 1.0
#: Time between two log lines about a store that takes no writes or is damaged, in seconds.
CONDITION_LOG_S = 60.0


async def keep_heartbeat(hub: Hub) -> None:
    """Reports on the bus and in the store that this node is up, takes over the due rooms of dead
    nodes, and wakes the rooms that are due. A sole node takes over the due rooms of all others.
    """
    settings, loop = hub.ports.settings, asyncio.get_running_loop()
    while True:
        try:
            hub.ports.bus.publish(Heartbeat(hub.ports.node))
            hub.membership.forget_silent_nodes()
            await hub.write_heartbeat()
            while await hub.take_over_due_rooms(all_nodes=settings.is_sole_node):
                pass
            await hub.wake_due_rooms()
            if not settings.is_sole_node:
                hub.hold_clocks(await hub.membership.check_silent_nodes())
        except (StoreReadOnly, StoreDamaged):
            pass  # `report_condition` logs it, once a minute
        except StoreError as error:
            log.warning("store unavailable", duty="heartbeat", error=str(error))
        frequent_until_s = hub.membership.node_down_s + 4 * settings.heartbeat_s
        is_frequent = loop.time() < frequent_until_s
        period_s = settings.heartbeat_s
        await asyncio.sleep(min(period_s, DUE_ROOMS_RETRY_S) if is_frequent else period_s)


async def listen(hub: Hub) -> None:
    """Reads the clock of the time in which this node hears its players, and after a stall tells the
    rooms that their players have not been gone for as long as it took.
    """
    clock, stall_count = hub.listening, 0
    while True:
        clock.now_ms()
        if clock.stall_count != stall_count:
            stall_count = clock.stall_count
            for runner in hub.rooms:
                runner.presence.on_delay()
        await asyncio.sleep(LISTEN_S)


async def report_condition(hub: Hub) -> None:
    """Logs that the store takes no writes or is damaged: at once, then every CONDITION_LOG_S."""
    loop = asyncio.get_running_loop()
    logged, logged_s = "ok", 0.0
    while True:
        condition = hub.ports.store.condition()
        is_due = condition.name != logged or loop.time() - logged_s >= CONDITION_LOG_S
        if condition.name != "ok" and is_due:
            log.error("the store is " + condition.name, reason=condition.reason)
            logged_s = loop.time()
        elif condition.name != logged:
            log.info("the store works again", was=logged)
        logged = condition.name
        await asyncio.sleep(CONDITION_CHECK_S)


async def sweep(hub: Hub) -> None:
    """Closes idle rooms, reports presence again, and drops token buckets that are full."""
    while True:
        hub.close_idle_rooms(hub.ports.settings.room_idle_s)
        hub.membership.refresh_presence()
        hub.connections.sweep()
        hub.creator.forget_full_buckets()
        await asyncio.sleep(SWEEP_S)


async def record_attendance(hub: Hub) -> None:
    """Records in the store which listed rooms have followers."""
    while True:
        await asyncio.sleep(SWEEP_S)
        await hub.record_attendance()


async def expire(hub: Hub) -> None:
    """Deletes expired guests and rooms, page by page."""
    while True:
        await asyncio.sleep(EXPIRY_STEP_S)
        try:
            await hub.expire_once()
        except StoreError as error:
            log.warning("store unavailable", duty="expiry", error=str(error))


@asynccontextmanager
async def open_hub(ports: Ports) -> AsyncIterator[Hub]:
    """Opens the hub and runs its duties.

    At the end it cancels all rooms at once; nothing is lost, since the log holds all commits.
    """
    failure: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        hub = Hub(ports, tasks)
        membership = hub.membership
        running: list[asyncio.Task[None]] = []
        unsubscribe_all = (
            ports.bus.listen(membership.on_node),
            ports.bus.listen(hub.notifications.on_message),
            ports.bus.listen(hub.connections.on_message),
            ports.bus.on_gap(membership.on_gap),
        )  # fmt: skip
        try:
            await hub.write_heartbeat()
            work = {
                "hub listening": listen(hub),
                "hub heartbeat": keep_heartbeat(hub),
                "hub sweep": sweep(hub),
                "hub store": report_condition(hub),
                "hub poll": membership.watch_heads(),
                "hub attendance": record_attendance(hub),
                "hub expiry": expire(hub),
                "lobby": hub.lobby.run(),
            }
            running += [tasks.create_task(duty, name=name) for name, duty in work.items()]
            yield hub
        except Exception as error:
            failure = error  # raised below: a task group would wrap it in an ExceptionGroup
        finally:
            for unsubscribe in unsubscribe_all:
                unsubscribe()
            for task in running:
                task.cancel()
            hub.rooms.cancel_all()
            ports.bus.publish(NodeDown(ports.node))
    if not ports.settings.is_sole_node:
        with suppress(StoreError):
            # An expired heartbeat lets other nodes take over this node's due rooms at once.
            await ports.store.nodes.heartbeat(ports.node, -1, ports.now_ms())
    if failure is not None:
        raise failure
