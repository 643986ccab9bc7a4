"""The browser client and server/web/pages.py have the same list of pages."""

import re

from server.web.pages import PAGES, client_folder

#: The path of an entry of PAGES in client/web/pages.js.
ROUTE = re.compile(r"^        /\^(.+)\$/,$", re.MULTILINE)


def test_client_and_server_have_the_same_pages() -> None:
    """Each path that the server answers with the shell matches exactly one page of the client's
    table, and vice versa, for ids up to the longest possible.
    """
    text = (client_folder() / "pages.js").read_text("utf-8")
    routes = [re.compile(pattern.replace(r"\/", "/")) for pattern in ROUTE.findall(text)]
    assert len(routes) == text.count("import(")
    for length, expected in ((1, 1), (24, 1), (25, 0)):
        for page in PAGES:
            address = re.sub(r"\{\w+\}", "a" * length, page)
            matching = [route for route in routes if route.fullmatch(address)]
            assert len(matching) == (1 if "{" not in page else expected), page
    for route in routes:
        addresses = [re.sub(r"\{\w+\}", "x-_9", page) for page in PAGES]
        assert [address for address in addresses if route.fullmatch(address)], route.pattern
