"""The names by which people reach a server, in Host headers and in the operator's settings."""

import html
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.address import is_local_host, parse_host
from server.net.listener import is_host_allowed, is_origin_allowed
from server.settings import SettingError, settings_from_env
from tests.support.node import serve

#: Hosts that need no setting.
REACHED = (
    "127.0.0.1", "192.168.1.7", "0.0.0.0", "169.254.1.1", "[::1]", "[FD00::7]", "[::ffff:10.0.0.1]",
    "[fe80::1%25eth0]", "[fe80::1%en0]", "localhost", "LOCALHOST", "localhost.", "ip6-localhost",
    "raspberrypi", "RaspberryPi", "raspberrypi.", "my_pi", "pi-4", "4pi", "x" * 63, "box", "lan",
    "plyroom.lan", "a.b.lan", "Plyroom.LAN.", "box.home.arpa", "a.box.home.arpa", "box.internal",
    "pi.local", "x.y.local", "pi.local.", "a.localhost", "fritz.box", "pi.fritz.box",
    "a.pi.Fritz.Box.", "xn--mller-kva.local", "my_pi.local",
)  # fmt: skip
#: Hosts that anybody may own, or that no browser sends.
REFUSED = (
    "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "pi.local.evil.example",
    "raspberrypi.evil.example", "fritz.box.evil.example", "evilfritz.box", "evil.box", "pi.box",
    "fritz.box.de", "evil.home.arpa.example", "home.arpa.evil", "evil-home.arpa", "arpa.home",
    "evil.arpa", "evillocal.example", "x.xlocal", "x.locall", "x.lan1", "internal.evil.example",
    "evil.internal.com", "xlan.evil", "x.home", "x.corp", "x.intranet", "nip.io",
    "192.168.1.7.nip.io", "play.example.org",
    # Malformed: empty labels, odd forms of IPv4 (browsers send four decimal numbers), and more.
    "", ".", "..", ".local", "a..local", "pi..", "pi.local..", "..lan", "127.1", "0x7f.1", "0x7f",
    "2130706433", "0177.0.0.1", "127.0.0.01", "127.0.0.1.", "1.2.3.4.5", "256.1.1.1", "a.0x",
    "[", "]", "[]", "[evil]", "[127.0.0.1]", "[::1", "::1", "[::1].evil", "[::1]x", "[::1%]",
    "[::1%a b]", "[::1]]", "@", "user@localhost", "evil.example@pi.local", "pi.local@evil.example",
    "localhost evil", " localhost", "localhost ", "local\thost", "localhost\n", "localhost,evil",
    "localhost/evil", "localhost\\evil", "localhost?", "localhost#a", "pi.local\x00", "*",
    "*.local",
    "a" * 64, "a" * 64 + ".local", ("a" * 63 + ".") * 4 + "local", "m\xfcller.local",
    "\udcff.local", "\uff4cocalhost", "pi\u3002local", "raspberrypi\u200b",
)  # fmt: skip
PORTS = ("", ":80", ":8000", ":65535", ":")
BAD_PORTS = (":65536", ":99999999", ":-1", ":x", ":80:80", ":٣", ":8 0", "::")


def test_hosts_that_need_no_setting() -> None:
    """Addresses, names without a dot and names of private networks are allowed, with any port."""
    assert [h for h in REACHED for port in PORTS if not is_host_allowed(h + port, ())] == []
    assert [h for h in REACHED for port in BAD_PORTS if is_host_allowed(h + port, ())] == []


def test_hosts_that_anybody_may_own() -> None:
    """All other names are refused, and so is what is no host."""
    assert [h for h in REFUSED for port in PORTS if is_host_allowed(h + port, ())] == []


def test_origins_agree_with_hosts() -> None:
    """A page may connect exactly where its host is allowed, and only to its own host and port."""
    for host in (*REACHED, *REFUSED):
        for scheme, default in (("http", ":80"), ("https", ":443")):
            for port in ("", default, ":8000"):
                origin = f"{scheme}://{host}{port}"
                is_allowed = is_host_allowed(host + port, ())
                assert is_origin_allowed(origin, host + port, ()) == is_allowed, origin
                assert is_origin_allowed(origin.upper(), host + port, ()) == is_allowed, origin
                # A browser leaves out the port that its scheme implies.
                same = port in ("", default)
                for other in ("", default):
                    assert is_origin_allowed(origin, host + other, ()) == (is_allowed and same)
                assert not is_origin_allowed(origin, f"{host}:8001", ())
                assert not is_origin_allowed(origin, "192.168.99.99" + port, ())


@given(st.text(max_size=30), st.sampled_from(["", ".local", ".fritz.box", ".evil.example"]))
def test_any_host_is_judged(text: str, end: str) -> None:
    """Any text is allowed or refused, never with an exception. What is allowed is a host that a
    browser sends, and stays allowed in the form in which the server reads it.
    """
    host = text + end
    if is_host_allowed(host, ()):
        parsed = parse_host(host)
        assert parsed is not None
        assert host.isascii()
        assert is_host_allowed(parsed.name, ())
        assert "." not in parsed.name or not parsed.name.endswith(".evil.example")
    is_local_host(host)


# --- over HTTP ------------------------------------------------------------------------------------


async def test_pages_and_sockets_agree() -> None:
    """Each page is there under an allowed host, and 421 under another; its socket opens or is
    refused likewise.
    """
    upgrade = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }  # fmt: skip
    hosts = ("raspberrypi:8000", "pi.fritz.box", "Box.Home.Arpa.", "evil.example", "evil.box:8000")
    async with serve() as node:
        for host in hosts:
            is_allowed = is_host_allowed(host, ())
            assert (await node.get("/", Host=host)).status == (200 if is_allowed else 421)
            async with node.http(host) as http:
                answer = await http.request("/ws", headers=upgrade | {"Origin": f"http://{host}"})
            assert answer.status == (101 if is_allowed else 403)
            async with node.http(host) as http:
                answer = await http.request(
                    "/api/guest", "POST", headers={"Origin": f"http://{host}"}
                )
            assert answer.status == (200 if is_allowed else 403)


async def test_the_machines_own_name_needs_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it has dots; no DNS is asked."""
    monkeypatch.setattr(socket, "gethostname", lambda: "Pi.Club.Example")
    for name in ("getfqdn", "gethostbyname", "gethostbyaddr"):
        monkeypatch.setattr(socket, name, None)
    async with serve() as node:
        assert (await node.get("/", Host="pi.club.example:8000")).status == 200
        assert (await node.get("/", Host="club.example")).status == 421


@pytest.mark.parametrize(
    ("host", "shown", "setting"),
    [
        ("evil.example", "evil.example", "evil.example"),
        ("Evil.Example.:8000", "evil.example", "evil.example"),
        ("spiele.xn--mller-kva.example", "spiele.müller.example", "spiele.müller.example"),
        ("xn--a.example", "xn--a.example", "xn--a.example"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>", "play.example.org"),
        ('"&\'', '"&\'', "play.example.org"), ("127.1", "127.1", "play.example.org"),
        ("\xff\xfe.example", "\\udcff\\udcfe.example", "play.example.org"),
        ("a" * 2000, "a" * 253, "play.example.org"), ("", "", "play.example.org"),
    ],
)  # fmt: skip
async def test_an_unknown_name_is_answered_with_the_setting(
    host: str, shown: str, setting: str
) -> None:
    """The 421 says the name as the visitor wrote it, and which setting allows it: in HTML for a
    browser, in plain text for a program. The setting works.
    """
    async with serve() as node:
        page = await node.get("/room/abc", Host=host, Accept="text/html,*/*;q=0.8")
        text = await node.get("/room/abc", Host=host)
    assert (page.status, text.status) == (421, 421)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert f"does not have the name {html.escape(shown)}</h1>" in page.body.decode()
    assert f"<code>PLYROOM_NAMES={html.escape(setting)}</code>" in page.body.decode()
    assert text.headers["content-type"].startswith("text/plain")
    assert f"does not have the name {shown}.\n" in text.body.decode()
    assert f"    PLYROOM_NAMES={setting}\n" in text.body.decode()
    names = settings_from_env({"PLYROOM_NAMES": setting}).names
    assert is_host_allowed(host, names) == (setting != "play.example.org")


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()), (" , ,", ()), ("play.example.org", ("play.example.org",)),
        ("Play.Example.ORG.", ("play.example.org",)),
        ("play.example.org:8000", ("play.example.org",)),
        ("https://play.example.org/", ("play.example.org",)),
        ("HTTP://play.example.org:8000", ("play.example.org",)),
        ("a.example, b.example,", ("a.example", "b.example")),
        ("a.example b.example\n;c.example", ("a.example", "b.example", "c.example")),
        ("a.example,a.example", ("a.example",)), ("*.example.org", ("*.example.org",)),
        (".example.org", ("example.org", "*.example.org")),
        ("https://*.Example.org:8443/", ("*.example.org",)),
        ("spiele.müller.example", ("spiele.xn--mller-kva.example",)),
        ("SPIELE.MÜLLER.EXAMPLE", ("spiele.xn--mller-kva.example",)),
        ("*.müller.example", ("*.xn--mller-kva.example",)),
        ("straße.example:8000", ("xn--strae-oqa.example",)),
        ("例え.テスト", ("xn--r8jz45g.xn--zckzah",)),
        ("192.168.1.7:8000", ("192.168.1.7",)), ("[::1]:8000", ("[::1]",)),
        ("fd00::7", ("[fd00::7]",)),
        ("raspberrypi", ("raspberrypi",)), ("my_server.example", ("my_server.example",)),
    ],
)  # fmt: skip
def test_names_in_any_form(text: str, names: tuple[str, ...]) -> None:
    """PLYROOM_NAMES is what people write. Each name is one that the guard then allows."""
    found = settings_from_env({"PLYROOM_NAMES": text}).names
    assert found == names
    for name in found:
        assert is_host_allowed(name.replace("*", "any"), found)
        if name[-1].isalpha():
            assert is_host_allowed(f"{name.replace('*', 'a.b')}.:8000".upper(), found)


def test_a_pattern_has_the_names_below() -> None:
    """`*.example.org` allows the names below example.org, `.example.org` that name too."""
    for text, hosts in (
        ("*.example.org", ["a.example.org", "a.b.example.org"]),
        (".example.org", ["example.org", "a.example.org", "a.b.example.org"]),
    ):
        names = settings_from_env({"PLYROOM_NAMES": text}).names
        tried = [
            "example.org", "a.example.org", "a.b.example.org", "aexample.org", "example.org.evil",
            "*.example.org", ".example.org",
        ]  # fmt: skip
        assert [host for host in tried if is_host_allowed(host, names)] == hosts


@pytest.mark.parametrize(
    "text",
    [
        "*", "*.", ".", "..", "a..b", "*.*.example", "play.*.org", "pl*y.org", "http://", "https:///",
        "example.org/plyroom", "https://example.org/a/", "ftp://a.example", "user@a.example",
        "a.example:x", "a.example:99999", "127.1", "0x7f.1", "2130706433", "[::1", "[evil]",
        "a" * 64 + ".example", "*.127.0.0.1", "a.example?x", '"a.example"', "ab--\u0000.example",
        "a.example;https://b.example/p",
    ],
)  # fmt: skip
def test_a_name_that_never_matches_is_refused(text: str) -> None:
    """The error is one line, and names the setting and what was expected."""
    with pytest.raises(SettingError, match=r"PLYROOM_NAMES is .*expected") as refused:
        settings_from_env({"PLYROOM_NAMES": text})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "url", "name"),
    [
        ("https://Play.example.org/", "https://Play.example.org", "play.example.org"),
        ("HTTPS://play.example.org//", "https://play.example.org", "play.example.org"),
        (" http://192.168.1.7:8000 ", "http://192.168.1.7:8000", "192.168.1.7"),
        ("http://raspberrypi:8000", "http://raspberrypi:8000", "raspberrypi"),
        ("https://play.example.org.", "https://play.example.org.", "play.example.org"),
        ("https://play.example.org:", "https://play.example.org", "play.example.org"),
        ("http://[FD00::7]:8000/", "http://[FD00::7]:8000", "[fd00::7]"),
        ("https://spiele.müller.example", "https://spiele.xn--mller-kva.example",
         "spiele.xn--mller-kva.example"),
        ("https://spiele.MÜLLER.example:8443/", "https://spiele.xn--mller-kva.example:8443",
         "spiele.xn--mller-kva.example"),
    ],
)  # fmt: skip
async def test_an_address_in_any_form(text: str, url: str, name: str) -> None:
    """PLYROOM_URL is a scheme, a host and perhaps a port. Invitations contain it, and browsers may
    use its host.
    """
    settings = settings_from_env({"PLYROOM_URL": text, "PLYROOM_NAMES": "a.example"})
    assert (settings.url, settings.names) == (url, ("a.example", name))
    assert is_host_allowed(url.partition("://")[2], settings.names)
    assert is_origin_allowed(url, url.partition("://")[2].lower(), settings.names)
    async with serve(url=settings.url, names=settings.names) as node:
        answer = await node.get("/api/links/room/abc", Host="localhost")
        assert answer.json == {"links": [f"{url}/room/abc"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "not an address") for text in (
            "play.example.org", "play.example.org:8000", "//play.example.org", "ftp://a", "https://",
            "https://u@a", "http://[", "http://a:x", "http://a:0", "http://a:70000", "http://0.0.0.0:8000",
            "http://[::]", "https://*.example.org", "https://a b", "https://a,https://b", "http://127.1",
            "https://a..b", '"https://play.example.org"', "https://a\\b",
            "https://" + "a" * 64 + ".example",
        )),
        ("https://a/b", "a path"), ("https://example.org/plyroom/", "a path"),
        ("https://müller.example/plyroom", "a path"),
        ("https://a?x", "more than"), ("https://a#x", "more than"),
    ],
)  # fmt: skip
def test_an_address_that_never_works_is_refused(text: str, reason: str) -> None:
    """The error is one line, and says what was expected. A path prefix is refused as such."""
    with pytest.raises(SettingError, match=rf"PLYROOM_URL is .*{reason}.*expected") as refused:
        settings_from_env({"PLYROOM_URL": text})
    assert "\n" not in str(refused.value)


def test_an_empty_setting_is_none() -> None:
    """Docker Compose passes an empty text for a variable that is not set."""
    for text in ("", " "):
        settings = settings_from_env({"PLYROOM_URL": text, "PLYROOM_NAMES": text})
        assert (settings.url, settings.names) == ("", ())


@pytest.fixture(autouse=True)
def a_machine_without_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the machine on which the tests run does not count."""
    monkeypatch.setattr(socket, "gethostname", lambda: "machine")
