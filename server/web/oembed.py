"""The HTML that shows a match in another page, for programs that have its address (oEmbed 1.0)."""

import html
import re
from http import HTTPStatus

from aiohttp import web
from yarl import URL

from server.codes import Code
from server.ports import Ports
from server.web.answers import ApiError, json_answer, public_origin, query_number
from server.web.previews import GENERAL, match_preview

#: The size of a frame in CSS pixels, if it is not limited.
WIDTH, HEIGHT = 480, 640
#: The least size of a frame.
LEAST = 200
#: The longest address that is read, in characters.
MAX_URL = 2000
#: The path of a match, or of its frame.
MATCH_PATH = re.compile(r"/(?:embed/)?match/([A-Za-z0-9_-]{1,24})")
#: What an address may ask of its frame.
_KEPT = ("ply", "flip", "theme")


class Oembed:
    """The handler, documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    def routes(self) -> list[web.RouteDef]:
        """The route of the handler."""
        return [web.get("/api/oembed", self.oembed)]

    async def oembed(self, request: web.Request) -> web.Response:
        """Answers with the frame of a public match as oEmbed 1.0 (https://oembed.com) describes it.

        `?url=` is the address of a match on this server, or its path; `?maxwidth=` and
        `?maxheight=` limit the frame, and `?format=` may only be `json`. Pages of other origins may
        read the answer.
        """
        if request.query.get("format", "json") != "json":
            raise ApiError(HTTPStatus.NOT_IMPLEMENTED, Code.MESSAGE_MALFORMED, "format is json")
        width = min(WIDTH, query_number(request, "maxwidth", WIDTH, LEAST, 10**6))
        height = min(HEIGHT, query_number(request, "maxheight", HEIGHT, LEAST, 10**6))
        origin = public_origin(request, self._ports.settings.url)
        match_id, wanted = self._match_of(request, origin)
        preview = await match_preview(self._ports, match_id)
        if preview is GENERAL:
            raise ApiError(
                HTTPStatus.NOT_FOUND, Code.MATCH_UNKNOWN, "there is no public match at this address"
            )
        source = str(URL(f"{origin}/embed/match/{match_id}").with_query(wanted))
        frame = (
            f'<iframe src="{html.escape(source)}" width="{width}" height="{height}"'
            f' style="border:0;max-width:100%" title="{html.escape(preview.title)}"'
            ' loading="lazy"></iframe>'
        )
        answer = json_answer(
            {
                "version": "1.0", "type": "rich", "provider_name": "Plyroom",
                "provider_url": origin, "title": preview.title, "html": frame,
                "width": width, "height": height,
            }
        )  # fmt: skip
        answer.headers["Access-Control-Allow-Origin"] = "*"
        return answer

    def _match_of(self, request: web.Request, origin: str) -> tuple[str, dict[str, str]]:
        """The match of the wanted address, and what it asks of the frame. Raises ApiError."""
        text = request.query.get("url", "")
        try:
            url = URL(origin + text[:MAX_URL] if text.startswith("/") else text[:MAX_URL])
            found = MATCH_PATH.fullmatch(url.path)
            is_here = url.origin() == URL(origin).origin()
        except ValueError:
            found, is_here = None, False
        if found is None or not is_here:
            raise ApiError(
                HTTPStatus.NOT_FOUND, Code.MATCH_UNKNOWN,
                f"url is the address of a match on this server, as in {origin}/match/abc",
            )  # fmt: skip
        return found[1], {name: url.query[name][:8] for name in _KEPT if name in url.query}
