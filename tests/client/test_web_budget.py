"""The browser client stays small: the bytes and the requests of a first load have limits."""

import gzip
from collections.abc import Iterable

import pytest

from server.web.bundles import bundle_of
from server.web.client_files import APP, ClientFiles, ClientPage, client_folder

CLIENT = ClientFiles(client_folder())
#: What every page loads, in bytes with gzip: browsers accept brotli over HTTPS only.
SHELL_BYTES = 25_000
#: What the first load of a page may take, the shell included, in bytes with gzip.
PAGE_BYTES = 68_200
#: The same for a room: without the parts that it does not show, and with those of one kind.
ROOM_BYTES = 63_000
ROOM_WITH_PART_BYTES = {
    "after": 65_300,
    "aiForm": 64_500,
    "chat": 67_300,
    "clock": 68_600,
    "invitation": 65_800,
    "oneScreen": 63_500,
    "opponent": 66_100,
    "thinking": 69_000,
}
#: What the first load of a match in a frame may take.
EMBED_MATCH_BYTES = 45_000
#: Files of the shell besides its modules.
SHELL_FILES = ("index.html", "shell/theme-early.js", "shell/base.css", "favicon.svg")


def gzip_bytes(names: Iterable[str]) -> int:
    """The size of these files with gzip."""
    return sum(len(gzip.compress(CLIENT.contents[name], 9)) for name in names)


def test_the_shell_is_small() -> None:
    """The shell takes at most 25 kB, compressed."""
    assert gzip_bytes([*SHELL_FILES, bundle_of(APP)]) <= SHELL_BYTES


def files_of(page: ClientPage) -> set[str]:
    """The files that every first load of a page takes."""
    return {*SHELL_FILES, *page.bundles, *page.style_sheets}


def test_a_match_in_a_frame_is_small() -> None:
    """The first load of a match in a frame of another page takes at most 45 kB, compressed."""
    page = CLIENT.embed_match
    files = {"embed/index.html", "favicon.svg", *page.bundles, *page.style_sheets}
    assert gzip_bytes(files) <= EMBED_MATCH_BYTES


@pytest.mark.parametrize("page", CLIENT.pages, ids=lambda page: page.path)
def test_the_first_load_of_a_page_is_small(page: ClientPage) -> None:
    """The first load of any page takes at most 68.2 kB, compressed."""
    assert bundle_of(APP) in page.bundles
    assert gzip_bytes(files_of(page)) <= PAGE_BYTES


def test_a_room_loads_only_the_parts_that_it_shows() -> None:
    """A match between two people begins with at most 63 kB, without the AI's thinking and the
    invitation; each part has a limit of its own.
    """
    (room,) = [page for page in CLIENT.pages if page.path.startswith("/room/")]
    files = files_of(room)
    assert gzip_bytes(files) <= ROOM_BYTES
    assert room.parts.keys() == ROOM_WITH_PART_BYTES.keys()
    for name, part in room.parts.items():
        needed = {*part.modules, *part.style_sheets}
        assert not needed & files, f"{name} is loaded with every room"
        assert gzip_bytes(files | needed) <= ROOM_WITH_PART_BYTES[name], name
