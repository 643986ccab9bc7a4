"""The browser client: an HTML page for each address, and the files under versioned paths."""

import asyncio
import gzip
import html
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

from server.address import parse_host
from server.net.listener import is_host_allowed
from server.ports import Ports
from server.process.network import browser_names
from server.web.answers import public_origin
from server.web.bundles import bundle_of
from server.web.client_files import APP, MIME, ClientPage, read_client
from server.web.encodings import Encoded, encode_files
from server.web.headers import EMBED_HEADERS
from server.web.previews import (
    GENERAL,
    MISSING,
    PAGE_PREVIEWS,
    Preview,
    lesson_preview,
    match_preview,
    room_preview,
)

log = structlog.get_logger()

#: What the server sends under an unknown host name to programs; browsers get a page.
UNKNOWN_NAME = """This Plyroom does not have the name {host}.

Open it by its IP address, by a name without a dot, or by one that ends in .local, .lan, .home.arpa
or .internal. If you run it, and this is its name, start it with this setting:

    {setting}

(Otherwise any page on the web could pretend to be a page of this server: DNS rebinding.)
"""
#: The longest host that is shown, in characters.
MAX_SHOWN_HOST = 253

#: What a frame says in place of a match.
NO_PUBLIC_MATCH = "There is no match here that a page may show: it is unlisted, or does not exist."

#: Cache-Control of a file whose path changes with its content.
IMMUTABLE = "public, max-age=31536000, immutable"
#: The id in a page's path, as the client's table and as aiohttp's routes write it.
_CLIENT_ID, _ROUTE_ID = r"([\w-]{1,24})", "{id:[A-Za-z0-9_-]{1,24}}"
#: Prefixes of addresses for programs: a missing one is answered in JSON, not with a page.
_NOT_PAGES = ("/api/", "/static/", "/ws")

#: The file of the shell's modules. On a slow line it should arrive before those of the page: it
#: registers the guest and opens the socket, which takes three more answers.
SHELL = bundle_of(APP)

Previews = Callable[[Ports, str], Awaitable[Preview]]
#: The previews of pages with an id, by the first part of their path.
PREVIEWS: dict[str, Previews] = {
    "room": room_preview,
    "match": match_preview,
    "learn": lesson_preview,
}


class Pages:
    """Serves the client's pages and files."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        self._ports = ports
        self._names = browser_names(ports.settings.names)
        self._client = read_client(folder)
        self._encoded = {name: Encoded(body) for name, body in self._client.contents.items()}
        self.base = f"/static/{self._client.version}"
        self._html = self._client.contents.get("index.html", b"").decode()
        self._unknown_name_html = self._client.contents.get("unknown-name.html", b"").decode()
        frames = [f"/embed/{what}/{_CLIENT_ID}" for what in ("learn", "match")]
        paths = [*(page.path for page in self._client.pages), *frames]
        self._page_paths = [re.compile(path, re.ASCII) for path in paths]
        self._embed_html = self._client.contents.get("embed/index.html", b"").decode()

    async def encode_files(self, cache_folder: Callable[[], Path]) -> None:
        """Makes or loads the compressed files in a thread; until then they are sent as they are."""
        client = self._client
        try:
            self._encoded = await asyncio.to_thread(
                lambda: encode_files(client.contents, cache_folder() / "client", client.version)
            )
        except OSError as error:
            log.warning("client files are sent uncompressed", error=str(error))

    def routes(self) -> list[web.RouteDef]:
        """The routes: an HTML page at each page's path, and the files under a versioned prefix."""
        return [
            *(web.get(route_path(page), self._page_handler(page)) for page in self._client.pages),
            web.get(f"/embed/learn/{_ROUTE_ID}", self.embedded_lesson),
            web.get(f"/embed/match/{_ROUTE_ID}", self.embedded_match),
            web.get("/favicon.ico", self.favicon),
            web.get(self.base + "/{name:.+}", self.file),
        ]

    def _page_handler(self, page: ClientPage) -> Handler:
        """The handler of a page's path."""
        preview_of = PREVIEWS.get(page.path.split("/")[1])
        general = PAGE_PREVIEWS.get(page.path, GENERAL)

        async def handle(request: web.Request) -> web.Response:
            page_id = request.match_info.get("id")
            preview = general
            if preview_of is not None and page_id is not None:
                preview = await preview_of(self._ports, page_id)
            status = HTTPStatus.NOT_FOUND if preview is MISSING else HTTPStatus.OK
            links = preload_links(self.base, page, preview.parts, is_guess=preview is GENERAL)
            if preview_of is match_preview and preview is not general:
                origin = public_origin(request, self._ports.settings.url)
                links += oembed_link(f"{origin}/match/{page_id}", origin, preview.title)
            return self._answer(request, preview, links, status)

        return handle

    @web.middleware
    async def answer_missing_page(
        self, request: web.Request, handler: Handler
    ) -> web.StreamResponse:
        """The middleware that answers a browser at an unknown address with a page, and leads a link
        that was changed on its way (`page_path`) to its page.
        """
        path = request.rel_url.raw_path
        if request.method in ("GET", "HEAD") and not path.startswith(_NOT_PAGES):
            meant = page_path(request.path)
            if meant not in (None, path) and any(
                page.fullmatch(meant) for page in self._page_paths
            ):
                query = request.rel_url.raw_query_string
                location = f"{meant}?{query}" if query else meant
                raise web.HTTPFound(location, headers={"Cache-Control": "no-cache"})
        try:
            return await handler(request)
        except web.HTTPNotFound:
            if not accepts_html(request) or request.path.startswith(_NOT_PAGES):
                raise
        return self._answer(request, MISSING, "", HTTPStatus.NOT_FOUND)

    def _answer(
        self,
        request: web.Request,
        preview: Preview,
        needed_files: str,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> web.Response:
        """The HTML page with a preview and the links to the files that the page needs.

        Under an unknown host name, explains why the client could not connect.
        """
        host = request.headers.get("Host", "")
        if not is_host_allowed(host, self._names):
            return self._refuse_name(request, host)
        origin = public_origin(request, self._ports.settings.url)
        text = fill(
            self._html,
            base=self.base,
            origin=origin,
            path=request.path,
            title=preview.title,
            text=preview.text,
        ).replace("<!-- needed files -->", needed_files)
        response = _encoded_page(text).response(request, "text/html; charset=utf-8", "no-cache")
        response.set_status(status)
        return response

    def _refuse_name(self, request: web.Request, host: str) -> web.Response:
        """The answer under an unknown host name: which setting allows it."""
        parsed = parse_host(host)
        name = written_name(parsed.name if parsed is not None else host)
        setting = f"PLYROOM_NAMES={name if parsed is not None else 'play.example.org'}"
        # 421 (RFC 9110, section 15.5.20): the server is not configured for that authority.
        status = HTTPStatus.MISDIRECTED_REQUEST
        if not accepts_html(request):
            return web.Response(status=status, text=UNKNOWN_NAME.format(host=name, setting=setting))
        text = fill(self._unknown_name_html, base=self.base, host=name, setting=setting)
        return web.Response(status=status, text=text, content_type="text/html")

    async def embedded_lesson(self, request: web.Request) -> web.Response:
        """Answers with a lesson for a frame of another page: it sets no cookie, opens no socket."""
        preview = await lesson_preview(self._ports, request.match_info["id"])
        text = fill(
            self._embed_html, base=self.base, title=preview.title, noun="lesson", id="embed",
            text="Loading the lesson…", busy="true",
        )  # fmt: skip
        return self._frame(request, text, self._client.embed, is_found=preview is not MISSING)

    async def embedded_match(self, request: web.Request) -> web.Response:
        """The same for a match of a public room; a sentence for any other."""
        preview = await match_preview(self._ports, request.match_info["id"])
        is_found = preview is not GENERAL
        text = fill(
            self._embed_html, base=self.base, noun="match", id="match",
            title=preview.title if is_found else "No match is shown here",
            text="Loading the match…" if is_found else NO_PUBLIC_MATCH,
            busy="true" if is_found else "false",
        )  # fmt: skip
        return self._frame(request, text, self._client.embed_match, is_found=is_found)

    def _frame(
        self, request: web.Request, text: str, needed: ClientPage, *, is_found: bool
    ) -> web.Response:
        """A page for a frame of another page, with what it needs, and with 404 if it is not found:
        then it may still show why.
        """
        links = [
            f'<link rel="stylesheet" href="{self.base}/{name}" />' for name in needed.style_sheets
        ]
        if is_found or needed is self._client.embed:
            links += module_links(self.base, needed.bundles)
            entry = needed.bundles[0]
            links.append(f'<script type="module" src="{self.base}/{entry}"></script>')
        text = text.replace("<!-- needed files -->", "\n        ".join(links))
        response = _encoded_page(text).response(request, "text/html; charset=utf-8", "no-cache")
        response.headers.update(EMBED_HEADERS)
        if not is_found:
            response.set_status(HTTPStatus.NOT_FOUND)
        return response

    async def favicon(self, request: web.Request) -> web.StreamResponse:
        """Redirects to the icon: browsers request /favicon.ico on their own."""
        raise web.HTTPMovedPermanently(f"{self.base}/favicon.svg")

    async def file(self, request: web.Request) -> web.Response:
        """Answers with a file of the client."""
        name = request.match_info["name"]
        encoded = self._encoded.get(name)
        if encoded is None:
            raise web.HTTPNotFound(text=f"there is no file {name[:80]}\n")
        mime = MIME[PurePosixPath(name).suffix]
        return encoded.response(request, f"{mime}; charset=utf-8", IMMUTABLE)


def accepts_html(request: web.Request) -> bool:
    """Whether the client is a browser that opens a page."""
    return "text/html" in request.headers.get("Accept", "")


#: A part of a path, with what stands around it in a text: a word of letters and digits, with _ and
#: - inside, between other characters; or nothing but these. A text may go on after a space.
_PART = re.compile(
    r"[\W_]*(?:([A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)[\W_]*)?(?:\s.*)?", re.DOTALL
)
#: Control characters that no text has which people copy.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
#: Other paths of the lobby.
_LOBBY = ("/lobby", "/index.html")


def page_path(path: str) -> str | None:
    """The path that a link meant, which people have copied with something around it: `/room/abc`
    for `/Room/ABC/`, `//room/abc).` or `/room/abc, come!`. None for a path without such a form.

    Names of pages and ids have lower-case letters, and a letter or digit at both ends.
    """
    if path.lower() in _LOBBY:
        return "/"
    parts = [_PART.fullmatch(part) for part in path.split("/")]
    if _CONTROL.search(path) or None in parts:
        return None
    meant = "/" + "/".join(part[1].lower() for part in parts if part is not None and part[1])
    return "/" if meant in _LOBBY else meant


def written_name(name: str) -> str:
    """A host's name as people write it, with the letters of their language, for a page."""
    shown = name[:MAX_SHOWN_HOST].encode("utf-8", "backslashreplace").decode()
    if "xn--" not in shown:
        return shown
    try:
        return URL.build(scheme="http", host=shown).host or shown
    except ValueError:
        return shown


def route_path(page: ClientPage) -> str:
    """The path of a page in the form of aiohttp's routes."""
    return page.path.replace(_CLIENT_ID, _ROUTE_ID)


def preload_links(
    base: str, page: ClientPage, parts: tuple[str, ...] = (), *, is_guess: bool = False
) -> str:
    """The HTML that makes a browser load a page's files at once, not one after another.

    `parts` names the parts of the page that are likely needed; names of other pages' parts are
    ignored.
    """
    known = [page.parts[name] for name in parts if name in page.parts]
    modules = [*page.bundles, *(name for part in known for name in part.modules)]
    sheets = dict.fromkeys(page.style_sheets, "preload")
    rel = "prefetch" if is_guess else "preload"  # browsers warn of a preload that nobody uses
    for part in known:
        for sheet in part.style_sheets:
            sheets.setdefault(sheet, rel)
    style_sheets = [
        f'<link rel="{rel}" as="style" href="{base}/{name}" />' for name, rel in sheets.items()
    ]
    # With `crossorigin` a preload is taken by fetch(), whose requests are of the mode "cors".
    requests = [
        f'<link rel="preload" as="fetch" crossorigin="anonymous" href="{path}" />'
        for path in page.requests
    ]
    # A page with parts shows nothing before the socket's answers: main.js makes a rel of data-rel.
    attribute = "data-rel" if page.parts else "rel"
    others = [name for name in dict.fromkeys(modules) if name != SHELL]
    links = [*module_links(base, [SHELL]), *module_links(base, others, attribute)]
    return "\n        ".join([*links, *style_sheets, *requests])


def oembed_link(url: str, origin: str, title: str) -> str:
    """The HTML by which programs find the frame of a match that somebody has linked (oEmbed)."""
    href = html.escape(f"{origin}/api/oembed?url={quote(url, safe='')}")
    return (
        '\n        <link rel="alternate" type="application/json+oembed"'
        f' href="{href}" title="{html.escape(title)}" />'
    )


def module_links(base: str, names: Iterable[str], attribute: str = "rel") -> list[str]:
    """The HTML that makes a browser load these files of modules at once."""
    return [f'<link {attribute}="modulepreload" href="{base}/{name}" />' for name in names]


def fill(template: str, **values: str) -> str:
    """The template with each `{{name}}` replaced by that value, escaped for HTML."""
    return re.sub(r"\{\{(\w+)\}\}", lambda field: html.escape(values[field[1]]), template)


@lru_cache(64)
def _encoded_page(text: str) -> Encoded:
    body = text.encode()
    return Encoded(body, gzip=gzip.compress(body, 6, mtime=0))
