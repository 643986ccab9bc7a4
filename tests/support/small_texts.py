"""Texts of a page that are too small to read."""

from playwright.async_api import Page

#: The smallest size of a text, in CSS pixels.
LEAST_PX = 12
#: The visible texts of a page that are smaller than LEAST_PX on the screen, with their sizes. The
#: scale of a tree or a graph is its reader's choice. Pieces and thumbnails are pictures.
SMALL_TEXTS = """(least_px) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const unread = ".visually-hidden, .hidden-text, script, title, .piece, .thumbnail";
    const shown = { visibilityProperty: true, opacityProperty: true };
    const found = new Set();
    while (texts.nextNode()) {
        const { parentElement: element, data } = texts.currentNode;
        const text = data.trim().slice(0, 40);
        if (text === "" || element.closest(unread) || !element.checkVisibility(shown)) continue;
        const hasScale = element instanceof SVGGraphicsElement &&
            element.closest("glass-tree, .glass-picture") === null;
        const matrix = hasScale ? element.getScreenCTM() : null;
        const scale = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
        const size_px = parseFloat(getComputedStyle(element).fontSize) * scale;
        const place = `${element.tagName} ${element.getAttribute("class") ?? ""}`;
        if (size_px < least_px - 0.05) found.add(`${size_px.toFixed(1)} px: ${text} (${place})`);
    }
    return [...found];
}"""


async def small_texts(page: Page) -> list[str]:
    """Returns the visible texts that are smaller than LEAST_PX on the screen, with their sizes."""
    return list(await page.evaluate(SMALL_TEXTS, LEAST_PX))
