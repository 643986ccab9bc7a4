"""The CPU time of a cluster's processes, and the counters of its nodes."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from aiohttp import ClientSession

from server.deploy.cluster.running import Cluster


def used_by(pids: Iterable[int]) -> float:
    """The core-seconds that these processes used, to the nanosecond; those that have exited do not
    count.
    """
    cpu_ns = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*"):
            with suppress(OSError):
                cpu_ns += int((task / "schedstat").read_text().split()[0])
    return cpu_ns / 1e9


def process_tree(pid: int) -> list[int]:
    """The ids of a process and its descendants."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def pids_of(running: Cluster, load_pid: int) -> dict[str, list[int]]:
    """The process ids by kind; `load_pid` is the load generator's."""
    return {
        "node": [pid for member in running.nodes for pid in process_tree(member.pid)],
        "database": process_tree(running.postgres.pid),
        "broker": process_tree(running.mosquitto.pid),
        "proxy": process_tree(running.proxy.pid),
        "client": [load_pid],
    }


def usage_by_kind(running: Cluster, load_pid: int) -> dict[str, float]:
    """The core-seconds of each kind of process so far."""
    return {kind: used_by(pids) for kind, pids in pids_of(running, load_pid).items()}


@contextmanager
def realtime_priority(pids: Sequence[int]) -> Iterator[None]:
    """Gives these processes the same real-time priority until the block ends.

    Linux reserves a twentieth of the machine for other processes, which can still evict caches.
    """
    _schedule(pids, os.SCHED_RR, 1)
    try:
        yield
    finally:
        _schedule(pids, os.SCHED_OTHER, 0)


def _schedule(pids: Iterable[int], policy: int, priority: int) -> None:
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*"):
            with suppress(ProcessLookupError):
                os.sched_setscheduler(int(task.name), policy, os.sched_param(priority))


def machine_busy_s() -> float:
    """Core-seconds used on this machine by all processes."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def usage_since(now: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """The core-seconds of each kind of process between two readings."""
    return {kind: now[kind] - before[kind] for kind in now}


async def read_counters(running: Cluster, *names: str) -> dict[str, float]:
    """Counters summed over all nodes' metrics: `conflicts`, `commands`, …"""
    totals = dict.fromkeys(names, 0.0)
    async with ClientSession() as http:
        for port in running.metrics_ports:
            text = await (await http.get(f"http://127.0.0.1:{port}/metrics")).text()
            for name in names:
                match = re.search(rf"^plyroom_{name}_total (\S+)$", text, re.MULTILINE)
                assert match is not None, f"no metric of that name: {name}"
                totals[name] += float(match[1])
    return totals
