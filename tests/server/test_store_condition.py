"""A store that takes no writes or is damaged takes no reading away, and says what it is."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
import structlog.testing

from server.limits.by_address import Limits
from server.settings import Settings
from server.store.base import Condition, StoreDamaged, StoreReadOnly, StoreUnavailable
from server.store.condition import DAMAGED_S, REFUSED_S, ConditionRecord, store_fault
from server.store.sqlite import open_sqlite
from server.web.api import Api
from server.web.metrics import Gauges, NodeCollector
from tests.server.test_api import api_client
from tests.support.fake_server import FakeServer, Fault, virtual
from tests.support.log_entries import append, new_room

FULL, MALFORMED = StoreReadOnly("the disk is full"), StoreDamaged("page 7 is malformed")


def test_a_refused_write_counts_until_one_succeeds_or_its_time_is_over() -> None:
    """A success counts for its own kind of call: a heartbeat may find room where a move does
    not.
    """
    now_s = [0.0]
    record = ConditionRecord(lambda: now_s[0])
    record.record("append", StoreUnavailable("no answer"))
    assert record.current() == Condition("ok")
    record.record("append", FULL)
    record.record("write", None)
    record.record("read", None)
    assert record.current() == Condition("read-only", "the disk is full")
    record.record("append", None)
    assert record.current() == Condition("ok")
    record.record("append", FULL)
    now_s[0] = REFUSED_S - 1
    assert record.current().name == "read-only"
    now_s[0] = REFUSED_S
    assert record.current().name == "ok"


def test_a_damaged_page_counts_while_others_are_read() -> None:
    """Damage is remembered, also beside refused writes, for DAMAGED_S after it was last met."""
    now_s = [0.0]
    record = ConditionRecord(lambda: now_s[0])
    record.record("read", MALFORMED)
    record.record("append", FULL)
    for call in ("read", "write", "append"):
        record.record(call, None)
    assert record.current() == Condition("damaged", "page 7 is malformed")
    now_s[0] = DAMAGED_S
    assert record.current().name == "ok"


class PostgresError(Exception):
    """An error with the code of a PostgreSQL server."""

    def __init__(self, sqlstate: str) -> None:
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("25006", StoreReadOnly),
        ("53100", StoreReadOnly),
        ("XX001", StoreDamaged),
        ("XX002", StoreDamaged),
        ("57014", StoreUnavailable),
        ("58030", StoreUnavailable),
    ],
)
def test_faults_of_postgresql(state: str, kind: type[StoreUnavailable]) -> None:
    """A full disk and a standby refuse writes; a failed checksum is damage."""
    assert type(store_fault("it failed", PostgresError(state))) is kind


async def test_a_sqlite_file_that_is_read_only(tmp_path: Path) -> None:
    """Writes raise StoreReadOnly; the check and reads go on."""
    async with open_sqlite(tmp_path / "store.sqlite3") as store:
        await store.logs.create_room(new_room("r1"))
        await store.database.write(lambda c: c.exec_driver_sql("PRAGMA query_only=1").close())
        for operation in (
            store.logs.append(append("r1", 2)),
            store.nodes.heartbeat("n1", 1000),
        ):
            with pytest.raises(StoreReadOnly):
                await operation
        assert store.condition().name == "read-only"
        await store.check()
        assert await store.logs.heads(["r1"]) == {"r1": 2}


async def test_a_sqlite_file_with_a_damaged_page(tmp_path: Path) -> None:
    """Only what stands on the page raises, StoreDamaged; the check and other rows answer."""
    path = tmp_path / "store.sqlite3"
    async with open_sqlite(path) as store:
        await store.logs.create_room(new_room("r1"))
    with sqlite3.connect(path) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = 'events'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    async with open_sqlite(path) as store:
        with pytest.raises(StoreDamaged):
            await store.logs.events("r1", 0)
        assert store.condition().name == "damaged"
        await store.check()
        assert (await store.logs.heads(["r1"])).keys() == {"r1"}


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        (Condition("read-only", "the disk is full"), None),
        (Condition("damaged", "page 7 is malformed"), None),
        (Condition("damaged", "page 7 is malformed"), MALFORMED),
    ],
)
async def test_a_node_whose_store_takes_no_writes_is_ready(
    condition: Condition, fault: StoreUnavailable | None
) -> None:
    """/readyz is 200 and says so, on the metrics port with the reason, even if the page of the
    check itself is damaged: another node would read the same store.
    """
    fake = FakeServer()
    fake.store.current_condition = condition
    async with api_client(Api(fake.ports("n1"), Limits(Settings()), lambda: False)) as client:
        for path, reason in (("/readyz", {}), ("/details", {"error": condition.reason})):
            if fault is not None:
                fake.store.fail("check", Fault(error=fault))
            answer = await client.get(path)
            assert answer.status == 200
            assert await answer.json() == {"status": "ok", "store": condition.name, **reason}


@virtual
async def test_the_log_repeats_it_every_minute() -> None:
    """The first line comes at once, and the heartbeat adds none; one line says that it is over."""
    fake = FakeServer()
    async with fake.hub():
        with structlog.testing.capture_logs() as lines:
            await asyncio.sleep(5)
            fake.store.current_condition = Condition("read-only", "the disk is full")
            fake.store.fail("heartbeat", *[Fault(error=FULL)] * 190)
            await asyncio.sleep(190)
            fake.store.current_condition = Condition("ok")
            await asyncio.sleep(60)
    assert [(line["event"], line.get("reason")) for line in lines] == [
        *[("the store is read-only", "the disk is full")] * 4,
        ("the store works again", None),
    ]


@pytest.mark.parametrize(
    ("name", "values"), [("ok", (0, 0)), ("read-only", (1, 0)), ("damaged", (0, 1))]
)
async def test_the_metrics_show_it(name: str, values: tuple[int, int]) -> None:
    """A gauge for writes and one for damage."""
    ports = FakeServer().ports("n1")
    gauges = Gauges(
        lambda: 0,
        lambda: 0,
        ports.engines.load,
        ports.bus,
        store=lambda: Condition(name),  # type: ignore[arg-type]
    )
    families = {family.name: family for family in NodeCollector(ports.metrics, gauges).collect()}
    shown = [
        families[f"plyroom_store_{kind}"].samples[0].value for kind in ("read_only", "damaged")
    ]
    assert tuple(shown) == values
