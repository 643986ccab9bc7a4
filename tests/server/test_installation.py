"""What clients keep for an installation: several servers on one host, and cookies of old names."""

import gzip
import json
import re
import sqlite3
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest

from server.deploy.postgres import Postgres
from server.identity.credentials import OLD_COOKIE
from server.identity.guests import new_guest
from server.limits.by_address import Limits
from server.ports import random_id
from server.store import backup as copies
from server.store.installation import first_installation
from server.store.postgres import open_postgres
from server.store.schema import sqlite_engine
from server.store.sqlite import open_sqlite
from tests.support.fake_server import FakeServer
from tests.support.node import Node, Response, serve


class Installation(FakeServer):
    """A server whose ids no other one has."""

    def new_id(self) -> str:
        return random_id()


class Browser:
    """A browser's cookies of one host: they know no port (RFC 6265, section 8.5)."""

    def __init__(self, **cookies: str) -> None:
        self.cookies = cookies

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

    async def open(self, node: Node) -> Response:
        """Requests its guest, as a page does, and keeps the cookies."""
        async with node.http() as http:
            answer = await http.request("/api/guest", "POST", self.headers)
        assert answer.status == 200
        self.cookies |= {name: each.value for name, each in answer.cookies.items()}
        return answer

    async def identities(self, node: Node) -> set[str]:
        """Its identities as each reader of cookies finds them, without requesting a guest."""
        async with node.socket(self.headers) as socket:
            found = {(await socket.hello())["identity"]}
        room = await new_room(node, self.headers)
        matches = await node.get("/api/me/matches", **self.headers)
        assert matches.status == 200
        (waiting,) = [each for each in matches.json["waiting"] if each["room"] == room]
        return found | {seat["identity"] for seat in waiting["seats"] if seat}


async def new_room(node: Node, headers: dict[str, str]) -> str:
    async with node.socket(headers) as socket:
        await socket.hello()
        seats = [{"who": "me"}, {"who": "open"}]
        return str((await socket.ack("create", game="tic-tac-toe", seats=seats))["room"])


async def token_of(node: Node, name: str) -> tuple[str, str]:
    """Makes a guest; returns the identity and the token."""
    ports = node.fake.ports("n1")
    identity, token = await new_guest(ports, Limits(node.fake.settings), "", name)
    return identity.id, token


async def test_servers_on_one_host_keep_their_guests() -> None:
    """In one browser, each of three servers on a host keeps its guest, in any order of visits."""
    browser = Browser()
    async with serve(Installation()) as a, serve(Installation()) as b, serve(Installation()) as c:
        first = {node.cookie: (await browser.open(node)).json["identity"] for node in (a, b, c)}
        assert browser.cookies.keys() == first.keys()
        assert OLD_COOKIE not in browser.cookies
        for node in (b, a, c, c, b, a):
            answer = await browser.open(node)
            assert answer.json["identity"] == first[node.cookie]
            assert (answer.cookies, answer.json.get("notice")) == ({}, None)
            assert await browser.identities(node) == {first[node.cookie]}


async def test_a_cookie_of_the_old_name_is_read_and_left_alone() -> None:
    """Each reader of cookies knows its guest; the page's request copies its token to the cookie of
    this installation, once, so that a server of an earlier version may overwrite it later.
    """
    async with serve() as node:
        identity, token = await token_of(node, "Ada")
        browser = Browser(plyroom=token)
        assert await browser.identities(node) == {identity}
        answer = await browser.open(node)
        assert (answer.json["identity"], answer.json.get("notice")) == (identity, None)
        assert {name: each.value for name, each in answer.cookies.items()} == {node.cookie: token}
        assert (await browser.open(node)).cookies == {}
        browser.cookies[OLD_COOKIE] = "overwritten by an earlier version"
        assert (await browser.open(node)).json["identity"] == identity
        assert await browser.identities(node) == {identity}


def read_by_43418d3a(browser: Browser) -> str | None:
    """The token that a node of 43418d3a finds in a browser's cookies, as written there."""
    values = re.findall(r"(?:^|;)\s*plyroom=([^;]*)", browser.headers["Cookie"])
    return values[-1].strip().strip('"') or None if values else None


async def test_a_guest_of_this_version_is_a_stranger_on_an_older_node() -> None:
    """In a rolling upgrade an older node reads nothing of this version's cookie and makes a guest
    of its own; both nodes then keep theirs. A guest from before the upgrade is the same on both.
    """
    async with serve() as node:
        browser = Browser()
        identity = (await browser.open(node)).json["identity"]
        assert read_by_43418d3a(browser) is None
        older_identity, token = await token_of(node, "Ada")
        browser.cookies[OLD_COOKIE] = token  # the older node has made this guest
        assert read_by_43418d3a(browser) == token
        assert (await browser.open(node)).json["identity"] == identity
        earlier = Browser(plyroom=token)
        assert (await earlier.open(node)).json["identity"] == older_identity
        assert read_by_43418d3a(earlier) == token


async def test_a_cookie_of_the_old_name_may_be_another_servers() -> None:
    """Then this server makes a guest under its own name, and the other one keeps the old cookie."""
    async with serve(Installation()) as a, serve(Installation()) as b:
        identity, token = await token_of(a, "Ada")
        browser = Browser(plyroom=token)
        answer = await browser.open(b)
        assert answer.json["identity"] != identity
        assert "notice" not in answer.json, "nothing of this server was lost"
        assert answer.cookies.keys() == {b.cookie}
        assert browser.cookies[OLD_COOKIE] == token
        assert (await browser.open(a)).json["identity"] == identity
        assert (await browser.open(b)).json["identity"] == answer.json["identity"]


@pytest.mark.parametrize(
    ("own", "old", "expected"),
    [
        ("Ada", "Ben", "Ada"), ("Ada", "nobody", "Ada"), ("nobody", "Ben", "Ben"),
        ("nobody", "nobody", None), ("", "Ben", "Ben"), ("Ada", "", "Ada"), ("", "nobody", None),
    ],
)  # fmt: skip
async def test_the_cookie_of_the_installation_comes_first(
    own: str, old: str, expected: str | None
) -> None:
    """The cookie of the old name counts where that of the installation names no guest."""
    async with serve() as node:
        people = {name: await token_of(node, name) for name in ("Ada", "Ben")}
        tokens = {name: token for name, (_, token) in people.items()} | {"": "", "nobody": "no"}
        browser = Browser(**{node.cookie: tokens[own], OLD_COOKIE: tokens[old]})
        answer = await browser.open(node)
        identity = people[expected][0] if expected else answer.json["identity"]
        assert answer.json["identity"] == identity
        is_lost = expected is None and own == "nobody"
        assert ("notice" in answer.json) == is_lost, "the old cookie may be another server's"
        assert (identity in [each[0] for each in people.values()]) == (expected is not None)
        assert await browser.identities(node) == {identity}


async def test_a_server_names_its_installation() -> None:
    """Programs, which keep tokens, and browsers read the same id."""
    async with serve() as node:
        answer = await node.get("/api/installation")
        assert answer.json == {"installation": node.fake.store.installation}
        assert node.cookie == f"plyroom_{node.fake.store.installation[:8]}"


# --- the stored id --------------------------------------------------------------------------------


def forget(path: Path) -> None:
    """Makes a database as an earlier version leaves it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM meta WHERE key = 'installation'")


async def test_a_database_gets_its_id_once(tmp_path: Path) -> None:
    """The id is that of the first start, also on a database of an earlier version, and another
    database has another one. It stays where the epoch changes, as after a restore.
    """
    path = tmp_path / "a.sqlite3"
    async with open_sqlite(path) as store, open_sqlite(tmp_path / "b.sqlite3") as other:
        first = store.installation
        assert first not in (other.installation, store.epoch)
    forget(path)
    for _ in range(2):
        async with open_sqlite(path) as store:
            assert store.installation == first
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE meta SET value = 'restored' WHERE key = 'epoch'")
    async with open_sqlite(path) as store:
        assert (store.epoch, store.installation) == ("restored", first)


async def test_a_store_that_takes_no_writes_starts(tmp_path: Path) -> None:
    """It has the id that it will store as soon as it can."""
    path = tmp_path / "a.sqlite3"
    async with open_sqlite(path) as store:
        first = store.installation
    forget(path)
    refuse = "CREATE TRIGGER full BEFORE INSERT ON meta BEGIN SELECT RAISE(FAIL, 'full'); END"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(refuse)
    async with open_sqlite(path) as store:
        assert store.installation == first


async def test_postgres_that_takes_no_writes_starts(postgres: Postgres, database: str) -> None:
    """On a full disk a node starts with the id that the next one will store; any other error of the
    database ends the start.
    """
    async with open_postgres(postgres.url(database)) as store, postgres.session(database) as other:
        await other.execute("DELETE FROM meta WHERE key = 'installation'")
        await other.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON meta FOR EACH ROW"
            " WHEN (NEW.key = 'installation') EXECUTE FUNCTION refuse()"
        )
        async with open_postgres(postgres.url(database)) as again:
            assert again.installation == store.installation == first_installation(store.epoch)
        await other.execute("DROP TRIGGER refuse ON meta")
        async with open_postgres(postgres.url(database)) as again:
            stored = await other.fetchval("SELECT value FROM meta WHERE key = 'installation'")
            assert again.installation == stored == store.installation


def make_backup(path: Path) -> bytes:
    with sqlite_engine(path, "BEGIN").begin() as connection:
        copies.backup(connection, "a", file := BytesIO(), lambda done, total: None)
    return file.getvalue()


def restore(path: Path, file: bytes) -> None:
    with sqlite_engine(path).begin() as connection:
        copies.restore(connection, "b", BytesIO(file), lambda done, total: None)


def with_header(file: bytes, **changes: object) -> bytes:
    """The backup with other fields in its header; None removes one."""
    first, rest = gzip.decompress(file).split(b"\n", 1)
    header = {k: v for k, v in {**json.loads(first), **changes}.items() if v is not None}
    return gzip.compress(json.dumps(header).encode() + b"\n" + rest)


@pytest.mark.parametrize("is_stored", [True, False])
async def test_a_restored_store_is_the_same_installation(tmp_path: Path, is_stored: bool) -> None:
    """Its epoch is another, so that clients read its rooms again. The same holds for a backup that
    this version makes before its first start on a database of an earlier one.
    """
    path = tmp_path / "a.sqlite3"
    async with open_sqlite(path) as store:
        pass
    if not is_stored:
        forget(path)
    restore(tmp_path / "b.sqlite3", make_backup(path))
    async with open_sqlite(tmp_path / "b.sqlite3") as restored:
        assert restored.installation == store.installation
        assert restored.epoch != store.epoch


async def test_a_backup_of_an_earlier_version_has_no_installation(tmp_path: Path) -> None:
    """The restored store gets an id at its start. A header with a malformed one is refused."""
    path = tmp_path / "a.sqlite3"
    async with open_sqlite(path) as store:
        pass
    file = make_backup(path)
    restore(tmp_path / "b.sqlite3", with_header(file, installation=None))
    async with open_sqlite(tmp_path / "b.sqlite3") as restored:
        assert restored.installation != store.installation
    for number, wrong in enumerate((7, "", "x" * 16, "ABCDEF0123456789", ["a"], store.epoch + "0")):
        with pytest.raises(copies.BadBackup, match="installation"):
            restore(tmp_path / f"{number}.sqlite3", with_header(file, installation=wrong))
