"""What `python -m server.bench peers` prints: the machine, tables of figures, and ratios."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from server.bench.peers.loads import Figures

#: The name of our server in the tables.
OURS = "plyroom"
#: The names of the peers that it is compared with, and how a line names them.
PEERS = {"boardgame.io": "boardgame.io", "relay": "the relay"}
#: The figures for which larger is better.
RATES = frozenset({"moves a second"})


def best(rounds: Sequence[Figures]) -> Figures:
    """The best figures of several rounds."""
    return {
        name: (max if name in RATES else min)(figures[name] for figures in rounds)
        for name in rounds[0]
    }


def table(title: str, figures: Mapping[str, Figures]) -> list[str]:
    """The figures of each peer in a column of its own, and the ratios of our CPU time or memory."""
    names = list(next(iter(figures.values())))
    lines = [title, " " * 34 + "".join(f"{peer:>16}" for peer in figures)]
    for name in names:
        values = "".join(f"{each[name]:16,.2f}" for each in figures.values())
        lines.append(f"  {name:32}{values}")
    return [*lines, *ratios(figures, names[0]), ""]


def ratios(figures: Mapping[str, Figures], name: str) -> list[str]:
    """Our figure as a multiple of each peer's."""
    if OURS not in figures:
        return []
    ours = figures[OURS][name]
    return [
        f"  {name.partition(',')[0]}: {ours / figures[peer][name]:.2f} x {title}"
        for peer, title in PEERS.items()
        if peer in figures and figures[peer][name] > 0
    ]


def verdict(figures: Mapping[str, Figures], targets: Mapping[str, float]) -> list[str]:
    """Lines that say whether our server reaches its targets; see `Row.targets`."""
    lines = []
    ours = figures[OURS]
    for name, limit in targets.items():
        if name not in PEERS:
            lines.append(_verdict(name, ours[name], limit))
        elif name in figures and figures[name]["CPU a move, us"] > 0:
            ratio = ours["CPU a move, us"] / figures[name]["CPU a move, us"]
            lines.append(_verdict(f"CPU a move beside {PEERS[name]}", ratio, limit))
    return [*lines, ""] if lines else []


def _verdict(name: str, value: float, limit: float) -> str:
    is_reached = value <= limit
    return f"  {name}: {value:.2f}, target {limit:g}: {'reached' if is_reached else 'NOT reached'}"


def machine_lines(boardgame: str | None) -> list[str]:
    """The machine, the versions and the commit."""
    lines = [
        f"{os.cpu_count()} cores of {processor()}, {platform.platform()},"
        f" Python {platform.python_version()}, load average {os.getloadavg()[0]:.1f}",
        f"commit {commit()}",
    ]
    if boardgame is not None:
        lines.append(f"boardgame.io {boardgame}, in memory, on Node {_output('node', '--version')}")
    return lines


def processor() -> str:
    """The name of the processor."""
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def commit() -> str:
    """The commit of this checkout, with a plus sign for changes that are not committed."""
    folder = str(Path(__file__).parent)
    name = _output("git", "-C", folder, "rev-parse", "--short", "HEAD")
    is_changed = bool(_output("git", "-C", folder, "status", "--porcelain", "-uno"))
    return f"{name or 'unknown'}{'+' if is_changed else ''}"


def _output(*command: str) -> str:
    """What a command prints; empty if it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
