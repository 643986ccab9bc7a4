"""The pages: their addresses, their files in several encodings, and what a link to them shows."""

import gzip
import html
import re
from pathlib import Path

import brotli
import pytest

from server.web.client_files import ClientFiles, client_folder, shorten
from server.web.encodings import KEPT_VERSIONS, Encoded, encode, encode_files
from tests.support.node import Node, Response, Socket, serve

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
#: The path of an entry of PAGES in client/web/pages.js.
ROUTE = re.compile(r"^        /\^(.+)\$/,$", re.MULTILINE)
MISSING = "There is nothing here"
DECODERS = {"gzip": gzip.decompress, "br": brotli.decompress, None: bytes}


def text_of(page: Response) -> str:
    return page.body.decode()


def preview_of(page: Response) -> tuple[str, str]:
    """The title and the sentence that a link to the page shows."""
    found = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)"', text_of(page)))
    return html.unescape(found["title"]), html.unescape(found["description"])


async def test_the_server_has_the_pages_of_the_client_s_table() -> None:
    """Each path that matches the client's table is a page; every other address answers a browser
    with status 404 and a page that says so. Ids have up to 24 characters.
    """
    routes = ROUTE.findall((client_folder() / "pages.js").read_text("utf-8"))
    patterns = [re.compile(route.replace(r"\/", "/"), re.ASCII) for route in routes]
    ids = ("x", "a-z_9" * 4 + "abcd", "a" * 25, "a.b", "")
    paths = ["/", "/replays", "/replays.x", "/nothing", "/room", "/rooms/x", "/room/x/y"]
    paths += [f"/{kind}/{page_id}" for kind in ("room", "match") for page_id in ids]
    assert {page.path for page in ClientFiles(client_folder()).pages} == {
        pattern.pattern for pattern in patterns
    }
    async with serve() as node:
        for path in paths:
            is_page = any(pattern.fullmatch(path) for pattern in patterns)
            answer = await node.get(path, **BROWSER)
            assert answer.status == (200 if is_page else 404), path
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert (MISSING in text_of(answer)) is not is_page


#: What stands around the id of a room or a match in links as people copy them.
AROUND_AN_ID = (
    "ab2-c9/", "ab2-c9//", "ab2-c9.", "ab2-c9)", "ab2-c9).", "ab2-c9,", "ab2-c9]", "ab2-c9%3E",
    "ab2-c9;", "ab2-c9:", "ab2-c9!", "ab2-c9'", "ab2-c9%22", "ab2-c9*", "ab2-c9_", "ab2-c9-",
    "ab2-c9%20", "ab2-c9%0A", "ab2-c9%C2%A0", "ab2-c9%E2%80%9D", "ab2-c9%E2%80%8B",
    "ab2-c9%EF%BC%89", "ab2-c9,%20come%20at%208!", "AB2-C9", "Ab2-c9", "AB2-C9/).", "%20ab2-c9",
    "%3Cab2-c9%3E", "_ab2-c9_", "./ab2-c9", "/ab2-c9",
)  # fmt: skip
#: Other paths, and the pages that they mean.
MEANT = {
    "/Room/ab2-c9": "/room/ab2-c9", "//room/ab2-c9": "/room/ab2-c9",
    "/room%2Fab2-c9": "/room/ab2-c9", "/(match/ab2-c9)": "/match/ab2-c9", "/replays/": "/replays",
    "/REPLAYS.": "/replays", "/learn/": "/learn", "/Learn)": "/learn",
    "/LEARN/First-Cut/": "/learn/first-cut", "/glass/": "/glass", "//": "/", "/.": "/", "/)": "/",
    "/embed/learn/first-cut/": "/embed/learn/first-cut", "/%20": "/", "/lobby": "/",
    "/Lobby/": "/", "/index.html": "/", "/lobby).": "/",
}  # fmt: skip
#: Paths that mean no page: the API is strict, and no link leads to another site.
NO_PAGES = (
    "/api/games/", "/API/games", "/api/GAMES", "/Api/games", "//api/games", "/api/links/room/ab2)",
    "/livez/", "/Livez", "/static/", "/ws/", "/WS", "/nothing", "/nothing/", "/room", "/room/",
    "/room/)", "/room/a/b", "/room/a.b", "/room/a%00", "/%00", "/rooms/a", "/Rooms/A", "/match",
    "//evil.example", "//evil.example/room/a", "/%5Cevil.example", "/http://evil.example/",
    "/robots.txt", "/replays/a", "/embed/learn/", "/m%C3%BCller", "/room/%C3%A4b%20c",
    "/room/" + "A" * 25,
)  # fmt: skip


async def test_a_link_leads_where_it_meant_to() -> None:
    """A link that was copied with something around it, or in capitals, leads to its page and keeps
    what is asked of it. That page is no redirect itself.
    """
    meant_by = MEANT | {
        f"/{kind}/{around}": f"/{kind}/ab2-c9"
        for kind in ("room", "match")
        for around in AROUND_AN_ID
    }
    async with serve() as node, node.http() as http:
        for path, meant in meant_by.items():
            for query in ("", "?ply=3&x=a%20b"):
                answer = await http.request(path + query)
                location = answer.headers.get("location")
                assert (answer.status, location) == (302, meant + query), path
        for meant in set(meant_by.values()):
            assert (await http.request(meant)).status in (200, 404), meant


async def test_no_other_address_is_redirected() -> None:
    """It is missing, and so is a page for a request that would change something."""
    async with serve() as node, node.http() as http:
        for path in NO_PAGES:
            answer = await http.request(path)
            assert (answer.status, answer.headers.get("location")) == (404, None), path
        assert (await http.request("/replays/", "POST")).status == 404


@pytest.mark.parametrize("target", ["/api/nothing", "/static/nothing.js", "/ws/nothing"])
async def test_addresses_for_programs_get_no_page(target: str) -> None:
    """A missing address of the API, of files or of the socket is answered in JSON."""
    async with serve() as node:
        answer = await node.get(target, **BROWSER)
        assert (answer.status, answer.json["code"]) == (404, "http.404")


async def test_a_page_names_all_files_that_it_needs() -> None:
    """The HTML links to the page's own modules and style sheets, which exist, and to no others."""
    async with serve() as node:
        page = text_of(await node.get("/replays", **BROWSER))
        linked = re.findall(r'"(/static/[^"]+)"', page)
        assert [name for name in linked if name.endswith("/pages/replays.js")]
        assert [name for name in linked if name.endswith("/ui/matches/matches.css")]
        assert not [name for name in linked if "/pages/lobby" in name or "/board" in name]
        for name in linked:
            assert (await node.get(name)).status == 200, name


async def wait_for_encodings(node: Node, name: str) -> None:
    """Waits until the files have been compressed."""
    while "content-encoding" not in (await node.get(name, **{"Accept-Encoding": "br"})).headers:
        pass


async def test_files_are_sent_in_the_shortest_encoding_that_a_client_accepts() -> None:
    """Every form decodes to the same file, stays immutable, and caches tell the forms apart."""
    async with serve() as node:
        page = text_of(await node.get("/", **BROWSER))
        name = next(link for link in re.findall(r'"(/static/[^"]+)"', page) if "shell.js" in link)
        await wait_for_encodings(node, name)
        plain = await node.get(name)
        for accepted, encoding in (
            ("gzip, deflate, br", "br"),
            ("gzip, deflate", "gzip"),
            ("br;q=0, gzip;q=0.5", "gzip"),
            ("identity", None),
            ("", None),
        ):
            answer = await node.get(name, **{"Accept-Encoding": accepted})
            assert answer.headers.get("content-encoding") == encoding, accepted
            assert DECODERS[encoding](answer.body) == plain.body
            assert answer.headers["vary"] == "Accept-Encoding"
            assert "immutable" in answer.headers["cache-control"]


async def test_the_list_of_games_is_compressed() -> None:
    """The games with their rules arrive in a fraction of their size, and once for each version."""
    async with serve() as node:
        plain = await node.get("/api/games")
        for accepted in ("gzip", "br"):
            answer = await node.get("/api/games", **{"Accept-Encoding": accepted})
            assert answer.headers["content-encoding"] == accepted
            assert DECODERS[accepted](answer.body) == plain.body
            assert len(answer.body) < len(plain.body) / 2
            tag = answer.headers["etag"]
            assert (await node.get("/api/games", **{"If-None-Match": tag})).status == 304
            assert (await node.get("/api/games", **{"If-None-Match": 'W/"other"'})).status == 200


def test_stored_encodings_are_used_unless_damaged(tmp_path: Path) -> None:
    """A stored version is read again as it is. A damaged one is made again, and old ones go."""
    contents = {"a.js": b"let a = 1;\n" * 50, "b.css": b""}
    path = tmp_path / "client-v.msgpack"
    encoded = encode_files(contents, tmp_path, "v")
    assert encoded == {name: encode(body, 11) for name, body in contents.items()}
    written = path.stat().st_ino
    assert encode_files(contents, tmp_path, "v") == encoded
    assert path.stat().st_ino == written
    good = path.read_bytes()
    for damaged in (b"", good[:-3], good.replace(b"let a", b"let b")):
        path.write_bytes(damaged)
        assert encode_files(contents, tmp_path, "v") == encoded
        assert path.read_bytes() == good
    for position in range(0, len(good), 29):
        path.write_bytes(good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :])
        read = encode_files(contents, tmp_path, "v")
        for name, body in contents.items():
            assert read[name].plain == body, position
            for encoding in ("br", "gzip"):
                form, used = read[name].best(encoding)
                assert DECODERS[used](form) == body, position
    for version in "wxyz":
        encode_files(contents, tmp_path, version)
    assert len(list(tmp_path.iterdir())) == KEPT_VERSIONS


def test_a_body_that_encodings_make_longer_is_sent_as_it_is() -> None:
    assert encode(b"{}").best("br, gzip") == (b"{}", None)
    assert Encoded(b"{}").best("br, gzip") == (b"{}", None)


def test_only_comments_casts_and_indentation_are_left_out() -> None:
    """A shortened file has the lines of its source in their order, without those of comments and
    without JSDoc casts. No text in backquotes takes several lines, so no line that is shortened is
    text.
    """
    for path in [*client_folder().rglob("*.js"), *client_folder().rglob("*.css")]:
        source = path.read_text("utf-8")
        left = iter(shorten(source).split("\n"))
        line = next(left)
        for full_line in re.sub(r"/\*\* @type \{.*?\} \*/ ?", "", source).split("\n"):
            if full_line.strip() == line:
                line = next(left, "")
            elif path.suffix == ".js":
                is_comment = full_line.strip().startswith(("/*", "*", "//"))
                assert is_comment or not full_line.strip(), (path, full_line)
        assert line == "", path
        if path.suffix == ".js":
            assert not [line for line in source.splitlines() if line.count("`") % 2], path


@pytest.mark.parametrize(
    "text",
    [
        "let a = 1; // kept",
        "f(); /* kept */",
        'let a = "/** @type */";',
        'let a = "/* b */";',
    ],
)
def test_a_comment_beside_code_stays(text: str) -> None:
    """Except a cast, which says nothing to a browser."""
    cast = "let a = /** @type {X} */ (b);\n/** @type {Record<string, {x: Y}>} */ (c).d();"
    assert shorten(cast) == "let a = (b);\n(c).d();"
    assert shorten(f"// gone\n\n    {text}\n/* gone\n * too */\n") == text


async def create(ada: Socket, visibility: str) -> str:
    ack = await ada.ack(
        "create", game="tic-tac-toe", visibility=visibility,
        seats=[{"who": "me"}, {"who": "open"}],
    )  # fmt: skip
    return str(ack["room"])


async def test_a_link_to_a_public_room_shows_the_game_and_the_players() -> None:
    """Before the match the host's invitation, then both names, then the same for the replay."""
    async with serve() as node, node.guest(name="Ada") as ada, node.guest(name='B"<b>') as bob:
        room = await create(ada, "public")
        address = f"/room/{room}"
        assert preview_of(await node.get(address))[0] == "Tic-tac-toe: Ada invites you"
        await bob.ack("join", room=room)
        await bob.ack("sit", room=room, seat=1)
        snapshot = await bob.expect("event", kind="started")
        page = await node.get(address)
        assert preview_of(page)[0] == 'Tic-tac-toe: Ada against B"<b>'
        assert "<b>" not in text_of(page)
        assert f'content="http://{node.host}{address}"' in text_of(page)
        match = await node.get(f"/match/{snapshot['match']}")
        assert preview_of(match)[0] == 'Tic-tac-toe: Ada against B"<b>'


async def test_a_link_shows_the_game_of_a_room_s_last_match() -> None:
    """A replay keeps the game of its match when the room goes on with another one."""
    async with serve() as node, node.guest(name="Ada") as ada, node.guest(name="Bob") as bob:
        room = await create(ada, "public")
        await bob.ack("join", room=room)
        await bob.ack("sit", room=room, seat=1)
        match = (await bob.expect("event", kind="started"))["match"]
        await bob.ack("abort", room=room)
        offered = await bob.ack("next_game", room=room, game="sticks", seats=[0, 1])
        await ada.ack("accept", room=room, what="next", v=offered["v"])
        assert preview_of(await node.get(f"/room/{room}"))[0] == "Sticks: Ada against Bob"
        assert preview_of(await node.get(f"/match/{match}"))[0] == "Tic-tac-toe: Ada against Bob"


async def test_a_name_from_right_to_left_does_not_turn_a_link_around() -> None:
    """The name of a player stands in an isolate, as in the pages' own titles."""
    omar = "\u0639\u0645\u0631"
    async with serve() as node, node.guest(name=omar) as guest:
        page = await node.get(f"/room/{await create(guest, 'public')}")
        assert preview_of(page)[0] == f"Tic-tac-toe: \u2068{omar}\u2069 invites you"


def linked_parts(page: Response) -> set[str]:
    """The files of parts of a room that the HTML links to, without their folder."""
    linked = re.findall(r'"/static/\w+/([^"]+)"', text_of(page))
    parts = (
        "invitation.js", "invitation.css", "thinking.js", "panel.css", "opponent.js", "form.js",
        "strategies.js",
    )  # fmt: skip
    return {name for name in linked if name.endswith(parts)}


async def test_a_room_s_page_names_the_parts_that_it_shows() -> None:
    """A public room with a free seat names the files of the invitation, one with an AI those of
    its thinking, and a match between two people none of these. They exist. Of an unlisted room
    nothing is told: it is taken to invite, and a browser need not use what it fetches ahead.
    """
    invitation = {"pages/room/invitation.js", "pages/room/invitation.css"}
    thinking = {"pages/room/thinking.js", "ui/thinking.js", "ui/thinking/panel.css"}
    async with serve() as node, node.guest(name="Ada") as ada, node.guest(name="Bob") as bob:
        room = await create(ada, "public")
        page = await node.get(f"/room/{room}")
        assert linked_parts(page) == invitation
        assert 'rel="prefetch"' not in text_of(page)
        hidden = await node.get(f"/room/{await create(ada, 'unlisted')}")
        assert linked_parts(hidden) == invitation
        assert text_of(hidden).count('rel="prefetch"') == 1
        await bob.ack("join", room=room)
        await bob.ack("sit", room=room, seat=1)
        await bob.expect("event", kind="started")
        assert linked_parts(await node.get(f"/room/{room}")) == set()
        room = await create(ada, "public")
        await ada.ack("add_ai", room=room, seat=1, level=1)
        page = await node.get(f"/room/{room}")
        assert linked_parts(page) == thinking
        for name in re.findall(r'"(/static/[^"]+)"', text_of(page)):
            assert (await node.get(name)).status == 200, name


async def test_a_link_to_an_unlisted_room_shows_nothing_of_it() -> None:
    """Its preview, that of its match, and the files that its page names equal those of a room that
    does not exist.
    """
    async with serve() as node, node.guest(name="Ada") as ada, node.guest(name="Bob") as bob:
        room = await create(ada, "unlisted")
        await bob.ack("join", room=room)
        await bob.ack("sit", room=room, seat=1)
        match = (await bob.expect("event", kind="started"))["match"]
        page = await node.get("/room/unknown")
        unknown = preview_of(page)
        unlisted = await node.get(f"/room/{room}")
        assert preview_of(unlisted) == unknown
        assert linked_parts(unlisted) == linked_parts(page)
        assert preview_of(await node.get(f"/match/{match}")) == unknown
        assert unknown == preview_of(await node.get("/"))


async def test_a_lesson_has_a_preview_and_an_unknown_one_is_missing() -> None:
    """A link to a lesson shows its title; the page of an unknown lesson has status 404."""
    async with serve() as node:
        lesson = await node.get("/learn/alpha-cut", **BROWSER)
        assert lesson.status == 200
        assert preview_of(lesson)[0] == "Alpha cut: a lesson"
        assert preview_of(await node.get("/learn", **BROWSER))[0].startswith("Learn how")
        for path in ("/learn/nothing", "/embed/learn/nothing"):
            missing = await node.get(path, **BROWSER)
            assert missing.status == 404
            assert MISSING in text_of(missing)


async def test_only_a_lesson_for_a_frame_may_be_framed() -> None:
    """The page for frames allows them and no form, and sets no cookie; all others refuse frames."""
    async with serve() as node:
        framed = await node.get("/embed/learn/alpha-cut", **BROWSER)
        policy = framed.headers["content-security-policy"]
        assert "frame-ancestors *" in policy
        assert "form-action 'none'" in policy
        assert "default-src 'self'" in policy
        assert "set-cookie" not in framed.headers
        assert framed.headers["x-content-type-options"] == "nosniff"
        linked = re.findall(r'(?:href|src)="(/static/[^"]+)"', text_of(framed))
        assert len(linked) > 5
        for path in linked:
            assert (await node.get(path)).status == 200
        for path in ("/learn/alpha-cut", "/embed/learn/", linked[0]):
            other = await node.get(path, **BROWSER)
            assert "frame-ancestors 'none'" in other.headers["content-security-policy"]


async def test_the_icon_and_the_manifest_exist() -> None:
    """The manifest's icons and those of the HTML page are images of the stated size."""
    async with serve() as node:
        page = text_of(await node.get("/"))
        manifest = await node.get(re.findall(r'rel="manifest" href="([^"]+)"', page)[0])
        assert manifest.headers["content-type"].startswith("application/manifest+json")
        base = page.split('rel="manifest" href="')[1].split("manifest.webmanifest")[0]
        for icon in manifest.json["icons"]:
            image = await node.get(base + icon["src"])
            assert image.headers["content-type"].startswith(icon["type"])
            if icon["type"] == "image/png":
                size = int.from_bytes(image.body[16:20]), int.from_bytes(image.body[20:24])
                assert "{}x{}".format(*size) == icon["sizes"]
