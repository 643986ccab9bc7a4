"""Runs the JavaScript tests of the browser client (tests/client/web) in Chromium."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.support.browser import FILES, open_files, watch_faults

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
FOLDER = Path(__file__).parent / "web"
#: Every JavaScript test: its file and its name.
TESTS = [
    (path.name, name)
    for path in sorted(FOLDER.glob("*_tests.js"))
    for name in re.findall(r'^test\(\s*"([^"]+)",', path.read_text("utf-8"), re.MULTILINE)
]
RUN = """async ([file, name]) => {
    await import(`/tests/client/web/${file}`);
    const { run } = await import("/tests/client/web/testing.js");
    await run(name);
}"""


class Units:
    """A page with the tests of one file at a time: they share the modules that they import, and
    each begins with an empty document (tests/client/web/testing.js).
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._faults = watch_faults(page)
        self._file = ""

    async def run(self, file: str, name: str) -> list[str]:
        """Runs a test, and returns the errors that the page reported meanwhile."""
        self._faults.clear()
        if self._file != file:
            await self._page.goto(f"{FILES}/blank")
            self._file = file
        await self._page.evaluate(RUN, [file, name])
        return list(self._faults)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def units(chromium: Browser) -> AsyncIterator[Units]:
    async with open_files(chromium, viewport={"width": 600, "height": 600}) as page:
        yield Units(page)


@pytest.mark.parametrize(("file", "name"), TESTS)
async def test_in_chromium(units: Units, file: str, name: str) -> None:
    """The JavaScript test passes, and the page reports no errors."""
    assert await units.run(file, name) == []
