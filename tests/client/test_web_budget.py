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
PAGE_BYTES = 70_000
#: Files of the shell besides its modules.
SHELL_FILES = ("index.html", "shell/theme-early.js", "shell/base.css", "favicon.svg")


def gzip_bytes(names: Iterable[str]) -> int:
    """The size of these files with gzip."""
    return sum(len(gzip.compress(CLIENT.contents[name], 9)) for name in names)


def test_the_shell_is_small() -> None:
    """The shell takes at most 25 kB, compressed."""
    assert gzip_bytes([*SHELL_FILES, bundle_of(APP)]) <= SHELL_BYTES


@pytest.mark.parametrize("page", CLIENT.pages, ids=lambda page: page.path)
def test_the_first_load_of_a_page_is_small(page: ClientPage) -> None:
    """The first load of any page takes at most 70 kB, compressed."""
    assert bundle_of(APP) in page.bundles
    names = {*SHELL_FILES, *page.bundles, *page.style_sheets}
    assert gzip_bytes(names) <= PAGE_BYTES
