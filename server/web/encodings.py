"""Bodies of responses in the encodings that browsers accept: brotli, gzip, or as they are.

The encodings of the client's files are made once for each version and stored in the cache folder.
Requests with a compressed body are refused elsewhere (`server.web.connection`).
"""

import gzip
import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import brotli
import msgspec
from aiohttp import web
from msgspec import Struct

#: Versions of the client whose encodings stay on disk, including the one in use.
KEPT_VERSIONS = 3
#: The length of the digest before what is stored, in bytes.
_DIGEST_BYTES = 32
#: brotli's best quality: the work is done once for each version.
_BEST = 11
#: brotli's quality for a body that is made while a client waits.
_FAST = 5


class Encoded(Struct, frozen=True):
    """A body, and its encodings if they have been made.

    With a `tag`, a client that has this body already receives status 304 instead.
    """

    plain: bytes
    br: bytes | None = None
    gzip: bytes | None = None
    tag: str | None = None

    def best(self, accepted: str) -> tuple[bytes, str | None]:
        """The shortest form that an Accept-Encoding header allows, and its Content-Encoding."""
        allowed = _codings(accepted)
        forms: list[tuple[bytes, str | None]] = [(self.plain, None)]
        if self.gzip is not None and "gzip" in allowed:
            forms.append((self.gzip, "gzip"))
        if self.br is not None and "br" in allowed:
            forms.append((self.br, "br"))
        return min(forms, key=lambda form: len(form[0]))

    def response(self, request: web.Request, content_type: str, cache_control: str) -> web.Response:
        """The response with this body in an encoding that the client accepts."""
        headers = {"Cache-Control": cache_control, "Vary": "Accept-Encoding"}
        if self.tag is not None:
            headers["ETag"] = self.tag
            if self.tag in request.headers.get("If-None-Match", ""):
                return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        body, encoding = self.best(request.headers.get("Accept-Encoding", ""))
        response = web.Response(body=body, headers={**headers, "Content-Type": content_type})
        if encoding is not None:
            response.headers["Content-Encoding"] = encoding
        return response


def encode(body: bytes, quality: int = _FAST) -> Encoded:
    """A body with its encodings and its tag."""
    return Encoded(
        body,
        brotli.compress(body, quality=quality),
        gzip.compress(body, 9, mtime=0),
        tag_of(body),
    )


def tag_of(body: bytes) -> str:
    """A weak entity tag (RFC 9110, section 8.8.3): all encodings of a body have the same."""
    return f'W/"{hashlib.blake2b(body, digest_size=9).hexdigest()}"'


def encode_files(contents: Mapping[str, bytes], folder: Path, version: str) -> dict[str, Encoded]:
    """The files with their encodings, from the cache folder or made now and stored there.

    Takes about a second for a new version. What is stored has a digest before it: if it is damaged
    or is not of these files, it is made again. Raises OSError if the folder cannot be written.
    """
    path = folder / f"client-{version}.msgpack"
    with suppress(OSError, msgspec.DecodeError):
        stored = path.read_bytes()
        if stored[:_DIGEST_BYTES] == _digest(stored[_DIGEST_BYTES:]):
            kept = msgspec.msgpack.decode(stored[_DIGEST_BYTES:], type=dict[str, Encoded])
            if {name: each.plain for name, each in kept.items()} == contents:
                return kept
    encoded_files = {name: encode(content, _BEST) for name, content in contents.items()}
    folder.mkdir(parents=True, exist_ok=True)
    content = msgspec.msgpack.encode(encoded_files)
    _write(path, _digest(content) + content)
    _remove_old_versions(folder, path)
    return encoded_files


def accepts_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header allows gzip."""
    return "gzip" in _codings(accepted)


def _codings(accepted: str) -> set[str]:
    """The codings that an Accept-Encoding header allows (RFC 9110, section 12.5.3)."""
    codings = set()
    for item in accepted.lower().split(","):
        name, _, weight = item.partition(";")
        if weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            codings.add(name.strip())
    return codings


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _write(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _remove_old_versions(folder: Path, current: Path) -> None:
    others = [path for path in folder.glob("client-*.msgpack") if path != current]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[KEPT_VERSIONS - 1 :]:
        path.unlink(missing_ok=True)
