"""The server's port: HTTP and WebSockets, refusals of foreign pages, and shutdown."""

import asyncio
import os
import socket as sockets
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog.testing
from websockets.exceptions import InvalidStatus

from server.app import open_server
from server.identity.credentials import Credentials, parse_credentials
from server.net.listener import PortTaken, is_origin_allowed, is_upgrade
from server.protocol import messages as wire
from server.protocol.codec import format_message
from server.protocol.codes import Close, Code
from server.settings import SettingError, Settings, ignored_settings, settings_from_env
from server.store.base import StoreUnavailable
from server.web.connection import HEAD_LIMIT_BYTES
from tests.server.test_session import run_on
from tests.support.clock import ends_within
from tests.support.fake_server import ScriptedEngines
from tests.support.node import Http, serve
from tests.support.server_process import fork

UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "Sec-WebSocket-Version": "13",
}


# --- one port -------------------------------------------------------------------------------------


async def test_http_and_websockets_share_the_port() -> None:
    """The port serves a page, an API answer on the same kept-alive connection, and a WebSocket."""
    async with serve() as node, node.http() as http, node.guest() as client:
        page = await http.request("/")
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert (await http.request("/livez")).json == {"status": "ok"}
        assert (await http.request("/api/games")).status == 200
        await client.send(wire.Ping(id="p"))
        await client.expect("pong", id="p")


async def test_a_request_may_come_byte_by_byte() -> None:
    """HTTP and WebSocket requests may arrive byte by byte."""
    async with serve() as node:
        for target, headers, status in (("/livez", {}, 200), ("/ws", UPGRADE, 101)):
            async with node.http() as http:
                lines = [
                    f"GET {target} HTTP/1.1",
                    f"Host: {node.host}",
                    *(f"{k}: {v}" for k, v in headers.items()),
                ]
                for byte in "\r\n".join([*lines, "", ""]).encode():
                    http.writer.write(bytes([byte]))
                    await http.writer.drain()
                    await asyncio.sleep(0)
                assert (await http.response()).status == status


async def test_an_upgrade_on_a_kept_alive_connection_is_refused() -> None:
    """An upgrade on a kept-alive connection gets 400 with Connection: close."""
    async with serve() as node, node.http() as http:
        await http.request("/livez")
        late = await http.request("/ws", headers=UPGRADE)
        assert (late.status, late.json["code"]) == (400, Code.UPGRADE_LATE)
        assert late.headers["connection"] == "close"
        assert await http.read_to_end() == b""


async def test_a_websocket_on_another_path_is_not_found() -> None:
    """A WebSocket handshake on any path but /ws gets 404."""
    async with serve() as node, node.http() as http:
        assert (await http.request("/other", headers=UPGRADE)).status == 404
    async with serve() as node, node.http() as http:
        assert (await http.request("/ws")).status == 200, "nothing refuses a socket"


async def test_a_full_server_refuses_connections() -> None:
    """A connection beyond the limit gets 503; when another one closes, a new one is accepted."""
    async with serve(max_connections=1) as node:
        async with node.guest() as client, node.http() as http:
            assert (await http.request("/ws", headers=UPGRADE)).status == 503
            await client.send(wire.Ping(id="p"))
            await client.expect("pong", id="p")
        while len(node.running.sessions):
            await node.get("/livez")
        async with node.guest():
            pass


async def test_half_a_head_times_out() -> None:
    """A connection that never completes its request is aborted after the silence limit."""
    async with serve(silence_s=0.2) as node:
        for start in (
            b"",
            b"GET / HTTP/1.1\r\nHost: x\r\n",
            b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n",
        ):
            async with node.http() as http:
                http.writer.write(start)
                assert await http.read_to_end() == b""


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
async def test_a_head_that_is_too_big_is_refused(end: bytes) -> None:
    """A head that is too big gets 431 and the end of the connection, complete or not."""
    async with serve() as node, node.http() as http:
        http.writer.write(b"GET / HTTP/1.1\r\nX: " + b"x" * (HEAD_LIMIT_BYTES + 1) + end)
        assert (await http.response()).status == 431
        assert await http.read_to_end() == b""


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
        b"POST /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
        b"GET /ws HTTP/1.1\r\nHost: a\r\nHost: b\r\nOrigin: http://a\r\n"
        b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        b"GET /ws HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nOrigin: http://b\r\n"
        b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\xff: \xff\r\n\r\n",
    ],
)  # fmt: skip
async def test_a_malformed_request_is_refused(request_bytes: bytes) -> None:
    """A malformed request gets 4xx or a closed connection, and the server continues.

    The log has no traceback.
    """
    with structlog.testing.capture_logs() as logs:
        async with serve() as node:
            async with node.http() as http:
                http.writer.write(request_bytes)
                http.writer.write_eof()
                answer = await http.read_to_end()
                assert answer == b"" or answer.split()[1][:1] == b"4"
            assert (await node.get("/livez")).status == 200
    assert not [line for line in logs if "exc_info" in line or line["log_level"] == "error"]


@pytest.mark.parametrize(
    ("head", "upgrade"),
    [
        (b"GET /ws HTTP/1.1\r\nUpgrade: websocket", True),
        (b"GET /ws HTTP/1.1\r\nupgrade:WebSocket", True),
        (b"GET /ws HTTP/1.1\r\nUpgrade: h2c, websocket", True),
        (b"GET / HTTP/1.1\r\nUpgrade: h2c", False),
        (b"GET /upgrade:websocket HTTP/1.1\r\nHost: x", False),
        (b"GET / HTTP/1.1\r\nX-Upgrade: websocket", False),
        (b"", False),
    ],
)  # fmt: skip
def test_upgrades_are_recognised(head: bytes, upgrade: bool) -> None:
    """An upgrade has an Upgrade header with websocket, in any case (RFC 6455, section 4.1)."""
    assert is_upgrade(head) is upgrade


# --- origins --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "origin", "allowed"),
    [
        ("192.168.1.5:8000", "http://192.168.1.5:8000", True),
        ("192.168.1.5:8000", "https://192.168.1.5:8000", True),
        ("10.0.0.1", "http://10.0.0.1", True),
        ("[fe80::1]:8000", "http://[fe80::1]:8000", True),
        ("[::1]", "http://[::1]", True),
        ("localhost:8000", "http://localhost:8000", True),
        ("LOCALHOST:8000", "http://localhost:8000", True),
        ("raspberry.local:8000", "http://raspberry.local:8000", True),
        ("play.example.org", "https://play.example.org", True),
        ("Play.Example.org:443", "https://play.example.org:443", True),
        ("192.168.1.5:8000", None, True),
        ("evil.example", None, True),
        ("192.168.1.5:8000", "http://192.168.1.6:8000", False),
        ("192.168.1.5:8000", "http://192.168.1.5", False),
        ("192.168.1.5:8000", "http://evil.example", False),
        ("192.168.1.5:8000", "null", False),
        ("192.168.1.5:8000", "", False),
        ("192.168.1.5:8000", "file://192.168.1.5:8000", False),
        ("192.168.1.5:8000", "192.168.1.5:8000", False),
        ("evil.example:8000", "http://evil.example:8000", False),
        ("192.168.1.5.evil.example", "http://192.168.1.5.evil.example", False),
        ("localhost.evil.example", "http://localhost.evil.example", False),
        ("not.xlocal", "http://not.xlocal", False),
        ("xlocalhost.example", "http://xlocalhost.example", False),
        ("play.example.org.evil", "http://play.example.org.evil", False),
        (None, "http://192.168.1.5:8000", False),
        ("", "http://", False),
    ],
)
def test_origins_that_may_connect(host: str | None, origin: str | None, allowed: bool) -> None:
    """A page may connect if its origin is this server, under an allowed name.

    Programs, which send no Origin, may connect too.
    """
    assert is_origin_allowed(origin, host, ("play.example.org",)) is allowed


async def test_foreign_pages_get_no_websocket() -> None:
    """A page with a foreign Origin or host name (DNS rebinding) gets 403 before the handshake."""
    async with serve(names=("play.example.org",)) as node:
        for host, origin, status in (
            (node.host, f"http://{node.host}", 101), (node.host, "http://evil.example", 403),
            (node.host, "null", 403),
            ("evil.example", "http://evil.example", 403),
            ("192.168.7.7:8000", "http://192.168.7.7:8000", 101),
            ("play.example.org", "https://play.example.org", 101),
        ):  # fmt: skip
            async with node.http(host) as http:
                answer = await http.request("/ws", headers={**UPGRADE, "Origin": origin})
                assert answer.status == status, (host, origin)
        with pytest.raises(InvalidStatus):
            async with node.socket(origin="http://evil.example"):
                pass


# --- start and shutdown --------------------------------------------------------------------------


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_shutdown_does_not_wait_for_clients(loop: str) -> None:
    """Shutdown closes sockets with 1012 and does not wait for idle or incomplete requests."""

    async def main() -> None:
        async with AsyncExitStack() as clients, AsyncExitStack() as nodes:
            node = await nodes.enter_async_context(serve())
            client = await clients.enter_async_context(node.guest())
            idle, half, slow = [await clients.enter_async_context(node.http()) for _ in range(3)]
            await idle.request("/livez")
            half.writer.write(b"GET / HT")
            slow.writer.write(
                b"POST /api/guest HTTP/1.1\r\nHost: %b\r\nContent-Length: 100\r\n\r\n{"
                % node.host.encode()
            )
            await client.send(wire.Ping(id="p"))
            await client.expect("pong", id="p")
            closing = asyncio.create_task(client.wait_closed())
            await ends_within(nodes.aclose(), 5)
            assert (await closing)[0] == Close.RESTARTING

    run_on(loop, main)


async def test_a_taken_port_is_reported(tmp_path: Path) -> None:
    """A taken port raises PortTaken, which names it, and leaves nothing behind."""
    with sockets.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        settings = Settings(host="127.0.0.1", port=port, data=tmp_path)
        before = asyncio.all_tasks()
        with pytest.raises(PortTaken, match=f"port {port}: another program uses it"):
            async with open_server(settings, ScriptedEngines()):
                raise AssertionError("it listens")
        assert asyncio.all_tasks() == before
        async with open_server(replace(settings, port=0), ScriptedEngines()) as running:
            assert running.port != port


async def start_forked(errors: Path, *arguments: str, **environment: str) -> str:
    """Runs a forked server, which must exit with 1 and print nothing; returns its errors."""
    process, output = await fork(arguments, {**os.environ, **environment}, errors)
    assert (await output.read(), await process.wait()) == (b"", 1)
    return errors.read_text()


async def test_the_command_reports_start_errors(tmp_path: Path) -> None:
    """A taken port, a bad setting or an unusable folder gives a message and exit code 1."""
    with sockets.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        errors = await start_forked(
            tmp_path / "0.txt", "--host", "127.0.0.1", "--port", port,
            "--data", str(tmp_path / "a"), "--workers", "1",
        )  # fmt: skip
        assert f"port {port}" in errors
        assert "--port" in errors
        assert "Traceback" not in errors
    data = f"--data={tmp_path / 'b'}"
    errors = await start_forked(tmp_path / "1.txt", data, PLYROOM_SILENCE_S="soon")
    assert "PLYROOM_SILENCE_S is 'soon'; a number above 0 was expected" in errors
    data = "--data=~nobody-has-this-name/data"
    errors = await start_forked(tmp_path / "2.txt", data, "--port", "0")
    assert "the folder of a user of this machine was expected" in errors
    assert "Traceback" not in errors
    (tmp_path / "c").write_text("a file")
    data = f"--data={tmp_path / 'c' / 'd'}"
    errors = await start_forked(tmp_path / "3.txt", data, "--port", "0")
    assert "cannot use the data folder" in errors
    assert "Traceback" not in errors


async def test_a_folder_has_one_server(tmp_path: Path) -> None:
    """A second server on a data folder raises StoreUnavailable until the first one has ended."""
    settings = Settings(host="127.0.0.1", port=0, data=tmp_path)
    async with open_server(settings, ScriptedEngines()):
        with pytest.raises(StoreUnavailable, match="another Plyroom server"):
            async with open_server(settings, ScriptedEngines()):
                raise AssertionError("it started")
    async with open_server(settings, ScriptedEngines()) as running:
        assert running.port


# --- settings -------------------------------------------------------------------------------------


def test_settings_come_from_the_environment() -> None:
    """PLYROOM_<NAME> sets each setting in its own type; other variables are ignored."""
    given = {
        "PLYROOM_HOST": "127.0.0.1", "PLYROOM_PORT": "8123", "PLYROOM_DATA": "/somewhere",
        "PLYROOM_SILENCE_S": "2.5",
        "PLYROOM_NAMES": "a.example, b.example,", "PLYROOM_SOLE_NODE": "no",
        "PLYROOM_AI_TRIES": "3", "OTHER": "x",
    }  # fmt: skip
    settings = settings_from_env(given)
    assert settings == replace(
        Settings(), host="127.0.0.1", port=8123, data=Path("/somewhere"), silence_s=2.5,
        names=("a.example", "b.example"), sole_node=False, ai_tries=3,
    )  # fmt: skip
    assert settings_from_env({}) == Settings()


@pytest.mark.parametrize("name", ["port", "metrics_port"])
def test_a_port_of_kubernetes_is_ignored(name: str) -> None:
    """Its services set variables of that form in each pod; no other setting may have it."""
    variable, other = f"PLYROOM_{name.upper()}", "PLYROOM_MAX_ROOMS"
    for value in ("tcp://10.96.12.3:8000", "udp://[fd00::1]:53", "sctp://10.0.0.1:1 "):
        assert settings_from_env({variable: value}) == Settings()
        assert ignored_settings({variable: value, other: value}) == [variable]
        with pytest.raises(SettingError):
            settings_from_env({other: value})
    assert ignored_settings({variable: "8000"}) == ignored_settings({}) == []


def test_a_folder_may_be_in_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is that of the user, in each setting that is a path; only at its start."""
    monkeypatch.setenv("HOME", "/home/ada")
    environ = {"PLYROOM_DATA": "~/plyroom", "PLYROOM_BUS_CA": "~", "PLYROOM_BUS_FILE": "/a/~/b"}
    settings = settings_from_env(environ)
    assert [str(each) for each in (settings.data, settings.bus_ca, settings.bus_file)] == [
        "/home/ada/plyroom", "/home/ada", "/a/~/b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "http://a:8000"), ("PORT", "tcp://"), ("PORT", "eighty"), ("PORT", ""),
        ("PORT", "-1"), ("PORT", "65536"), ("PORT", "8000.5"),
        ("SOLE_NODE", "maybe"),
        ("SILENCE_S", "soon"), ("SILENCE_S", "0"), ("SILENCE_S", "-1"), ("SILENCE_S", "nan"),
        ("SILENCE_S", "inf"),
        ("MAX_ROOMS", "many"), ("DATABASE_POOL", "0"), ("DATABASE_LOCK_S", "never"),
        ("DATA", "~nobody-has-this-name/data"),
    ],
)  # fmt: skip
def test_an_invalid_setting_is_refused(name: str, value: str) -> None:
    """An invalid setting raises SettingError, which names the variable and what was expected."""
    with pytest.raises(SettingError, match=rf"PLYROOM_{name} is .*expected"):
        settings_from_env({f"PLYROOM_{name}": value})


# --- guests ---------------------------------------------------------------------------------------


async def request_guest(http: Http, body: bytes = b"", **headers: str) -> Any:
    return await http.request("/api/guest", "POST", headers, body)


async def test_a_browser_gets_its_identity_in_a_cookie() -> None:
    """The cookie is HttpOnly, SameSite=Strict and for the whole site; the socket accepts it.

    No response body contains the token.
    """
    async with serve() as node, node.http() as http:
        answer = await request_guest(http, b'{"name": "Ada"}')
        assert answer.status == 200
        cookie = answer.cookies[node.cookie]
        assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
        assert int(cookie["max-age"]) > 30 * 24 * 3600
        assert answer.json.keys() == {"identity", "name"}
        assert cookie.value not in answer.body.decode()
        header = f"{node.cookie}={cookie.value}"
        async with node.socket({"Cookie": header}) as client:
            welcome = await client.hello()
            assert (welcome["identity"], welcome["name"]) == (answer.json["identity"], "Ada")
            assert "token" not in welcome
        again = await request_guest(http, b'{"name": "Countess"}', Cookie=header)
        assert again.json == {"identity": answer.json["identity"], "name": "Countess"}
        assert not again.cookies
        unknown = await request_guest(http, b"", Cookie="plyroom=nobodys")
        assert unknown.json["identity"] != answer.json["identity"]
        assert unknown.cookies[node.cookie].value


async def test_a_token_in_hello_takes_precedence_over_the_cookie() -> None:
    """A token in hello takes precedence over the cookie."""
    async with serve() as node, node.http() as http, node.guest(name="Ben") as ben:
        cookie = (await request_guest(http)).cookies[node.cookie].value
        async with node.socket({"Cookie": f"{node.cookie}={cookie}"}) as client:
            assert (await client.hello(token=ben.token))["identity"] == ben.identity


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, Code.MESSAGE_MALFORMED), (b"[]", 400, Code.MESSAGE_MALFORMED),
        (b"\xff", 400, Code.MESSAGE_MALFORMED),
        (b'{"name": 1}', 400, Code.MESSAGE_MALFORMED),
        (b'{"admin": true}', 400, Code.MESSAGE_MALFORMED),
        (b'{"name": "' + b"x" * 25 + b'"}', 400, Code.NAME_REFUSED),
        (b'{"name": "\\u200b\\u202e"}', 400, Code.NAME_REFUSED), (b"x" * 5000, 413, "http.413"),
        (b"[" * 4000, 400, Code.MESSAGE_MALFORMED),
    ],
)  # fmt: skip
async def test_an_invalid_guest_is_refused(body: bytes, status: int, code: str) -> None:
    """An invalid guest request is refused with its code, and no guest is made."""
    async with serve() as node, node.http() as http:
        answer = await request_guest(http, body)
        assert (answer.status, answer.json["code"]) == (status, code)
        assert node.fake.store.memory.tables.identities == {}


async def test_foreign_pages_make_no_guests() -> None:
    """A foreign Origin gets 403, also under a foreign name of this server."""
    async with serve() as node:
        for host, origin in (
            (node.host, "http://evil.example"),
            ("evil.example", "http://evil.example"),
        ):
            async with node.http(host) as http:
                answer = await request_guest(http, b"", Origin=origin)
                assert (answer.status, answer.json["code"]) == (403, Code.ORIGIN_FOREIGN)
        async with node.http() as http:
            assert (await request_guest(http, b"", Origin=f"http://{node.host}")).status == 200


@pytest.mark.parametrize(
    ("header", "own", "old"),
    [
        (None, None, None), ("", None, None), ("a=b", None, None), (";;;", None, None),
        ("plyroom_00c0ffee=abc", "abc", None), ("a=b; plyroom_00c0ffee=abc; c=d", "abc", None),
        ("plyroom_00c0ffee=", None, None), ('plyroom_00c0ffee="abc"', "abc", None),
        ("plyroom_00c0ffee", None, None), ("plyroom_00c0ffee=a; plyroom_00c0ffee=b", "b", None),
        ("\xff=\xff; plyroom_00c0ffee=\xff", "\xff", None),
        ('other=[1,2]"{x}; plyroom_00c0ffee=abc; more=\\"', "abc", None),
        ("xplyroom_00c0ffee=a; plyroom_00c0ffeex=a; plyroom_00c0ffe=a", None, None),
        ("plyroom_0badcafe=other", None, None), ("plyroom=abc", None, "abc"),
        ("plyroom=abc; plyroom_00c0ffee=def; plyroom_0badcafe=x", "def", "abc"),
        ("xplyroom=abc; plyroomx=abc", None, None), ("plyroom=", None, None),
    ],
)  # fmt: skip
def test_the_cookie_header_is_read(header: str | None, own: str | None, old: str | None) -> None:
    """The tokens of the installation's cookie and of the one of earlier versions are found among
    other cookies of any form, those of other installations among them.
    """
    cookies = [] if header is None else [header]
    assert parse_credentials(cookies, [], "00c0ffee12345678") == Credentials(None, own, old)


@pytest.mark.parametrize("cookie", ["plyroom=\xff\xfe", "a" * 3000, "plyroom=" + "x" * 3000])
async def test_an_unknown_cookie_gives_a_new_guest(cookie: str) -> None:
    """An unknown or malformed cookie gives a new guest over HTTP, and an answer over the socket."""
    with structlog.testing.capture_logs() as logs:
        async with serve() as node, node.http() as http:
            assert (await request_guest(http, b"", Cookie=cookie)).status == 200
            async with node.http() as raw:
                head = {**UPGRADE, "Cookie": cookie}
                assert (await raw.request("/ws", headers=head)).status == 101
                hello = format_message(wire.Hello(protocol=1))
                raw.writer.write(bytes((0x81, 0x80 | len(hello), 0, 0, 0, 0)) + hello)
                assert b'"t":"' in await raw.reader.readuntil(b"}")
    assert not [line for line in logs if line["log_level"] == "error"]


# --- other HTTP requests --------------------------------------------------------------------------

SECURITY = {
    "content-security-policy": "default-src 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "permissions-policy": "accelerometer=(), ",
}


async def test_every_answer_has_its_security_headers() -> None:
    """Pages, files, API answers and refusals carry the security headers and no server version."""
    async with serve() as node:
        for target in (
            "/",
            "/room/x",
            "/livez",
            "/api/games",
            "/api/matches/none",
            "/nothing",
            "/api/matches?limit=x",
        ):
            answer = await node.get(target)
            for name, value in SECURITY.items():
                assert answer.headers[name].startswith(value), (target, name)
            policy = answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert "server" not in answer.headers


async def test_files_are_immutable_under_a_hash_of_their_content() -> None:
    """A file's address changes with its content, so it may be cached forever.

    The page itself is revalidated.
    """
    async with serve() as node:
        page = await node.get("/")
        assert page.headers["cache-control"] == "no-cache"
        base = page.body.decode().split("/static/")[1].split("/")[0]
        for name in ("favicon.svg",):
            file = await node.get(f"/static/{base}/{name}")
            assert (file.status, file.headers["content-type"]) == (
                200,
                "image/svg+xml; charset=utf-8",
            )
            assert file.headers["cache-control"] == "public, max-age=31536000, immutable"
        for target in (
            f"/static/{base}/../../server/app.py",
            f"/static/{base}/nothing.js",
            "/static/other/favicon.svg",
        ):
            assert (await node.get(target)).status == 404
        assert (await node.get("/favicon.ico")).headers["location"] == f"/static/{base}/favicon.svg"


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/nothing", 404), ("POST", "/livez", 405), ("DELETE", "/api/guest", 405),
        ("GET", "/api/guest", 405),
        ("HEAD", "/livez", 200), ("GET", "/%00", 404), ("GET", "/" + "x" * 7000, 404),
        ("GET", "/" + "x" * 9000, 400),
    ],
)  # fmt: skip
async def test_unknown_paths_and_methods_are_refused(method: str, target: str, status: int) -> None:
    """Unknown paths and methods get 404 and 405 with a code, as JSON; long paths get 400."""
    async with serve() as node, node.http() as http:
        http.writer.write(
            f"{method} {target} HTTP/1.1\r\nHost: {node.host}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = await http.read_to_end()
        assert int(answer.split()[1]) == status
        if status in (404, 405):
            assert b'{"code":"http.%d"' % status in answer


async def test_health() -> None:
    """/livez answers while the process lives; /readyz only while the store answers."""
    async with serve() as node:
        assert (await node.get("/livez")).status == 200
        assert (await node.get("/readyz")).json == {"status": "ok"}
        node.fake.store.fail("check")
        answer = await node.get("/readyz")
        assert (answer.status, answer.json["status"]) == (503, "not ready")
        assert (await node.get("/livez")).status == 200
        assert (await node.get("/readyz")).status == 200
