"""The browser client's files: one HTML shell, and the other files under versioned paths."""

import hashlib
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path

from aiohttp import web

from server.net.listener import is_host_allowed

#: MIME types by suffix. The machine's own table may be missing or wrong.
MIME = {
    ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml",
    ".json": "application/json", ".png": "image/png", ".webmanifest": "application/manifest+json",
    ".ico": "image/x-icon", ".txt": "text/plain",
}  # fmt: skip

#: The page that the server sends under an unknown host name.
UNKNOWN_NAME = """This Plyroom does not have the name {host}.

Open it by its IP address or a name that ends in .local; or start it with its name:

    PLYROOM_NAMES=play.example.org make run

(Otherwise any page on the web could pretend to be a page of this server: DNS rebinding.)
"""

#: The pages' paths; a test compares them with the table in client/web/pages.js.
PAGES = ("/", "/room/{room}", "/match/{match}", "/replays")
#: Cache-Control of a file whose path changes with its content.
IMMUTABLE = "public, max-age=31536000, immutable"


def client_folder() -> Path:
    """The folder of the browser client."""
    return Path(str(files("client"))) / "web"


class Pages:
    """Serves the client's files, which it reads once: a running server never mixes two versions."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self._names = names
        self._files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in MIME
        }
        content_hash = hashlib.blake2b(digest_size=6)
        for name, content in self._files.items():
            content_hash.update(name.encode() + b"\0" + content)
        self.base = f"/static/{content_hash.hexdigest()}"
        self._shell = self._files.get("index.html", b"").replace(b"{{base}}", self.base.encode())

    def routes(self) -> list[web.RouteDef]:
        """The routes: the shell at each page's path, and the files under a versioned prefix."""
        pages = [web.get(path, self.shell) for path in PAGES]
        return [
            *pages,
            web.get("/favicon.ico", self.favicon),
            web.get(self.base + "/{name:.+}", self.file),
        ]

    async def shell(self, request: web.Request) -> web.Response:
        """Answers with the HTML shell, the same for every page.

        Under an unknown host name, explains why the client could not connect.
        """
        host = request.headers.get("Host", "")
        if not is_host_allowed(host, self._names):
            # 421 (RFC 9110, section 15.5.20): the server is not configured for that authority.
            return web.Response(
                status=HTTPStatus.MISDIRECTED_REQUEST, text=UNKNOWN_NAME.format(host=host[:100])
            )
        return web.Response(
            body=self._shell,
            content_type="text/html",
            charset="utf-8",
            headers={"Cache-Control": "no-cache"},
        )

    async def favicon(self, request: web.Request) -> web.StreamResponse:
        """Redirects to the icon: browsers request /favicon.ico on their own."""
        raise web.HTTPMovedPermanently(f"{self.base}/favicon.svg")

    async def file(self, request: web.Request) -> web.Response:
        """Answers with a file of the client."""
        name = request.match_info["name"]
        if name not in self._files:
            raise web.HTTPNotFound(text=f"there is no file {name[:80]}\n")
        return web.Response(
            body=self._files[name],
            content_type=MIME[Path(name).suffix],
            charset="utf-8",
            headers={"Cache-Control": IMMUTABLE},
        )
