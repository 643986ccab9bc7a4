"""The cluster of the compose file: without containers, with many players; and its files."""

import asyncio
import re
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiohttp import ClientSession

from server.address import parse_proxies
from server.bench.cluster_load import UNLIMITED
from server.bench.moves import play
from server.bench.pairs import make_pair
from server.deploy.cluster.plan import DEPLOY, compose, service
from server.deploy.cluster.running import Cluster, cluster
from tests.oracle.journal import Journal
from tests.support.players import person_and_ai


@pytest.mark.timeout(300)
@pytest.mark.parametrize("pairs", [20, pytest.param(200, marks=pytest.mark.long)])
async def test_many_pairs_play_through_the_proxy(tmp_path: Path, pairs: int) -> None:
    """All pairs play on three nodes, a worker's AI answers, and no node logs an error."""
    async with cluster(
        tmp_path, nodes=3, workers=1, settings=UNLIMITED, games="tic-tac-toe"
    ) as running:
        counts = await play(running.port, running.nodes[0].pid, make_pair, pairs, pairs / 20, None)
        assert counts.moves > pairs
        stop = asyncio.Event()
        stop.set()
        await person_and_ai(running.url, "tic-tac-toe", {}, 1, Journal(), 1, stop)
        commands = [await committed_commands(running, n) for n in range(3)]
        assert min(commands) > 0, "the proxy gives each node its share"
        for member in running.nodes:
            assert "Traceback" not in member.errors, member.errors[-3000:]
            assert '"level": "error"' not in member.errors, member.errors[-3000:]


async def committed_commands(running: Cluster, n: int) -> float:
    """Returns the number of commands that a node has committed, by its metrics."""
    async with ClientSession() as http:
        answer = await http.get(f"http://127.0.0.1:{running.metrics_ports[n]}/metrics")
        total = re.search(r"^plyroom_commands_total (\S+)$", await answer.text(), re.MULTILINE)
    assert total is not None
    return float(total[1])


def test_every_name_in_the_compose_file_exists() -> None:
    """secrets.sh makes each secret, each mounted file exists, and each server of the proxy is a
    service.

    Our services have no capabilities and cannot gain privileges.
    """
    compose_file = compose()
    script = (DEPLOY / "secrets.sh").read_text()
    for name, secret in compose_file["secrets"].items():
        assert secret["file"] == f"./secrets/{name}"
        assert f"put {name} " in script
    for name, definition in compose_file["services"].items():
        for mount in definition.get("volumes", []):
            source = mount.partition(":")[0]
            assert source in compose_file["volumes"] or (DEPLOY.parents[1] / source).exists(), (
                f"{name} mounts {source}"
            )
        assert set(definition.get("secrets", [])) <= set(compose_file["secrets"])
        assert set(definition.get("depends_on", {})) <= set(compose_file["services"])
        if definition["image"] == "plyroom":
            assert definition["cap_drop"] == ["ALL"]
            assert definition["security_opt"] == ["no-new-privileges:true"]
        assert re.fullmatch(r"plyroom|[a-z-]+:\d+\.\d+\S*", definition["image"]), (
            "a version is pinned"
        )
    proxies = parse_proxies(
        compose_file["services"]["node1"]["environment"]["PLYROOM_PROXIES"].split(",")
    )
    for address in ("172.18.0.5", "192.168.16.2"):
        assert proxies.trusts(ip_address(address)), "Docker gives such addresses to containers"
    assert not proxies.trusts(ip_address("8.8.8.8"))
    servers = re.findall(
        r"^ +server (\w+) (\w+):8000", (DEPLOY / "haproxy.cfg").read_text(), re.MULTILINE
    )
    assert {name for name, _ in servers} <= set(compose_file["services"])
    assert servers == 3 * [("node1", "node1"), ("node2", "node2")], "each backend has all nodes"


def test_services_are_translated_to_this_machine() -> None:
    """A service has the compose file's arguments and settings, with local addresses and paths."""
    translated = service("node1", {"8000": "18000", "/run/secrets": "/elsewhere"})
    assert translated.argv[1:3] == ["-m", "server"]
    assert "18000" in translated.argv
    assert translated.environ["PLYROOM_BUS_FILE"] == "/elsewhere/bus_url"
    assert translated.environ["PLYROOM_NODE"] == "node1"
