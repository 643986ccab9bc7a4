"""The connection to the broker: reconnection, the bounded outbox, the status and authentication.

No secret appears in errors or logs.
"""

import asyncio
import gc
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from server.app import node_name
from server.bus import work
from server.bus.broker import MAX_BYTES, ROOT, Broker, broker_of, parse_broker
from server.bus.link import MAX_TRIES, OUTBOX_CAPACITY, Link, Outbox, QueuedMessage, open_link
from server.deploy.mosquitto import mosquitto, mosquitto_path
from server.settings import SettingError, Settings, settings_from_env

ACL = Path(__file__).parents[2] / "server" / "deploy" / "mosquitto.acl"
USERS = {"server": "s3cret-of-servers", "worker": "s3cret-of-workers"}
#: Time limit of a wait, in seconds.
TIMEOUT_S = 60.0


async def until(holds: Callable[[], bool], within_s: float = TIMEOUT_S) -> None:
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.005)


async def until_up(link: Link) -> None:
    await until(lambda: link.is_up)


class Recorder:
    """Records the messages that it receives."""

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []

    def __call__(self, topic: str, payload: bytes) -> None:
        self.received.append((topic, payload))

    @property
    def payloads(self) -> list[bytes]:
        return [payload for _, payload in self.received]


# --- the address ----------------------------------------------------------------------------------


def test_a_broker_in_a_url(tmp_path: Path) -> None:
    """A URL may have credentials (percent-encoded), a port (MQTT's by default) and a prefix."""
    assert parse_broker("mqtt://broker") == Broker("broker", 1883)
    assert parse_broker(" mqtts://u:p%40ss%2F@broker:99/\n") == Broker(
        "broker", 99, True, "u", "p@ss/"
    )
    assert parse_broker("mqtts://[::1]") == Broker("::1", 8883, True)
    (ca := tmp_path / "ca.pem").write_text("x")
    assert parse_broker("mqtts://broker", ca).ca == ca
    for path, prefix in (
        ("", ""),
        ("/", ""),
        ("/east", "east/"),
        ("/games/east-2/", "games/east-2/"),
    ):
        assert parse_broker(f"mqtt://broker{path}") == Broker("broker", 1883, prefix=prefix)
    assert str(parse_broker("mqtt://broker/games/east/")) == "mqtt://broker:1883/games/east"
    for broker in (
        Broker("b", 1, True, "u", "secret"),
        Broker("::1", 1, user="u", password="secret"),
    ):
        assert "secret" not in f"{broker} {broker!r}"
    assert str(Broker("::1", 7)) == "mqtt://[::1]:7"


@pytest.mark.parametrize(
    "url",
    [
        "broker",
        "http://broker",
        "mqtt://",
        "mqtt://u:s3cret@b:port",
        "mqtt://:s3cret@b",
        "mqtt://u:s3cret@b/a+b",
        "mqtt://u:s3cret@b/$SYS",
        "mqtt://u:s3cret@b/a//b",
        "mqtt://u:s3cret@b/a?x=1",
    ],
)
def test_an_invalid_broker_is_refused(url: str) -> None:
    """An invalid URL raises SettingError without the password."""
    with pytest.raises(SettingError) as error:
        parse_broker(url)
    assert "s3cret" not in str(error.value)


def test_the_broker_of_the_settings(tmp_path: Path) -> None:
    """The broker's URL is in a variable or in the file that another variable names, not in both.

    Neither errors nor the settings' repr show the password.
    """
    path = tmp_path / "bus"
    path.write_text("mqtt://u:s3cret@broker\n")
    by_variable = settings_from_env({"PLYROOM_BUS": "mqtt://u:s3cret@broker"})
    by_file = settings_from_env({"PLYROOM_BUS_FILE": str(path)})
    assert (
        broker_of(by_variable)
        == broker_of(by_file)
        == Broker("broker", 1883, user="u", password="s3cret")
    )
    assert "s3cret" not in repr(by_variable)
    assert broker_of(Settings()) is None
    both, no_file, no_ca = (
        replace(by_variable, bus_file=path),
        replace(by_variable, bus="", bus_file=tmp_path / "no"),
        tmp_path / "no",
    )
    for invalid in (both, no_file, replace(by_variable, bus_ca=no_ca)):
        with pytest.raises(SettingError) as error:
            broker_of(invalid)
        assert "s3cret" not in str(error.value)


def test_a_nodes_name_is_unique() -> None:
    """A node's name is the setting and a random part; it has no characters that topics forbid."""
    names = {node_name(Settings(node="attic")) for _ in range(3)} | {
        node_name(Settings()) for _ in range(3)
    }
    assert len(names) == 6
    assert sum(name.startswith("attic-") for name in names) == 3
    for invalid in ("x" * 41, "a/b", "ü", "a b"):
        with pytest.raises(SettingError):
            node_name(Settings(node=invalid))


# --- the outbox -----------------------------------------------------------------------------------


async def test_an_outbox_is_bounded() -> None:
    """On overflow the oldest unreliable message is dropped first, then the oldest of all; both are
    counted.
    """
    box = Outbox(4)
    for number in range(3):
        box.put(QueuedMessage("reliable", b"%d" % number, True))
        box.put(QueuedMessage("other", b"%d" % number, False))
    assert (len(box), box.dropped, box.lost) == (4, 2, 0)
    for number in range(3, 6):
        box.put(QueuedMessage("reliable", b"%d" % number, True))
    assert (len(box), box.dropped, box.lost) == (4, 3, 2)
    assert [(await box.get()).payload for _ in range(4)] == [b"2", b"3", b"4", b"5"]


async def test_in_flight_messages_are_sent_again_first() -> None:
    """In-flight messages are sent again first, in order; unreliable ones are dropped.

    A message that was tried MAX_TRIES times is dropped too, as it may break the connection.
    """
    box = Outbox(10)
    box.put(QueuedMessage("t", b"3", True))
    box.put_back(
        [
            QueuedMessage("t", b"1", True),
            QueuedMessage("t", b"x", False),
            QueuedMessage("t", b"2", True),
        ]
    )
    last_try = QueuedMessage("t", b"p", True, tries=MAX_TRIES - 1)
    box.put_back([last_try])
    assert [(await box.get()).payload for _ in range(3)] == [b"1", b"2", b"3"]
    assert (box.dropped, box.lost) == (1, 1)


# --- the connection -------------------------------------------------------------------------------


async def test_a_link_reconnects_with_its_subscriptions(tmp_path: Path) -> None:
    """After the broker was killed and restarted, the link subscribes again and reports a gap.

    Reliable messages that were published during the outage arrive.
    """
    async with (
        mosquitto(tmp_path) as broker,
        open_link(broker.address, "a", f"{ROOT}/nodes/a") as sender,
        open_link(broker.address, "b", f"{ROOT}/nodes/b") as receiver,
    ):
        old, new = Recorder(), Recorder()
        gaps: list[frozenset[str] | None] = []
        receiver.subscribe("t/old", old)
        await until(lambda: sender.is_up and receiver.is_up)
        receiver.on_gap(gaps.append)
        await broker.kill()
        await until(lambda: not sender.is_up and not receiver.is_up)
        assert None in gaps
        sender.publish("t/old", b"1", reliable=True)
        sender.publish("t/old", b"dropped")
        receiver.subscribe("t/new/#", new)
        gaps.clear()
        await broker.start()
        await until(lambda: sender.is_up and receiver.is_up)
        await until(
            lambda: {"t/old", "t/new/#"} <= {topics for gap in gaps for topics in gap or ()}
        )
        assert None in gaps
        sender.publish("t/old", b"2", reliable=True)
        sender.publish("t/new/x", b"3")
        await until(lambda: b"2" in old.payloads and b"3" in new.payloads)
        assert b"dropped" not in old.payloads
        assert sender.outbox.dropped >= 1
        assert (sender.counts.connected, sender.outbox.lost) == (2, 0)


async def test_clusters_with_prefixes_are_separate_on_one_broker(tmp_path: Path) -> None:
    """A prefix keeps a cluster's messages, statuses and wills from another cluster with the same
    names and topics.
    """
    async with mosquitto(tmp_path) as broker:
        east = replace(broker.address, prefix="east/")
        recorders: dict[str, Recorder] = {}
        async with AsyncExitStack() as stack:
            for cluster, address in (("", broker.address), ("east/", east)):
                observer = await stack.enter_async_context(
                    open_link(address, f"observer{len(cluster)}", f"{ROOT}/nodes/observer")
                )
                recorders[cluster] = Recorder()
                observer.subscribe(f"{ROOT}/#", recorders[cluster])
                await until_up(observer)
            async with open_link(east, "node", f"{ROOT}/nodes/node") as node:
                node.set_status(b"here")
                await until(lambda: node.is_up)
                node.publish(f"{ROOT}/rooms/r", b"moved", reliable=True)
                sent = {(f"{ROOT}/nodes/node", b"here"), (f"{ROOT}/rooms/r", b"moved")}
                await until(lambda: sent <= set(recorders["east/"].received))
            await until(lambda: (f"{ROOT}/nodes/node", b"") in recorders["east/"].received)
        assert not [topic for topic, _ in recorders[""].received if topic.endswith(("/node", "/r"))]


async def test_a_status_lives_as_long_as_the_link(tmp_path: Path) -> None:
    """The broker retains a status until its link ends, cleanly or not, and then clears it."""
    async with (
        mosquitto(tmp_path) as broker,
        open_link(broker.address, "observer", f"{ROOT}/nodes/observer") as observer,
    ):
        statuses = Recorder()
        observer.subscribe("status/+", statuses)
        dying = Link(broker.address, "dying", "status/dying")
        dying.set_status(b"alive")
        task = asyncio.create_task(dying.run())
        async with open_link(broker.address, "leaving", "status/leaving") as leaving:
            leaving.set_status(b"alive")
            await until(lambda: statuses.payloads.count(b"alive") == 2)
            await until(lambda: dying.is_up and leaving.is_up)
            dying.health.is_up = False  # otherwise it clears its status
            task.cancel()
            await asyncio.wait([task])
            await until(lambda: ("status/dying", b"") in statuses.received)
        await until(lambda: ("status/leaving", b"") in statuses.received)
        async with open_link(broker.address, "late", f"{ROOT}/nodes/late") as late:
            late_statuses = Recorder()
            late.subscribe("status/#", late_statuses)
            await until(lambda: late.is_up)
            late.publish("status/end", b"x", reliable=True)
            observer.publish("status/end", b"x", reliable=True)
            await until(lambda: bool(late_statuses.received))
            assert late_statuses.payloads == [b"x"]


async def test_a_stalled_broker(tmp_path: Path) -> None:
    """A link is down within 2 s after the broker is stopped (SIGSTOP).

    At most OUTBOX_CAPACITY messages wait, and they arrive when the broker resumes.
    """
    async with (
        mosquitto(tmp_path, lines=("max_queued_messages 0",)) as broker,
        open_link(broker.address, "a", f"{ROOT}/nodes/a") as sender,
        open_link(broker.address, "b", f"{ROOT}/nodes/b") as receiver,
    ):
        recorder = Recorder()
        receiver.subscribe("t", recorder)
        await until(lambda: sender.is_up and receiver.is_up)
        broker.send_signal(signal.SIGSTOP)
        await until(lambda: not sender.is_up, within_s=2.0)
        for number in range(2 * OUTBOX_CAPACITY):
            sender.publish("t", b"%d" % number, reliable=True)
        sender.publish("t", b"x" * (MAX_BYTES + 1), reliable=True)
        assert len(sender.outbox) <= OUTBOX_CAPACITY
        broker.send_signal(signal.SIGCONT)
        await until(lambda: sender.is_up and b"%d" % (2 * OUTBOX_CAPACITY - 1) in recorder.payloads)
        numbers = [int(payload) for payload in recorder.payloads]
        assert numbers == sorted(numbers)
        assert sender.outbox.lost == 2 * OUTBOX_CAPACITY - len(numbers) + 1


async def test_in_flight_messages_are_sent_again_after_a_restart(tmp_path: Path) -> None:
    """Messages that were in flight when the broker died are sent again, in order."""
    async with (
        mosquitto(tmp_path) as broker,
        open_link(broker.address, "a", f"{ROOT}/nodes/a") as link,
    ):
        recorder = Recorder()
        link.subscribe("t", recorder, include_own=True)
        await until(lambda: link.is_up)
        broker.send_signal(signal.SIGSTOP)
        sent = [b"%d" % number for number in range(10)]
        for payload in sent:
            link.publish("t", payload, reliable=True)
        await until(lambda: len(link._in_flight) == len(sent))
        await broker.kill()
        await broker.start()
        await until(lambda: len(recorder.received) >= len(sent))
        assert recorder.payloads == sent


async def test_a_socket_that_is_closed_at_once_leaves_no_writer(tmp_path: Path) -> None:
    """A connection that closes right after a message leaves no writer in the event loop.

    Such a writer would fail on the closed file descriptor or serve the next socket of that number.
    """
    failures: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: failures.append(context))
    async with mosquitto(tmp_path) as broker:
        client = Link(broker.address, "a", f"{ROOT}/nodes/a")._client()
        with suppress(aiomqtt.MqttError):
            async with client:
                paho = client._client
                connection = paho.socket()
                assert connection is not None
                number = connection.fileno()
                paho.publish("t", b"lost")
                paho._sock_close()
                with socket.socket() as other:
                    os.dup2(other.fileno(), number)
                    await asyncio.sleep(0)
                    assert not loop.remove_writer(number)
                    if other.fileno() != number:
                        os.close(number)
    assert failures == []


async def test_a_link_reconnects_after_a_reset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message to a broker whose reset uvloop has seen before paho is sent once the link is back.

    The log has no traceback.
    """
    recorder = Recorder()
    async with (
        mosquitto(tmp_path) as broker,
        open_link(broker.address, "a", f"{ROOT}/nodes/a") as link,
    ):
        link.subscribe("t", recorder, include_own=True)
        await until(lambda: link.is_up)

        def refuse(*_: object) -> None:
            monkeypatch.undo()
            raise RuntimeError("unable to perform operation; the handler is closed")

        monkeypatch.setattr(asyncio.get_running_loop(), "add_writer", refuse)
        link.publish("t", b"kept", reliable=True)
        await until(lambda: b"kept" in recorder.payloads)
        assert link.counts.connected == 2
    output = "".join(capsys.readouterr())
    assert "Traceback" not in output
    assert "broker link failed" not in output


async def test_a_link_reconnects_after_its_name_was_taken(tmp_path: Path) -> None:
    """A link that the broker drops because another client has its name reconnects."""
    async with (
        mosquitto(tmp_path) as broker,
        open_link(broker.address, "a", f"{ROOT}/nodes/a") as link,
    ):
        await until(lambda: link.is_up)
        with suppress(aiomqtt.MqttError):
            async with aiomqtt.Client(
                "127.0.0.1",
                broker.port,
                identifier="a",
                protocol=aiomqtt.ProtocolVersion.V5,
                timeout=2,
            ):
                await until(lambda: link.counts.connected == 2)
        await until(lambda: link.is_up)


async def test_a_broker_that_dies_as_the_link_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link ends although its task group raises MqttError instead of CancelledError."""
    async with mosquitto(tmp_path) as broker:
        sending, sessions = asyncio.Event(), 0

        async def fail_on_cancellation(
            link: Link, client: aiomqtt.Client, tasks: asyncio.TaskGroup
        ) -> None:
            nonlocal sessions
            sessions += 1
            sending.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise aiomqtt.MqttError("the broker is dead") from None

        monkeypatch.setattr(Link, "_send", fail_on_cancellation)
        async with asyncio.timeout(TIMEOUT_S):
            async with open_link(broker.address, "one", "plyroom/1/nodes/one"):
                await sending.wait()
        assert sessions == 1


# --- authentication -------------------------------------------------------------------------------


async def assert_never_connects(broker: Broker, capsys: pytest.CaptureFixture[str]) -> None:
    """Asserts that the link is refused and logs this without secrets."""
    async with open_link(broker, "a", f"{ROOT}/nodes/a") as link:
        await until(lambda: link.health.is_reported_down)
        await asyncio.sleep(0.3)
        assert not link.is_up
        assert link.counts.connected == 0
    output = "".join(capsys.readouterr())
    assert "broker away" in output
    assert "s3cret" not in output
    assert "Traceback" not in output


async def test_a_user_and_a_password(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link connects with the right user and password only."""
    async with mosquitto(tmp_path, USERS) as broker:
        async with open_link(broker.address_of("server"), "a", f"{ROOT}/nodes/a") as link:
            await until(lambda: link.is_up)
        capsys.readouterr()
        await assert_never_connects(broker.address, capsys)
        await assert_never_connects(replace(broker.address_of("server"), password="s3cret"), capsys)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_tls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The link connects with the broker's CA and refuses any other certificate."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec",
         "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    key.chmod(0o644)
    async with mosquitto(tmp_path, lines=(f"certfile {certificate}", f"keyfile {key}")) as broker:
        good = replace(broker.address, tls=True, ca=certificate)
        recorder = Recorder()
        async with (
            open_link(good, "a", f"{ROOT}/nodes/a") as link,
            open_link(good, "b", f"{ROOT}/nodes/b") as other,
        ):
            other.subscribe("t", recorder)
            await until(lambda: link.is_up and other.is_up)
            link.publish("t", b"x" * 200_000, reliable=True)
            await until(lambda: bool(recorder.received))
        capsys.readouterr()
        await assert_never_connects(replace(good, ca=None), capsys)
    # paho leaves a socket open after a failed handshake, and a thread may still hold it.
    for _ in range(5):
        await asyncio.sleep(0.05)
        gc.collect()


async def test_a_workers_access_rights(tmp_path: Path) -> None:
    """With the shipped access list, a worker can use only its own topics and read nodes' statuses.

    It cannot publish about rooms, nodes or the lobby, act for another worker, or read the room
    topics or the commands to other workers.
    """
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path, USERS, ACL))

        async def connect(user: str, name: str, status_topic: str) -> Link:
            return await stack.enter_async_context(
                open_link(broker.address_of(user), name, status_topic)
            )

        server = await connect("server", "server-1", f"{ROOT}/nodes/server-1")
        worker = await connect("worker", "worker-1", work.worker_topic("worker-1"))
        at_server, at_worker = Recorder(), Recorder()
        server.subscribe(f"{ROOT}/#", at_server)
        for topics in (
            f"{ROOT}/#",
            f"{ROOT}/rooms/#",
            f"{ROOT}/jobs/#",
            work.commands_topic("worker-1"),
            f"{ROOT}/nodes/+",
        ):
            worker.subscribe(topics, at_worker)
        worker.set_status(b"advert")
        await until(lambda: server.is_up and worker.is_up)
        forbidden = [
            f"{ROOT}/rooms/r1", f"{ROOT}/rooms/r1/here", f"{ROOT}/lobby", f"{ROOT}/missed",
            f"{ROOT}/nodes/n9", work.worker_topic("worker-2"), work.commands_topic("worker-2"),
            f"{ROOT}/echo/server-1",
        ]  # fmt: skip
        for topic in forbidden:
            worker.publish(topic, b"forged", reliable=True)
        worker.publish(work.answers_topic("server-1"), b"news", reliable=True)
        await until(lambda: (work.answers_topic("server-1"), b"news") in at_server.received)
        assert not [topic for topic, payload in at_server.received if payload == b"forged"]
        await until(lambda: (work.worker_topic("worker-1"), b"advert") in at_server.received)
        for topic in (
            f"{ROOT}/rooms/r1",
            work.commands_topic("worker-2"),
            work.commands_topic("worker-1"),
        ):
            server.publish(topic, topic.encode(), reliable=True)
        server.set_status(b"here")
        await until(lambda: (f"{ROOT}/nodes/server-1", b"here") in at_worker.received)
        await until(lambda: work.commands_topic("worker-1").encode() in at_worker.payloads)
        received_topics = {topic for topic, _ in at_worker.received} - {f"{ROOT}/echo/worker-1"}
        assert received_topics == {work.commands_topic("worker-1"), f"{ROOT}/nodes/server-1"}


def test_mosquitto_accepts_the_shipped_configuration(tmp_path: Path) -> None:
    """Mosquitto accepts every line of the shipped configuration."""
    lines = (
        (ACL.parent / "mosquitto.conf")
        .read_text("utf-8")
        .replace("/mosquitto/config", str(tmp_path))
    )
    (tmp_path / "mosquitto.acl").write_text(ACL.read_text("utf-8"))
    (tmp_path / "passwords").write_text("")
    path = tmp_path / "mosquitto.conf"
    path.write_text(lines.replace("listener 1883", "listener 0 127.0.0.1") + "bogus_setting 1\n")

    result = subprocess.run(
        [mosquitto_path(), "-c", str(path)], capture_output=True, text=True, timeout=60
    )
    assert result.returncode != 0
    assert "bogus_setting" in result.stderr + result.stdout, (
        "it read all lines before the invalid one"
    )
