"""The HTTP API for links: the address of a page for people elsewhere, and its QR code."""

import asyncio
import re
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO

from aiohttp import web

from server.address import public_urls
from server.limits.by_address import LimitExceeded, RateLimit
from server.ports import Ports
from server.process.network import is_container, is_for_networks, shared_addresses
from server.settings import example_of_url
from server.web.answers import ORIGIN, ApiError, json_answer, too_many_requests

#: An id of a room or match as the browser's pages accept it.
PAGE_ID = re.compile(r"[\w-]{1,24}", re.ASCII)
#: Number of QR codes in memory, about 10 KB each.
CACHED_CODES = 256
#: Longest address in a QR code, in characters.
MAX_URL = 300
#: Cache-Control of a QR code: this machine may get another address.
CACHE = "private, max-age=300"
#: What to do where a page has no link, and the server runs in a container.
SET_URL = (
    "This address works on this computer only: the server runs in a container, and cannot know how"
    " others reach it. Its operator can set that address, as in {example}"
)


class Links:
    """The handlers, each documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._settings = settings = ports.settings
        self._is_container = is_container()
        #: A room has one code, and a new code takes milliseconds: the limit is that of new rooms.
        self._rate = RateLimit(
            "QR codes", settings.limit_rooms_per_minute, settings.limit_rooms_per_minute
        )

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/links/{page:glass|learn}", self.links),
            web.get("/api/links/{page:room|match|learn}/{id}", self.links),
            web.get("/api/links/{page:room|match}/{id}/qr.svg", self.qr_code),
        ]

    async def links(self, request: web.Request) -> web.Response:
        """Answers with `links`: the addresses of a page for other people, the most likely first.

        It is empty if only this machine can reach the server, or if the server runs in a container
        and cannot know how others reach it: then `advice` is a sentence for the person.
        """
        links = self._links(request)
        is_advised = not links and self._is_container and is_for_networks(self._settings.host)
        if not is_advised:
            return json_answer({"links": links})
        example = example_of_url(request.url.port or self._settings.port)
        return json_answer({"links": links, "advice": SET_URL.format(example=example)})

    async def qr_code(self, request: web.Request) -> web.Response:
        """Answers with a QR code of the first of the page's `links`, as SVG; 404 if it has none.

        An address may have as many a minute as it may create rooms.
        """
        links = self._links(request)
        if not links or len(links[0]) > MAX_URL:
            raise ApiError(HTTPStatus.NOT_FOUND, "http.404", "there is no address to share")
        try:
            self._rate.take(request[ORIGIN].address, self._ports.uptime_ms() / 1000)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit
        svg = draw_qr_code(links[0])
        await asyncio.sleep(0)  # a new code takes milliseconds: serve other requests
        return web.Response(
            body=svg, content_type="image/svg+xml", headers={"Cache-Control": CACHE}
        )

    def _links(self, request: web.Request) -> list[str]:
        """The addresses of the request's page for other people, the most likely first."""
        page, page_id = request.match_info["page"], request.match_info.get("id")
        if page_id is not None and not PAGE_ID.fullmatch(page_id):
            raise ApiError(HTTPStatus.NOT_FOUND, "http.404", f"there is no such {page}")
        path = page if page_id is None else f"{page}/{page_id}"
        settings = self._settings
        # The addresses of a container are those of a network inside its host.
        addresses = () if self._is_container else shared_addresses(settings.host)
        urls = public_urls(settings.url, request.host, request[ORIGIN].is_https, addresses)
        return [f"{url}/{path}" for url in urls]


@lru_cache(CACHED_CODES)
def draw_qr_code(text: str) -> bytes:
    """A QR code with a quiet zone of four modules, black on white, as an SVG of its own size."""
    import segno  # most servers of tests and programs never need it

    output = BytesIO()
    segno.make(text, error="m", micro=False).save(
        output, kind="svg", border=4, light="#fff", xmldecl=False, omitsize=True
    )
    return output.getvalue()
