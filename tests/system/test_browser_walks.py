"""Long walks through the lessons and the glass box, on each screen and by each kind of input.

A walk begins at the page of the lessons and uses only the mouse or only the keyboard. What it must
see comes from the founding texts (tests/support/lesson_figures.py), not from the teaching search.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from engine.teach.lessons.catalogue import LESSONS
from engine.teach.lessons.questions import Answer, QuizQuestion, lesson_quiz
from tests.support.browsers import DESKTOP, PHONE, people
from tests.support.hands import HANDS, Hand
from tests.support.lesson_figures import LESSON_FIGURES, SearchFigures
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, serving
from tests.system.test_browser_lessons import right_verdict
from tests.system.test_browser_pages import assert_fits, audit

pytestmark = [
    pytest.mark.long,
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize(
        ("screen", "scheme", "kind"),
        [
            pytest.param(screen, scheme, kind, id=f"{width}-{scheme}-{kind}")
            for width, screen in (("1280", DESKTOP), ("390", PHONE))
            for scheme in ("light", "dark")
            for kind in HANDS
        ],
    ),
]

#: Most nodes of a search of which every step is made; of a larger one, MAX_CUTS cut-offs are.
MAX_STEPPED = 300
MAX_CUTS = 20
#: Most shapes of a tree that is surely drawn as a whole.
MAX_WHOLE = 40
#: The time limit of the wait for the largest search, in ms: all that the server allows it.
SEARCH_MS = 240_000
#: The most nodes that the page shows (docs/how-to/glass-box.md).
MAX_NODES = 20_000
#: The step, the number of steps, the number of visited nodes and the sentence.
PLACE = """() => {
    const text = (selector) => document.querySelector(selector).textContent;
    const position = text(".glass-controls .position").replaceAll(",", "");
    const numbers = position.match(/\\d+/g).map(Number);
    const visited = text(".glass-counters dd").replaceAll(",", "");
    return [...numbers, Number(visited), text(".sentence")];
}"""
#: The moves to the drawn nodes that were visited, and to the skipped ones, in their order.
DRAWN = """() => {
    const moves = (selector) => [...document.querySelectorAll(`.runs glass-tree ${selector}`)]
        .map((node) => node.querySelector(".move-label")?.textContent ?? "");
    return [moves("g.node:not(.future)"), moves(".nodes > .skipped")];
}"""
#: The values in the drawn nodes by the moves to them, without relations: the first of each name.
VALUES = """() => Object.fromEntries([...document.querySelectorAll(".runs glass-tree g.node")]
    .reverse().map((node) => {
        const text = (name) => node.querySelector(name)?.textContent ?? "";
        const value = text(".value").replace(/^[≥≤~] /, "").replaceAll("\\u2212", "-");
        return [text(".move-label"), value];
    }))"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    data = tmp_path_factory.mktemp("walks") / "data"
    # The largest search takes most of the usual 5 s on a quiet machine, and more on a busy one.
    async with serving(data, study_s=60, **NO_RATE_LIMITS) as server:
        yield server


@pytest.mark.parametrize("name", LESSONS)
async def test_a_lesson_shows_what_the_texts_say(
    chromium: Browser,
    server: ServerProcess,
    screen: dict[str, Any],
    scheme: str,
    kind: str,
    name: str,
) -> None:
    """Each search of a lesson is stepped to its end, and there shows the stated nodes and values.

    A smaller one is made of single steps, each of which visits at most one node; a step back shows
    what was there before.
    """
    async with people(chromium, server.url, {**screen, "color_scheme": scheme}) as (ada,):
        page, hand = ada.page, HANDS[kind](ada.page)
        await open_lesson(page, hand, server.url, name)
        figures = LESSON_FIGURES[name]
        tabs = page.locator(".run-tabs button[aria-pressed]")
        for run, expected in enumerate(figures):
            if len(figures) > 1:
                await hand.press(tabs.nth(run))
            await expect(page.locator(".runs .glass-counters")).to_contain_text("Plain minimax")
            await hand.step("End: last step")
            await expect(page.locator(".runs .sentence")).to_contain_text("It visited")
            await walk(page, hand)
            await assert_shows(page, expected)
        await assert_fits(ada, in_height=False)
        assert await audit(page) == []


async def open_lesson(page: Page, hand: Hand, url: str, name: str) -> None:
    """Opens a lesson from its card, and the search that solves its exercise if it has one."""
    await page.goto(f"{url}/learn")
    await hand.press(page.locator(f".lesson-card[href='/learn/{name}']"))
    await expect(page.locator(".handout")).to_have_count(1)
    solution = page.get_by_role("button", name="Show the search step by step")
    if await solution.count():
        await hand.press(solution)


async def walk(page: Page, hand: Hand) -> None:
    """Steps through the shown search from its start to its end."""
    _, count, nodes, last = await page.evaluate(PLACE)
    await hand.step("Start: first step")
    step, _, visited, sentence = await page.evaluate(PLACE)
    assert (step, visited) == (0, 0)
    unit = "One step forward" if nodes <= MAX_STEPPED else "Next cut-off"
    made = 0
    while step < count and (nodes <= MAX_STEPPED or made < MAX_CUTS):
        before = (step, visited, sentence)
        await hand.step(unit)
        step, _, visited, sentence = await page.evaluate(PLACE)
        made += 1
        if nodes <= MAX_STEPPED:
            assert step == before[0] + 1
            assert visited - before[1] in (0, 1)
        else:
            assert step > before[0]
        assert sentence
    if step == count:
        await hand.step("One step back")
        assert (await page.evaluate(PLACE))[0] == count - 1
    await hand.step("End: last step")
    assert await page.evaluate(PLACE) == [count, count, nodes, last]


async def assert_shows(page: Page, expected: SearchFigures) -> None:
    """Asserts that the shown search, at its end, has the stated nodes, leaves and values."""
    nodes = (await page.evaluate(PLACE))[2]
    if expected.nodes is not None:
        assert nodes == expected.nodes
    counts = page.locator(".runs .glass-counters div")
    if expected.leaves is not None:
        leaves = counts.filter(has_text="Leaves").locator("dd").first
        await expect(leaves).to_have_text(f"{expected.leaves:,}")
    if expected.skipped:
        skipped = counts.filter(has_text="Skipped").locator("dd").first
        await expect(skipped).to_have_text(f"{len(expected.skipped):,}")
    if expected.visited is not None and nodes + len(expected.skipped or ()) <= MAX_WHOLE:
        await expect(page.locator(".runs glass-tree g.node:not(.future)")).to_have_count(nodes)
        visited, skipped_moves = await page.evaluate(DRAWN)
        assert visited == ["", *expected.visited]
        if expected.skipped is not None:
            assert expand(skipped_moves) == list(expected.skipped)
    drawn = await page.evaluate(VALUES)
    shown = {move: drawn[move] for move in expected.values}
    assert shown == {move: str(value) for move, value in expected.values.items()}


def expand(labels: list[str]) -> list[str]:
    """Returns the moves of the drawn cut-offs, one of which may stand for several."""
    return [move for label in labels for move in label.split(" ")]


@pytest.mark.parametrize("name", [name for name in LESSONS if name != "beta-cut"])
async def test_a_quiz_is_answered(
    chromium: Browser,
    server: ServerProcess,
    screen: dict[str, Any],
    scheme: str,
    kind: str,
    name: str,
) -> None:
    """All right answers of a quiz are accepted, with their reasons, and the score is on the card.

    The lesson of the beta cut has a figure to complete instead.
    """
    questions = lesson_quiz(name).questions
    assert questions
    async with people(chromium, server.url, {**screen, "color_scheme": scheme}) as (ada,):
        page, hand = ada.page, HANDS[kind](ada.page)
        await open_lesson(page, hand, server.url, name)
        quiz = page.locator(".quiz")
        await hand.press(quiz.get_by_role("button", name="Start the quiz"))
        for question in questions:
            await answer(page, hand, question, question.answer)
            await expect(quiz.locator(".verdict")).to_have_text(right_verdict(question))
            await hand.press(quiz.locator(".next"))
        score = f"{len(questions)} of {len(questions)} right"
        await expect(quiz.locator(".end .text")).to_have_text(f"{score}.")
        await assert_fits(ada, in_height=False)
        await hand.press(page.get_by_role("link", name="All lessons"))
        card = page.locator(f".lesson-card[href='/learn/{name}']")
        await expect(card.locator(".score")).to_have_text(score)


async def answer(page: Page, hand: Hand, question: QuizQuestion, given: Answer) -> None:
    """Answers a question of the quiz."""
    quiz = page.locator(".quiz")
    await expect(quiz.locator(".text")).to_have_text(question.text)
    if question.kind == "yes_no":
        await hand.press(quiz.get_by_role("button", name="Yes" if given else "No", exact=True))
        return
    if question.kind == "number":
        await hand.write(quiz.locator("input"), str(given))
    else:
        assert isinstance(given, tuple)
        for name in given:
            leaf = quiz.locator(f"[data-leaf='{name}']")
            await hand.press(leaf)
            await expect(leaf).to_have_attribute("aria-pressed", "true")
    await hand.press(quiz.get_by_role("button", name="Check"))


async def test_the_exercises_are_solved(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any], scheme: str, kind: str
) -> None:
    """The beta figure is completed by the numbers of the texts, the tree put into the best order.

    Enter in a field of the figure checks it, and crosses out nothing.
    """
    async with people(chromium, server.url, {**screen, "color_scheme": scheme}) as (ada,):
        page, hand = ada.page, HANDS[kind](ada.page)
        await page.goto(f"{server.url}/learn")
        await hand.press(page.locator(".lesson-card[href='/learn/beta-cut']"))
        figure = page.locator(".figure-exercise")
        await hand.write(figure.get_by_label("Alpha at C2"), "25")
        await page.keyboard.press("Enter")
        await expect(figure.locator(".hints li")).to_have_count(5)
        await expect(figure.locator("[data-leaf][aria-pressed=true]")).to_have_count(0)
        for label, value in (
            *(("Beta at C2", "20"), ("Value that C2 returns", "25")),
            ("Value of the root", "20"),
        ):
            await hand.write(figure.get_by_label(label), value)
        await hand.choose(figure.get_by_label("The value of C2 is"), "≥ at least")
        for leaf in ("E", "F"):
            await hand.press(figure.locator(f"[data-leaf={leaf}]"))
        await expect(figure.get_by_text("All right")).to_have_count(0)
        await hand.press(figure.get_by_role("button", name="Check"))
        await expect(figure.get_by_text("All right")).to_be_visible()
        await expect(page.locator(".glass-viewer")).to_be_visible()
        await assert_fits(ada, in_height=False)
        assert await audit(page) == []
        await hand.press(page.get_by_role("link", name="All lessons"))
        await hand.press(page.locator(".lesson-card[href='/learn/move-order']"))
        await order_tree(page, hand, kind)
        await assert_fits(ada, in_height=False)
        assert await audit(page) == []


async def order_tree(page: Page, hand: Hand, kind: str) -> None:
    """Solves the exercise of the move order: C comes first, then the least leaf of A and of B."""
    order = page.locator(".order-exercise")
    verdict = order.locator(".verdict")
    await hand.press(order.get_by_role("button", name="Check"))
    await expect(verdict).to_contain_text("sees 9 of 9 leaves. The least possible is 5.")
    for node in ("C", "A3", "B3"):
        await hand.press(order.locator(f"[data-node={node}]"))
        for _ in range(2):
            if kind == "keyboard":
                await page.keyboard.press("ArrowLeft")
            else:
                await hand.press(order.get_by_role("button", name=f"{node} earlier"))
        await expect(order.get_by_role("button", name=f"{node} earlier")).to_be_disabled()
    await hand.press(order.get_by_role("button", name="Check"))
    await expect(verdict).to_contain_text("sees 5 of 9 leaves. No order needs fewer")


async def test_a_tree_of_ones_own_is_typed(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any], scheme: str, kind: str
) -> None:
    """A typed tree has a mistake, shown by line and column; corrected, it shows its search.

    The tree is that of the greedy friends: 7 of 9 nodes, and the value 10.
    """
    async with people(chromium, server.url, {**screen, "color_scheme": scheme}) as (ada,):
        page, hand = ada.page, HANDS[kind](ada.page)
        await page.goto(f"{server.url}/learn")
        await hand.press(page.get_by_role("link", name="Search a position or a tree of your own"))
        await expect(page.locator(".node.finished").first).to_be_attached()
        change = page.get_by_role("button", name="Change the search")
        if await change.count():
            await hand.press(change)
        text = page.get_by_label("Tree as text")
        await hand.write(text, "max(A: min(10, 25, 50),\nB: min(5, foo, 25))")
        mistake = page.get_by_role("button", name="Line 2, column 11", exact=True)
        await hand.press(mistake)
        await expect(text).to_be_focused()
        await assert_fits(ada, in_height=False)
        assert await audit(page) == []
        for _ in "foo":
            await page.keyboard.press("Delete")
        await page.keyboard.type("2")
        await expect(mistake).to_have_count(0)
        await expect(page.locator(".stale, .running")).to_have_count(0)
        await expect(page.locator(".sentence")).to_contain_text("It visited 7 of the 9 nodes")
        await leave_text(page, hand, kind)
        await walk(page, hand)
        await expect(page.locator("glass-tree g.node .value").first).to_have_text("10")
        # Browsers report the refusals of the texts with a mistake.
        ada.faults[:] = [fault for fault in ada.faults if "400 (Bad Request)" not in fault]


async def leave_text(page: Page, hand: Hand, kind: str) -> None:
    """Takes the focus out of the text, in which keys would move the caret."""
    if kind == "mouse":
        await page.locator("h1").click()
    else:
        await hand.press(page.get_by_role("button", name="Hide the form"))


async def test_a_position_of_a_running_match_is_opened(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any], scheme: str, kind: str
) -> None:
    """A chess position of a running match is searched 3 plies deep, and 20,000 nodes are shown."""
    settings = {**screen, "color_scheme": scheme}
    async with people(chromium, server.url, settings, DESKTOP) as (ada, kim):
        page, hand = ada.page, HANDS[kind](ada.page)
        await ada.create("Chess", "A friend", side="White", helps=True)
        await kim.page.goto(page.url)
        await kim.page.get_by_role("button", name="Play").first.click()
        await ada.wait_for_turn()
        for cell in ("e2", "e4"):
            await hand.press_cell(ada.board, cell)
        await kim.wait_for_turn()
        for cell in ("e7", "e5"):
            await kim.cell(cell).click()
        # Until her own move has arrived, Ada's page says that it is her turn.
        await expect(page.locator(".moves .move")).to_have_count(2)
        await ada.wait_for_turn()
        await hand.press(page.get_by_role("link", name="Open in the glass box"))
        what = page.locator(".what")
        await expect(what).to_contain_text("Chess: alpha-beta, depth 3", timeout=SEARCH_MS)
        await expect(page.locator(".running")).to_have_count(0, timeout=SEARCH_MS)
        await hand.press(page.get_by_role("button", name="Change the search"))
        await hand.choose(page.get_by_label("Algorithm"), await minimax_label(page))
        await expect(what).to_contain_text("Chess: minimax, depth 3", timeout=SEARCH_MS)
        await expect(page.locator(".running")).to_have_count(0, timeout=SEARCH_MS)
        overview = await page.locator("glass-overview .at").inner_text()
        assert re.findall(r"([\d,]+) of ([\d,]+) nodes", overview)[0] == ("20,000", "20,000")
        await leave_text(page, hand, kind)
        await hand.step("Start: first step")
        for unit in ("One step forward", "Next node", "Next node", "One step back"):
            await hand.step(unit)
        assert (await page.evaluate(PLACE))[2] > 0
        await hand.step("End: last step")
        step, count, visited, _ = await page.evaluate(PLACE)
        assert (step, visited) == (count, MAX_NODES)
        await assert_fits(ada, in_height=False)
        assert await audit(page) == []


async def minimax_label(page: Page) -> str:
    """Returns the name of minimax in the list of algorithms."""
    options: Locator = page.get_by_label("Algorithm").locator("option")
    await expect(options.first).to_be_attached()
    labels = await options.all_inner_texts()
    (label,) = [label for label in labels if label.startswith("minimax")]
    return label
