"""The PostgreSQL store with database servers that fail or that it cannot use."""

import asyncio
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from server.deploy.postgres import (
    DISCONNECT,
    PASSWORD,
    Postgres,
    chown_to_postgres,
    private_postgres,
)
from server.store.base import CommandKey, StoreReadOnly, StoreUnavailable
from server.store.postgres import open_postgres
from server.store.postgres_link import Limits
from tests.support.clock import stopped_clock
from tests.support.log_entries import (
    QUICK_LIMITS,
    append,
    append_until_committed,
    entries,
    log,
    new_room,
    outcome,
)

# --- servers that fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["kill", "fast", pytest.param("immediate", marks=pytest.mark.long)])
async def test_a_server_that_ends_under_load_loses_nothing(durable: Postgres, end: str) -> None:
    """After PostgreSQL is killed or stopped under load, acknowledged writes are in the log once.

    During the outage writes fail within 2 s; afterwards all succeed.
    """
    async with durable.database() as database, open_postgres(durable.url(database)) as store:
        rooms = [f"r{n}" for n in range(20)]
        await asyncio.gather(*(store.logs.create_room(new_room(room, count=1)) for room in rooms))
        stop, is_under_load = asyncio.Event(), asyncio.Event()
        written: dict[str, list[int]] = {room: [] for room in rooms}

        async def play(room: str) -> None:
            n = 0
            while not stop.is_set():
                written[room].append(
                    (
                        await append_until_committed(
                            store, room, CommandKey("ada", str(n)), b'{"n":%d}' % n
                        )
                    )[1]
                )
                n += 1
                if n == 10:
                    is_under_load.set()

        playing = [asyncio.create_task(play(room)) for room in rooms]
        await is_under_load.wait()
        await asyncio.to_thread(durable.kill if end == "kill" else lambda: durable.stop(end))
        for operation in (store.logs.append(append("nowhere", 0)), store.check()):
            async with stopped_clock() as clock:
                waiting = asyncio.create_task(outcome(operation))
                await clock.until(waiting.done, within_s=2)
            assert isinstance(await waiting, StoreUnavailable)
        await asyncio.to_thread(durable.start)
        stop.set()
        await asyncio.gather(*playing)
        for room in rooms:
            events = await log(store, room)
            assert [event.v for event in events] == list(range(1, len(events) + 1))
            assert written[room] == list(range(2, len(events) + 1))
            assert [event.body for event in events[1:]] == [
                b'{"n":%d}' % n for n in range(len(written[room]))
            ]


@pytest.mark.parametrize("turns", [2, pytest.param(20, marks=pytest.mark.long)])
async def test_a_frozen_server_times_out_and_commits_once(durable: Postgres, turns: int) -> None:
    """Writes and reads of a frozen server fail in time; later each command is logged once."""
    limits = Limits(connect_s=0.5, statement_s=0.4, lock_s=0.2)
    async with (
        durable.database() as database,
        open_postgres(durable.url(database), limits) as store,
    ):
        rooms = [f"r{n}" for n in range(5)]
        await asyncio.gather(*(store.logs.create_room(new_room(room, count=1)) for room in rooms))
        for turn in range(turns):
            key = CommandKey("ada", str(turn))
            writing = [
                asyncio.create_task(outcome(store.logs.append(append(room, turn + 1, key))))
                for room in rooms
            ]
            await asyncio.sleep(0)  # the requests are in flight now
            durable.pause()
            try:
                async with stopped_clock() as clock:
                    writes = asyncio.gather(*writing)
                    await clock.until(writes.done, within_s=2)
                    assert {type(result) for result in await writes} <= {
                        StoreUnavailable,
                        type(None),
                    }
                    reading = asyncio.create_task(outcome(store.logs.head("r1")))
                    await clock.until(reading.done, within_s=2)
                    assert isinstance(await reading, StoreUnavailable)
            finally:
                durable.resume()
            results = await asyncio.gather(
                *(append_until_committed(store, room, key, b'{"kind":"danced"}') for room in rooms)
            )
            assert [v for _, v in results] == [turn + 2] * len(rooms)
        assert set((await store.logs.heads(rooms)).values()) == {turns + 1}


# --- servers that cannot be used ------------------------------------------------------------------


async def refusal(address: str, limits: Limits = QUICK_LIMITS) -> str:
    """Returns the error message of a store that cannot be opened.

    Asserts that no error contains a password.
    """
    with pytest.raises(StoreUnavailable) as caught:
        async with open_postgres(address, limits):
            raise AssertionError("it was opened")
    error: BaseException | None = caught.value
    texts = ""
    while error is not None:
        texts += f"{error!r} {error}"
        error = error.__cause__ or error.__context__
    for secret in (PASSWORD, "a-secret", "wrong-secret"):
        assert secret not in texts
    return str(caught.value)


async def test_an_unusable_database_is_reported(postgres: Postgres, database: str) -> None:
    """A database that cannot be used gives an error with the reason and without a secret.

    The reasons: a wrong password, an unknown database, no server, no tables, no TLS.
    """
    assert "password authentication failed" in await refusal(
        postgres.url(database, password="wrong-secret")
    )
    assert 'database "nowhere" does not exist' in await refusal(postgres.url("nowhere"))
    message = await refusal(postgres.url(database, port=1))
    assert f"postgresql://plyroom@127.0.0.1:1/{database}" in message
    async with postgres.bare_database() as bare:
        assert "plyroom migrate" in await refusal(postgres.url(bare))
    assert "SSL" in await refusal(postgres.url(database) + "?sslmode=require")


async def test_an_address_with_several_hosts(postgres: Postgres, database: str) -> None:
    """The address may name several hosts and `target_session_attrs`, as in libpq."""
    address = postgres.url(database).replace("@127.0.0.1:", "@127.0.0.1:1,127.0.0.1:")
    async with open_postgres(f"{address}?target_session_attrs=read-write", QUICK_LIMITS) as store:
        await store.logs.create_room(new_room("r1"))
        assert await store.logs.events("r1", 0) == list(entries(1, 2))


async def test_tls_follows_the_sslmode_of_the_address(tmp_path: Path) -> None:
    """verify-full accepts the right CA, and refuses another CA or another host's certificate."""
    for name in ("server", "other"):
        make_certificate(tmp_path, name)
    folder = Path(tempfile.mkdtemp(prefix="plyroom-certificate-"))  # readable by PostgreSQL's user
    try:
        for ending in ("crt", "key"):
            shutil.copy(tmp_path / f"server.{ending}", folder)
        chown_to_postgres(folder)
        secure = {
            "ssl": "on",
            "ssl_cert_file": f"{folder}/server.crt",
            "ssl_key_file": f"{folder}/server.key",
        }
        with private_postgres(**secure) as server:
            async with server.database() as database:
                plain = server.url(database)
                strict = f"{plain}?sslmode=verify-full&sslrootcert={tmp_path}/server.crt"
                async with (
                    open_postgres(strict, QUICK_LIMITS) as store,
                    server.session(database) as session,
                ):
                    await store.logs.create_room(new_room("r1"))
                    query = (
                        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                    )
                    assert await session.fetchval(f"{query} WHERE application_name = 'plyroom'")
                wrong = strict.replace("server.crt", "other.crt")
                assert "TLS failed" in await refusal(wrong)
                assert "TLS failed" in await refusal(strict.replace("@127.0.0.1:", "@localhost:"))
    finally:
        shutil.rmtree(folder)


def make_certificate(folder: Path, name: str) -> None:
    """Makes a self-signed certificate for 127.0.0.1."""
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-days",
            "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt",
        ],
        check=True, capture_output=True,
    )  # fmt: skip


async def test_too_many_connections_are_reported(postgres: Postgres, database: str) -> None:
    """If PostgreSQL accepts no more connections, the error says so; later attempts succeed."""
    async with postgres.session(database) as other:
        await other.execute("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 1")
        await other.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO few")
        try:
            address = (
                postgres.url(database)
                .replace("plyroom:", "few:")
                .replace(postgres.url(database).split(":")[2].split("@")[0], "few")
            )
            async with open_postgres(address, QUICK_LIMITS) as store:
                with pytest.raises(StoreUnavailable, match="too many connections"):
                    await store.logs.head("r1")
                assert "too many connections" in await refusal(address)
                await store.logs.create_room(new_room("r1"))
        finally:
            await other.execute("DROP OWNED BY few")
            await other.execute("DROP ROLE few")


async def test_a_read_only_server_is_refused(postgres: Postgres) -> None:
    """A read-only database is refused at the start; a running store reports it and recovers."""
    async with postgres.database() as database, postgres.session() as other:
        url = postgres.url(database)
        async with open_postgres(url, QUICK_LIMITS) as store:
            await store.logs.create_room(new_room("r1"))
            await other.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
            try:
                assert "needs the one that takes writes" in await refusal(url)
                async with postgres.session(database) as session:
                    await session.execute(DISCONNECT)
                for kind in (StoreUnavailable, StoreReadOnly):  # the first found the link broken
                    with pytest.raises(kind, match="needs the one that takes writes"):
                        await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
                with pytest.raises(StoreReadOnly, match="read-only transaction"):
                    await store.nodes.heartbeat("n1", 1000)
                await store.check()
                assert store.condition().name == "read-only"
            finally:
                await other.execute(
                    f"ALTER DATABASE {database} RESET default_transaction_read_only"
                )
            async with postgres.session(database) as session:
                await session.execute(DISCONNECT)
            await store.logs.append(append("r1", 2))
            await store.nodes.heartbeat("n1", 1000)
            assert store.condition().name == "ok"


async def test_a_full_disk_refuses_writes_only(postgres: Postgres, database: str) -> None:
    """PostgreSQL's error of a full disk is StoreReadOnly; then writes succeed again."""
    async with (
        open_postgres(postgres.url(database)) as store,
        postgres.session(database) as other,
    ):
        await store.logs.create_room(new_room("r1"))
        await other.execute(
            "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$;"
            " CREATE TRIGGER full_disk BEFORE INSERT ON events EXECUTE FUNCTION fill()"
        )
        with pytest.raises(StoreReadOnly, match="No space left"):
            await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        await store.nodes.heartbeat("n1", 1000)
        assert store.condition().name == "read-only"
        assert await store.logs.heads(["r1"]) == {"r1": 2}
        await other.execute("DROP TRIGGER full_disk ON events")
        await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        assert store.condition().name == "ok"


async def test_another_database_at_the_same_address_is_noticed(
    postgres: Postgres, database: str
) -> None:
    """After a restore under a running node the node writes nothing, and its check fails."""
    async with open_postgres(postgres.url(database)) as store, postgres.session(database) as other:
        await store.logs.create_room(new_room("r1"))
        await store.check()
        await other.execute("UPDATE meta SET value = 'restored' WHERE key = 'epoch'")
        await other.fetchval(DISCONNECT)
        with pytest.raises(StoreUnavailable, match="not the same"):
            await store.check()
        with pytest.raises(StoreUnavailable, match="not the same"):
            await store.logs.append(append("r1", 2, CommandKey("ada", "1")))
        assert await store.logs.events("r1", 2) == []


async def test_long_dead_nodes_are_deleted(postgres: Postgres, database: str) -> None:
    """A node's first heartbeat deletes nodes that have been dead for a day, and no others."""
    async with open_postgres(postgres.url(database)) as store, postgres.session(database) as other:
        await store.nodes.heartbeat("yesterday's", -24 * 3_600_000 - 60_000)
        await store.nodes.heartbeat("this morning's", -3_600_000)
        await store.nodes.heartbeat("new", 1000)
        assert [row[0] for row in await other.fetch("SELECT id FROM nodes ORDER BY id")] == [
            "new",
            "this morning's",
        ]


async def test_nodes_that_start_together_agree_on_epoch_and_installation(
    postgres: Postgres, database: str
) -> None:
    """Nodes that start together agree on one epoch and one installation."""
    stores = [open_postgres(postgres.url(database)) for _ in range(4)]
    open_stores = await asyncio.gather(*(store.__aenter__() for store in stores))
    assert len({(store.epoch, store.installation) for store in open_stores}) == 1
    for store in stores:
        await store.__aexit__(None, None, None)
