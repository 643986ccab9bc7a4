"""Parsing of addresses and links that people type."""

import pytest

from client.address import BadAddress, linked_ply, parse_address, parse_link


@pytest.mark.parametrize(
    ("text", "root", "websocket_url"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "ws://127.0.0.1:8000/ws"),
        ("http://host:8000/room/abc", "http://host:8000", "ws://host:8000/ws"),
        ("host:8000", "http://host:8000", "ws://host:8000/ws"),
        ("play.example.org", "http://play.example.org", "ws://play.example.org/ws"),
        ("https://play.example.org/", "https://play.example.org", "wss://play.example.org/ws"),
        ("ws://host:1/ws", "http://host:1", "ws://host:1/ws"),
        ("wss://host/ws", "https://host", "wss://host/ws"),
        ("http://[::1]:8000/", "http://[::1]:8000", "ws://[::1]:8000/ws"),
        (
            "https://spiele.MÜLLER.example:8443/room/abc",
            "https://spiele.xn--mller-kva.example:8443",
            "wss://spiele.xn--mller-kva.example:8443/ws",
        ),
        ("http://ann:secret@host:8000", "http://host:8000", "ws://host:8000/ws"),
        (" host:8000\n", "http://host:8000", "ws://host:8000/ws"),
        ("http:/host:8000", "http://host:8000", "ws://host:8000/ws"),
        ("https//host", "https://host", "wss://host/ws"),
        ("::1", "http://[::1]", "ws://[::1]/ws"),
        ("fd00::7", "http://[fd00::7]", "ws://[fd00::7]/ws"),
    ],
)
def test_an_address_may_be_written_in_many_forms(text: str, root: str, websocket_url: str) -> None:
    address = parse_address(text)
    assert (str(address), address.websocket_url) == (root, websocket_url)


@pytest.mark.parametrize(
    "text",
    [
        "", "http://", "ftp://host", "http://host:port", "http://host:99999", "http://[::1",
        "not an address !!", "http://a host/", "host!", "host:1:2",
    ],
)  # fmt: skip
def test_other_texts_are_refused_as_addresses(text: str) -> None:
    with pytest.raises(BadAddress):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "root", "expected_id"),
    [
        ("abc123", None, "abc123"),
        ("a-b_C", None, "a-b_C"),
        ("http://host:8000/room/abc", "http://host:8000", "abc"),
        ("http://host:8000/match/abc#12", "http://host:8000", "abc"),
        ("http://host:8000/match/abc?ply=3", "http://host:8000", "abc"),
        ("host:8000/room/abc/", "http://host:8000", "abc"),
        ("http://host:8000/room/abc).", "http://host:8000", "abc"),
        ("(http://host:8000/room/ABC)", "http://host:8000", "abc"),
        ("<http://[::1]:8000/room/abc>", "http://[::1]:8000", "abc"),
        ("http://host:8000/match/abc/?ply=3", "http://host:8000", "abc"),
        ("http://host:8000/room/abc%20", "http://host:8000", "abc"),
        ("'https://host/room/abc',", "https://host", "abc"),
        ("http://host/Room/Abc", "http://host", "abc"),
        ("Join me at http://host:8000/room/abc, now", "http://host:8000", "abc"),
        ("[my room](http://host:8000/room/abc)", "http://host:8000", "abc"),
        ("\u201chttp://host/room/abc\u201d", "http://host", "abc"),
        ("\u00abhost/room/abc\u00bb", "http://host", "abc"),
        ("http://host/room/abc\u2026", "http://host", "abc"),
        ("http://host/room/abc\u3002", "http://host", "abc"),
        ("\ufeffhttp://host/room/abc\u200b", "http://host", "abc"),
        ("\u200babc123\u200b", None, "abc123"),
        ("http:/host/room/abc", "http://host", "abc"),
        ("[::1]:8000/room/abc", "http://[::1]:8000", "abc"),
        ("[abc123]", None, "abc123"),
        (" abc123.\n", None, "abc123"),
        ("ABC123", None, "abc123"),
        ("Abc123", None, "abc123"),
    ],
)
def test_a_link_names_a_server_and_an_id(text: str, root: str | None, expected_id: str) -> None:
    address, parsed_id = parse_link(text)
    assert (str(address) if address else None, parsed_id) == (root, expected_id)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "http://host:8000",
        "http://host:8000/",
        "höhle",
        "x" * 65,
        ".",
        "http://host/).",
        "http://[::1/room/abc",
        "http://host:x/room/abc",
    ],
)
def test_other_texts_are_refused_as_links(text: str) -> None:
    with pytest.raises(BadAddress):
        parse_link(text)


@pytest.mark.parametrize(
    ("text", "is_local"),
    [
        ("127.0.0.1:1", True),
        ("localhost", True),
        ("[::1]:1", True),
        ("localhost.:1", True),
        ("host", False),
    ],
)
def test_only_this_machine_is_local(text: str, is_local: bool) -> None:
    assert parse_address(text).is_local == is_local


@pytest.mark.parametrize(
    ("text", "ply"),
    [
        ("http://host/match/abc?ply=12", 12),
        ("host/match/abc?ply=0", 0),
        ("http://host/match/abc", None),
        ("abc", None),
        ("http://host/match/abc?ply=12).", 12),
        ("http://host/match/abc?ply=3,", 3),
        ("Watch http://host/match/abc?ply=3 now", 3),
        ("(<http://host/match/abc?ply=12>, see)", 12),
        ("http:/host/match/abc?ply=4", 4),
    ]
    + [(f"http://host/match/abc?ply={wrong}", None) for wrong in ("x", "-1", "", "9999999", "٣")],
)
def test_a_match_link_may_name_a_ply(text: str, ply: int | None) -> None:
    assert linked_ply(text) == ply
