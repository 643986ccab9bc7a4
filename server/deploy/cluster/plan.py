"""The services of docker-compose.yml, translated to processes on this machine."""

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

#: The folder of the project's sources.
ROOT = Path(__file__).parents[3]
#: The compose file.
COMPOSE = ROOT / "docker-compose.yml"
#: The folder of the configuration files and scripts.
DEPLOY = ROOT / "server" / "deploy"
#: The ENTRYPOINT of server/Dockerfile.
IMAGE_ENTRYPOINT = ["python", "-m", "server"]

#: How the programs of the containers start on this machine.
PROGRAMS = {"python": [sys.executable], "plyroom": [str(Path(sys.executable).parent / "plyroom")]}


@dataclass(frozen=True, slots=True)
class Service:
    """A process of the cluster: its arguments, and its settings in the environment."""

    name: str
    argv: list[str]
    environ: dict[str, str]


def compose() -> dict[str, Any]:
    """The compose file, with its variables at their defaults."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", COMPOSE.read_text("utf-8"))
    parsed: dict[str, Any] = yaml.safe_load(text)
    return parsed


def service(name: str, places: Mapping[str, str]) -> Service:
    """A service of the compose file as it runs on this machine; `places` maps container addresses
    and paths to local ones.
    """
    described = compose()["services"][name]
    argv = [*described.get("entrypoint", IMAGE_ENTRYPOINT), *described["command"]]
    # An empty value is null in YAML, as for a variable with an empty default.
    environ = {
        key: with_local_places("" if value is None else str(value), places)
        for key, value in described.get("environment", {}).items()
    }
    return Service(
        name,
        [*PROGRAMS[argv[0]], *(with_local_places(argument, places) for argument in argv[1:])],
        environ,
    )


def postgres_settings() -> dict[str, str]:
    """The settings that the compose file gives to PostgreSQL."""
    command = compose()["services"]["postgres"]["command"]
    return dict(word.split("=", 1) for word in command[1:] if "=" in word)


def proxy_config(port: int, nodes: Sequence[tuple[int, int]]) -> str:
    """The proxy's configuration for a local port, and for nodes with these ports for players and
    for metrics. Each backend has a server for every node, like its first one in the file.
    """
    text = (DEPLOY / "haproxy.cfg").read_text("utf-8")
    text = text.replace("bind :8000", f"bind 127.0.0.1:{port}")
    lines = re.sub(r" check port \d+", " check", text).splitlines()
    return "\n".join([line for each in lines for line in _local_lines(each, nodes)] + [""])


def _local_lines(line: str, nodes: Sequence[tuple[int, int]]) -> list[str]:
    """The lines of a local configuration for a line of the file."""
    if not line.strip().startswith("server "):
        return [line]
    if not line.strip().startswith("server node1 "):
        return []
    lines = []
    for number, (port, metrics_port) in enumerate(nodes, 1):
        local = line.replace("node1:8000", f"127.0.0.1:{port}").replace("node1", f"node{number}")
        local = local.replace(" id 1 ", f" id {number} ")
        lines.append(local if " track " in local else f"{local} port {metrics_port}")
    return lines


def with_local_places(text: str, places: Mapping[str, str]) -> str:
    """The text with each container address or path replaced by the local one."""
    names = "|".join(re.escape(name) for name in sorted(places, key=len, reverse=True))
    return re.sub(names, lambda match: places[match[0]], text)
