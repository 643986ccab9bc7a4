"""The modules of a folder, joined in one file, mean the same as before (server/web/bundles.py)."""

import pytest
from playwright.async_api import Browser, Route

from server.web.bundles import Bundles
from tests.support.browser import FILES, open_files

#: A client with every form of import and export that ours uses.
SOURCES = {
    "shell/app.js": """
import { log } from "./log.js";
import "../pages.js";
log("app");
export class App { #name = "app"; get name() { return this.#name; } }
""",
    "shell/log.js": """
import { add as plus, ONE } from "./numbers.js";
const lines = [];
export const log = (line) => lines.push(line);
export function read() { return [plus(ONE, 1), ...lines]; }
""",
    "shell/numbers.js": """
export const ONE = 1;
export function add(a, b) { return a + b; }
""",
    "pages.js": """
export const PAGES = [() => import("./pages/one/page.js"), () => import("./pages/two/page.js")];
""",
    "ui/part.js": """
import {
    log,
    read,
} from "../shell/log.js";
log("part");
export async function parts() { return read(); }
""",
    "pages/one/page.js": """
import { parts } from "../../ui/part.js";
import { log } from "../../shell/log.js";
log("one");
export class Page { parts() { return parts(); } help() { return import("./help.js"); } }
""",
    "pages/one/help.js": """
import { log } from "../../shell/log.js";
import { text } from "./text.js";
export function help() { log(text); }
""",
    "pages/one/text.js": 'export const text = "help";\n',
    "pages/two/page.js": """
import "../../ui/part.js";
export const two = 2;
""",
}
ENTRIES = ("shell/app.js", "pages/one/page.js", "pages/two/page.js")
USE = """async () => {
    const { $shell_app, $pages, $shell_log } = await import("/shell.js");
    const [one, two] = $pages.PAGES;
    const page = new (await one()).Page();
    (await page.help()).help();
    await two();
    return [new $shell_app.App().name, (await two()).two, await page.parts(), $shell_log.read()];
}"""


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_joined_modules_mean_the_same(chromium: Browser) -> None:
    """Modules in bundles and those that are loaded later share each module once, in its order."""
    files = Bundles(SOURCES, ENTRIES).files()
    assert files.keys() == {
        "shell.js", "ui.js", "pages/one.js", "pages/two.js", "pages/one/help.js",
        "pages/one/text.js",
    }  # fmt: skip

    async def serve(route: Route) -> None:
        text = files.get(route.request.url.removeprefix(f"{FILES}/"))
        content_type = "text/html" if text is None else "text/javascript"
        await route.fulfill(body=text or "", content_type=content_type)

    async with open_files(chromium) as page:
        await page.route(f"{FILES}/**", serve)
        logged = [2, "app", "part", "one", "help"]
        assert await page.evaluate(USE) == ["app", 2, logged, logged]


def test_a_page_needs_the_bundles_of_its_imports() -> None:
    bundles = Bundles(SOURCES, ENTRIES)
    assert bundles.needed_by("shell/app.js", "pages/two/page.js") == (
        "shell.js", "pages/two.js", "ui.js"
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "export default 1;",
        "const a = 1;\nexport { a };",
        'export * from "./b.js";',
        'import * as b from "./b.js";',
        "export let a = 1;",
        "const a = import.meta.url;",
        'import { a } from "./a.js";',
        'import "./b.js";',
    ],
)
def test_what_a_bundle_cannot_express_is_refused(text: str) -> None:
    """Other forms of import and export, and imports in a circle, are an error at the start."""
    with pytest.raises(ValueError):
        Bundles({"a.js": text, "b.js": 'import "./a.js";'}, ["a.js"]).files()
