"""The lessons in a browser: what they show, the quiz, the exercises, the sheet, the frame."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import combinations
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from engine.teach.lessons.catalogue import LESSONS, lesson_traces, load_lesson
from engine.teach.lessons.lesson import Statements
from engine.teach.lessons.listings import LISTINGS
from engine.teach.lessons.questions import Answer, QuizQuestion, lesson_quiz
from engine.teach.lessons.words import definition_of
from engine.teach.trace import Trace
from tests.support.browser import watch_faults
from tests.support.browsers import DESKTOP, OPEN, PHONE, Person, people
from tests.support.server_process import ServerProcess, serving
from tests.system.test_browser_pages import assert_fits, audit

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

#: Lessons whose runs are all small trees, which are drawn as a whole: without and with cuts, of
#: trees and of games, with two searches, with three players. `make test-long` walks all.
SMALL = (
    *("every-leaf", "alpha-cut", "four-level-tree", "one-bound"),
    *("sticks", "rock-paper-scissors", "max-n"),
)
#: Most nodes of a search that is walked step by step.
MAX_WALKED = 300
#: Most shapes of a tree that is surely drawn as a whole.
MAX_WHOLE = 40
#: The drawn nodes that were visited, by row, and the skipped moves with their parents' rows.
DRAWN = """() => {
    const items = (selector) => [...document.querySelectorAll(`.runs glass-tree ${selector}`)];
    const keys = (selector) => items(selector).map((item) => item.dataset.key);
    return [keys("g.node:not(.future)"), keys(".nodes .skipped")];
}"""


COLOR_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
#: A small laptop.
LAPTOP: dict[str, Any] = {"viewport": {"width": 1366, "height": 768}}
#: The number of labels of the shown trees, and those of them that lie below a bar or a button. What
#: the tree's own frame cuts off is no label.
COVERED = """() => {
    const bars = ".bar, .sentence, .views, .zoom, .run-tabs, header, [class^=pair-c], .pair-switch";
    const boxes = [...document.querySelectorAll(bars)]
        .map((bar) => [bar.className, bar.getBoundingClientRect()])
        .filter(([name]) => !name.startsWith("pair-side"));
    const shared = (from, to, otherFrom, otherTo) =>
        Math.min(to, otherTo) - Math.max(from, otherFrom) > 1;
    const overlap = (a, b) =>
        shared(a.left, a.right, b.left, b.right) && shared(a.top, a.bottom, b.top, b.bottom);
    let labels = 0;
    const covered = [];
    for (const tree of document.querySelectorAll(".runs glass-tree")) {
        const frame = tree.getBoundingClientRect();
        for (const text of tree.querySelectorAll("svg.canvas text")) {
            const box = text.getBoundingClientRect();
            if (!overlap(box, frame)) continue;
            labels += 1;
            for (const [name, bar] of boxes)
                if (overlap(box, bar)) covered.push(`${text.textContent} below ${name}`);
        }
    }
    return [labels, covered];
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with serving(tmp_path_factory.mktemp("lessons") / "data", workers=1) as server:
        yield server


async def open_run(page: Page, name: str, run: int) -> None:
    """Shows a run of a lesson in the open app."""
    await page.evaluate(OPEN, f"/learn/{name}?run={run}")
    controls = page.locator(".runs .glass-controls")
    solution = page.get_by_role("button", name="Show the search step by step")
    await expect(controls.or_(solution).first).to_be_visible()
    if await solution.count():
        await solution.click()
    await expect(controls).to_be_visible()


def counted(page: Page, name: str) -> Locator:
    """The count of that name beside the tree."""
    return page.locator(".runs .glass-counters div").filter(has_text=name).locator("dd").first


async def assert_shows_all(page: Page, trace: Trace) -> None:
    """Asserts that the tree shows exactly the visited nodes and the skipped moves of a trace."""
    rows = range(len(trace.nodes.parent))
    await expect(page.locator(".runs glass-tree g.node:not(.future)")).to_have_count(len(rows))
    visited, skipped = await page.evaluate(DRAWN)
    assert sorted(visited) == sorted(f"node {row}" for row in rows)
    pairs = zip(trace.skipped.parent, trace.skipped.move, strict=True)
    assert sorted(skipped) == sorted(f"cut {parent} {move}" for parent, move in pairs)


async def test_small_lessons_show_the_visited_and_the_skipped_nodes(
    chromium: Browser, server: ServerProcess
) -> None:
    """Each run of a small lesson is drawn with exactly the nodes of its search and its cuts.

    The leaves of a tree have their numbers from the first step on; those of cut subtrees are grey.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/learn")
        await expect(ada.page.locator(".lesson-card")).to_have_count(len(LESSONS))
        await ada.page.get_by_text("The words, and where").click()
        word = ada.page.locator(".words dl div", has=ada.page.get_by_text("prune", exact=True))
        await expect(word.locator("dd")).to_have_text(definition_of("prune"))
        await expect(word.locator("a")).to_have_attribute("href", "/learn/four-level-argument")
        for name in SMALL:
            for run, trace in enumerate(lesson_traces(name)):
                await open_run(ada.page, name, run)
                await expect(ada.page.locator(".runs .place")).to_contain_text(
                    f"of {len(trace.steps.what)}"
                )
                await ada.page.keyboard.press("End")
                await assert_shows_all(ada.page, trace)
        await open_run(ada.page, "four-level-tree", 0)
        leaves = ada.page.locator(".runs glass-tree .leaf .value")
        await expect(leaves).to_have_text([str(n) for n in (10, 11, 12, 9, 15, 14, 5, 4)])
        await ada.page.keyboard.press("End")
        tip = f"prune: {definition_of('prune')}"
        await ada.page.get_by_text("Cut-offs", exact=True).hover()
        await expect(ada.page.get_by_text("Cut-offs", exact=True)).to_have_attribute("title", tip)
        unseen = ada.page.locator(".runs glass-tree .unseen .value")
        await expect(unseen).to_have_text([str(n) for n in (13, 14, 2, 1, 8, 2, 7, 1)])


async def test_a_state_machine_lights_up(chromium: Browser, server: ServerProcess) -> None:
    """The states of a game are drawn once each; visited ones light up, with their values.

    Without a memory the shared state is visited twice. A graph of one's own is drawn, too.
    """
    async with people(chromium, server.url, DESKTOP) as (ada,):
        page = ada.page
        await ada.go("/learn/pay-off?run=0&step=1")
        # At the end of the page it stands below the tree, closed and open.
        states = page.locator(".machine .state")
        await page.locator(".part-machine").wait_for()
        for count in (0, 10):
            await expect(states).to_have_count(count)
            await page.evaluate("scrollTo(0, 1e6)")
            tree = await page.locator(".runs .tree").bounding_box()
            row = await page.locator(".part-machine").bounding_box()
            assert tree is not None
            assert row is not None
            assert tree["y"] + tree["height"] <= row["y"] + 1
            if count == 0:
                await page.locator(".part-machine summary").click()
        await expect(page.locator(".machine .state.future")).to_have_count(9)
        fill = page.locator(".machine .state.future rect").first
        paper = await page.locator(".part-machine").evaluate(
            "e => getComputedStyle(e).backgroundColor"
        )
        await expect(fill).to_have_css("fill", paper)
        await page.keyboard.press("End")
        await expect(page.locator(".machine .state.future")).to_have_count(0)
        await expect(page.locator(".machine .visits")).to_have_text(["\N{MULTIPLICATION SIGN}2"])
        await expect(states.first).to_contain_text("MAX 1")
        # Nothing lies over it.
        await page.locator(".part-machine summary").click(trial=True)
        await states.first.click(trial=True)
        for scheme in COLOR_SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            assert await audit(page) == []
        await expect(page.locator(".machine .arrow")).to_have_count(10)
        texts = await page.locator(".machine svg text").evaluate_all(
            "texts => texts.map(text => text.getBoundingClientRect().toJSON())"
        )
        for one, other in combinations(texts, 2):
            across = min(one["right"], other["right"]) - max(one["left"], other["left"])
            down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
            assert across < 1 or down < 3
        graph = "a: max(x: b, y: c) b: min(go: d, 4) c: min(go: d, 2) d: 3"
        await page.evaluate(OPEN, f"/glass?{urlencode({'graph': graph, 'algorithm': 'minimax'})}")
        await page.locator(".part-machine summary").click()
        await expect(page.locator(".machine")).to_contain_text("6 of 6 states visited, 1 of them")


async def answer(page: Page, question: QuizQuestion, given: Answer) -> None:
    """Answers a question of the quiz by keyboard."""
    quiz = page.locator(".quiz")
    await expect(quiz.locator(".text")).to_have_text(question.text)
    if question.kind == "yes_no":
        await expect(quiz.get_by_role("button", name="Yes", exact=True)).to_be_focused()
        await page.keyboard.press("y" if given else "n")
    elif question.kind == "number":
        await expect(quiz.locator("input")).to_be_focused()
        await page.keyboard.type(str(given))
        await page.keyboard.press("Enter")
    else:
        assert isinstance(given, tuple)
        for name in given:
            leaf = quiz.locator(f"[data-leaf='{name}']")
            await leaf.focus()
            await page.keyboard.press("Space")
            await expect(leaf).to_have_attribute("aria-pressed", "true")
        await quiz.get_by_role("button", name="Check").focus()
        await page.keyboard.press("Enter")


#: The size of the smallest name of a move on the screen, in pixels.
NAME_PX = """() => Math.min(...[...document.querySelectorAll("glass-tree .move-label")]
    .map((name) => parseFloat(getComputedStyle(name).fontSize) * name.getScreenCTM().a))"""
#: The shadows at the edges of a tree.
SHADOWS = "(tree) => getComputedStyle(tree, '::after').boxShadow"
#: Whether the hint over the tree is there.
HAS_HINT = """getComputedStyle(document.querySelector(".runs glass-tree"), "::before")
    .content.includes("Drag")"""
#: The trees that do not know their size yet: a frame after its first nodes a tree moves into view.
UNPLACED = ".runs glass-tree:not([style*='--hint-top'])"
#: Whether the root is in view, and whether the place of the hint is free of nodes.
ROOT_IN_VIEW = """(tree) => {
    const box = tree.getBoundingClientRect();
    const shapes = [...tree.querySelectorAll(".node .shape")]
        .map((shape) => shape.getBoundingClientRect());
    const top = box.top + parseFloat(getComputedStyle(tree, "::before").top);
    const root = shapes.reduce((first, shape) => (shape.top < first.top ? shape : first));
    const isUnder = (shape) =>
        shape.top < top + 24 && shape.bottom > top && shape.left < box.left + 150;
    return root.top >= box.top && root.bottom <= box.bottom && !shapes.some(isUnder);
}"""
#: The controls of the quiz and the exercise that are too low for a finger.
LOW_TARGETS = """() => [...document.querySelectorAll(":is(.quiz, .exercise) :is(button, input)")]
    .filter((target) => !target.closest(".listing, .tree-box, .icon-button"))
    .filter((target) => target.getBoundingClientRect().height < 44)
    .map((target) => target.outerHTML)"""


@pytest.mark.parametrize(
    ("screen", "lessons"),
    [
        pytest.param(PHONE, LESSONS[::2], id="390x844"),
        pytest.param(LAPTOP, LESSONS[1::4], id="1366x768"),
        pytest.param(PHONE, LESSONS, id="390x844-all", marks=pytest.mark.long),
        pytest.param(LAPTOP, LESSONS, id="1366x768-all", marks=pytest.mark.long),
    ],
)
async def test_nothing_covers_a_tree(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any], lessons: Sequence[str]
) -> None:
    """Every lesson opens on its first step, and no bar or button covers a label of its tree.

    With the first key the page scrolls to the tree, which stays below the sentence.
    """
    async with people(chromium, server.url, screen) as (ada,):
        page = ada.page
        await page.emulate_media(reduced_motion="reduce")  # the trees do not glide
        await ada.go("/learn")
        for name in lessons:
            await page.evaluate(OPEN, f"/learn/{name}")
            solution = page.get_by_role("button", name="Show the search step by step")
            tree = page.locator(".runs glass-tree .node").first
            await expect(solution.or_(tree).first).to_be_attached()
            if await solution.count():
                continue
            await expect(page.locator(".runs .position").first).to_contain_text("Step 1 of")
            await expect(page.locator(UNPLACED)).to_have_count(0)
            labels, covered = await page.evaluate(COVERED)
            assert labels, f"{name} has no label"
            assert covered == [], name
        await page.evaluate(OPEN, "/learn/four-level-tree")
        await expect(page.locator(".runs .place")).to_contain_text("of 70")
        await expect(page.locator(UNPLACED)).to_have_count(0)
        assert await page.evaluate(NAME_PX) >= 10.9
        await page.keyboard.press("ArrowRight")
        await expect(page.locator("glass-tree")).to_be_in_viewport(ratio=0.99)
        assert (await page.evaluate(COVERED))[1] == []


async def test_a_tree_that_goes_on_says_so(chromium: Browser, server: ServerProcess) -> None:
    """On a phone a wide tree has shadows at its sides, and a hint until a finger drags it.

    The button for the whole tree shows all of it, and so no hint.
    """
    async with people(chromium, server.url, PHONE) as (ada,):
        await ada.go("/learn/four-level-tree")
        tree, unplaced = ada.page.locator(".runs glass-tree"), ada.page.locator(UNPLACED)
        place = ada.page.locator(".runs .place")
        await expect(place).to_contain_text("of 70")
        await expect(unplaced).to_have_count(0)
        await expect(tree).to_have_attribute("style", re.compile("--edges: ?inset"))
        shadows = await tree.evaluate(SHADOWS)
        assert " 16px 0px " in shadows
        assert " -16px 0px " in shadows
        await ada.until(HAS_HINT)
        assert await tree.evaluate(ROOT_IN_VIEW)
        await ada.button("Zoom in").tap()
        await ada.until(f"!{HAS_HINT}")
        await ada.button("Show the whole tree").tap()
        await expect(tree).to_have_attribute("style", re.compile("--edges: ?none"))
        assert not await ada.page.evaluate(HAS_HINT)
        await ada.page.set_viewport_size({"width": 844, "height": 390})
        await ada.go("/learn/four-level-tree?run=0&step=39")
        await expect(place).to_contain_text("of 70")
        await expect(unplaced).to_have_count(0)
        await ada.until(HAS_HINT)
        assert await tree.evaluate(ROOT_IN_VIEW), "the first view begins with the root"
        await ada.page.keyboard.press("ArrowRight")
        current = tree.locator(".node.current .shape")
        await expect(current).to_be_in_viewport(ratio=0.9)


async def test_two_searches_are_in_view(chromium: Browser, server: ServerProcess) -> None:
    """With the first step the page scrolls to the tree of two searches, which is below the fold.

    The table has their value once they have returned it.
    """
    async with people(chromium, server.url, PHONE) as (ada,):
        await ada.go("/learn/one-bound")
        tree = ada.page.locator(".pair-side .tree").first
        await tree.locator(".node").first.wait_for()
        await expect(tree).not_to_be_in_viewport(ratio=0.9)
        value = ada.page.locator(".pair-counts tbody td:last-child").first
        await expect(value).to_have_text("\u2013")
        await ada.page.keyboard.press("ArrowRight")
        await expect(tree).to_be_in_viewport(ratio=0.9)
        await ada.page.keyboard.press("End")
        await expect(value).to_have_text("10")


def right_verdict(question: QuizQuestion) -> re.Pattern[str]:
    """The verdict after a right answer, which repeats the answer."""
    return re.compile(rf"^✓ Right\. Your answer: .+\. {re.escape(question.reason)}$")


async def test_a_quiz_is_answered_by_keyboard(chromium: Browser, server: ServerProcess) -> None:
    """Right answers count, a wrong number brings the hint, and the card shows the score."""
    questions = lesson_quiz("every-leaf").questions
    async with people(chromium, server.url, DESKTOP) as (ada,):
        await ada.go("/learn/every-leaf")
        quiz = ada.page.locator(".quiz")
        await quiz.get_by_role("button", name="Start the quiz").focus()
        await ada.page.keyboard.press("Enter")
        hinted = 0
        for question in questions:
            if question.kind == "number" and not hinted:
                await answer(ada.page, question, 77)
                await expect(quiz.locator(".hint-text")).to_contain_text(question.hint)
                await quiz.locator("input").fill("")
                hinted = 1
            await answer(ada.page, question, question.answer)
            await expect(quiz.locator(".verdict")).to_have_text(right_verdict(question))
            if question is questions[0]:
                await expect(quiz.locator(".score")).to_have_text("1 right so far")
            await expect(quiz.locator(".next")).to_be_focused()
            await ada.page.keyboard.press("Enter")
        score = f"{len(questions)} of {len(questions)} right, 1 with a hint"
        await expect(quiz.locator(".end .text")).to_have_text(f"{score}.")
        await ada.go("/learn")
        card = ada.page.locator(".lesson-card", has_text="Did we need every leaf?")
        await expect(card.locator(".score")).to_have_text(score)


async def test_the_exercises_are_solved_on_a_phone(
    chromium: Browser, server: ServerProcess
) -> None:
    """A wrong figure gets hints, the right one is solved; a tree is put into the best order.

    An arrow key moves the focused branch, and buttons move the selected leaf. Statements say why
    they are true or false, and a listing which of its lines is at fault.
    """
    async with people(chromium, server.url, PHONE) as (ada,):
        page = ada.page
        await ada.go("/learn/beta-cut")
        figure = page.locator(".figure-exercise")
        check = figure.get_by_role("button", name="Check")
        await check.tap()
        await expect(figure.locator(".hints li")).to_have_count(6)
        assert await page.evaluate(LOW_TARGETS) == []
        await expect(figure.locator(".verdict")).to_contain_text("0 of 6 are right, 6 missing.")
        await expect(page.locator(".glass-viewer")).to_have_count(0)
        for label, value in (
            *(("Alpha at C2", "25"), ("Beta at C2", "20")),
            *(("Value that C2 returns", "25"), ("Value of the root", "20")),
        ):
            await figure.get_by_label(label).fill(value)
        await figure.get_by_label("The value of C2 is").select_option(">=")
        for leaf in ("E", "F"):
            await figure.locator(f"[data-leaf={leaf}]").tap()
        await check.tap()
        await expect(figure.get_by_text("All right")).to_be_visible()
        await expect(page.locator(".glass-viewer")).to_be_visible()
        await assert_fits(ada, in_height=False)

        await page.evaluate(OPEN, "/learn/opaque-moves")
        statements = page.locator(".statements-exercise")
        await statements.get_by_role("button", name="Check").tap()
        await expect(statements).to_contain_text("5 statements have no answer yet.")
        assert await page.evaluate(LOW_TARGETS) == []
        exercise = load_lesson("opaque-moves").exercise
        assert isinstance(exercise, Statements)
        for statement, item in zip(
            exercise.statements, await statements.locator("li").all(), strict=True
        ):
            await item.get_by_role("button", name=str(statement.is_true)).tap()
        await statements.get_by_role("button", name="Check").tap()
        await expect(statements).to_contain_text("All right. The model solution is below.")
        await expect(statements).to_contain_text(f"✓ Right. {exercise.statements[0].reason}")
        await assert_fits(ada, in_height=False)

        await page.evaluate(OPEN, "/learn/bug-minimax")
        listing = page.locator(".listing-exercise")
        await listing.get_by_role("button", name="if is_final(p)").tap()
        await expect(listing).to_contain_text("Press the line at fault.")
        await expect(listing).to_contain_text("✗ Not this line.")
        await expect(listing.get_by_role("button", name="Show the fault")).to_be_visible()
        await listing.get_by_role("button", name="minimax(q, is_max)").tap()
        await expect(listing).to_contain_text("✓ Right. is_max is handed on unchanged")
        await expect(listing.locator(".found .verdict.is-right")).to_be_in_viewport(ratio=1)
        await expect(listing.get_by_role("button", name="Show the fault")).to_have_count(0)
        lines = listing.locator(".listing")
        line = await lines.get_by_role("button").first.bounding_box()
        assert line is not None
        assert line["height"] >= 34
        assert await lines.evaluate("(list) => list.scrollWidth <= list.clientWidth")
        await assert_fits(ada, in_height=False)

        await page.evaluate(OPEN, "/learn/move-order")
        order = page.locator(".order-exercise")
        verdict = order.locator(".verdict")
        await order.get_by_role("button", name="Check").tap()
        await expect(verdict).to_contain_text("sees 9 of 9 leaves. The least possible is 5.")
        assert await page.evaluate(LOW_TARGETS) == []
        await order.locator("[data-node=C]").focus()
        for _ in range(2):
            await page.keyboard.press("ArrowLeft")
        await expect(order.locator("[data-node=C]")).to_be_focused()
        await expect(order.get_by_role("button", name="C earlier")).to_be_disabled()
        for node, count in (("A3", 2), ("B3", 2)):
            await order.locator(f"[data-node={node}]").tap()
            for _ in range(count):
                await order.get_by_role("button", name="earlier").tap()
        await order.get_by_role("button", name="Check").tap()
        await expect(verdict).to_contain_text("sees 5 of 9 leaves. No order needs fewer")
        await assert_fits(ada, in_height=False)


async def test_a_teacher_prints_a_lesson_and_opens_it_in_two_clicks(
    chromium: Browser, server: ServerProcess
) -> None:
    """From the lobby two clicks lead to a lesson; its sheet has the tree, lines and the address."""
    async with people(chromium, server.url, DESKTOP) as (ada,):
        page = ada.page
        await ada.go("/")
        await page.get_by_role("link", name="Learn", exact=True).click()
        await page.get_by_role("link", name="8. Alpha cut").click()
        await expect(page.locator(".runs .glass-controls")).to_be_visible()
        sheet = page.locator(".handout")
        await expect(sheet).to_have_count(1)
        await page.emulate_media(media="print")
        await expect(page.locator(".page.lesson")).to_be_hidden()
        await expect(sheet.locator("h1")).to_have_text("Alpha cut")
        await expect(sheet.locator("h1")).to_be_visible()
        await expect(sheet.locator(".figure-tree .leaf")).to_have_text(["20", "15", "30", "40"])
        assert await sheet.locator(".line").count() >= 5
        await expect(sheet.locator("footer")).to_have_text(f"{server.url}/learn/alpha-cut")
        pdf = await page.pdf(format="A4")
        assert pdf.count(b"/Type /Page\n") == 1
        await page.emulate_media(media="screen")
        await page.evaluate("window.print = () => (window.printed = true)")
        await page.get_by_role("button", name="Print with answers").click()
        await ada.until("window.printed")
        await expect(sheet).to_contain_text("C2 ≤ 15: the least of D = 15.")
        await ada.go("/learn/h0-and-hl")
        await expect(sheet.locator(".figure-tree")).to_contain_text("~ 7")
        questions = await sheet.locator(".questions p:first-child").all_text_contents()
        assert questions[0] == "L = 1: hill climbing: Which value does the root return?"
        assert len(set(questions)) == len(questions) > 3


async def test_a_lesson_in_a_frame_leaves_no_trace(
    chromium: Browser, server: ServerProcess
) -> None:
    """Another site shows a lesson in a frame: it steps, sets no cookie and opens no socket.

    Every other page refuses the frame.
    """
    paths = {"/course": "/embed/learn/every-leaf", "/other": "/learn/every-leaf"}
    context = await chromium.new_context(**DESKTOP)
    page = await context.new_page()
    faults, sockets = watch_faults(page), []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    async with school(server.url, paths) as url:
        await page.goto(f"{url}/course")
        lesson = page.frame_locator("iframe")
        await expect(lesson.locator("h1")).to_have_text("Did we need every leaf?")
        place = lesson.locator(".place")
        await expect(place).to_contain_text("Step 1 of 22")
        await lesson.locator("h1").click()
        await page.keyboard.press("ArrowRight")
        await expect(place).to_contain_text("Step 2 of 22")
        assert (await context.cookies(), sockets, faults) == ([], [], [])
        async with page.expect_console_message(lambda line: "frame-ancestors" in line.text):
            await page.goto(f"{url}/other")
    await context.close()


@asynccontextmanager
async def school(url: str, paths: dict[str, str]) -> AsyncIterator[str]:
    """Another site, whose pages show those of Plyroom in a frame; yields its address."""

    async def answer_page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        frame = f'<iframe src="{url}{paths.get(path, "")}" width="900" height="700"></iframe>'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
        writer.write(head + (frame.encode() if path in paths else b""))
        await writer.drain()
        writer.close()

    site = await asyncio.start_server(answer_page, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{site.sockets[0].getsockname()[1]}"
    finally:  # without waiting for the connections that the browser has opened in advance
        site.close()


@pytest.mark.parametrize(
    ("screen", "scheme"),
    [
        pytest.param(DESKTOP, "light", id="desktop-light"),
        pytest.param(PHONE, "dark", id="phone-dark"),
        pytest.param(DESKTOP, "dark", id="desktop-dark", marks=pytest.mark.long),
        pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.long),
    ],
)
async def test_the_lessons_pass_axe_and_fit(
    chromium: Browser, server: ServerProcess, screen: dict[str, Any], scheme: str
) -> None:
    """axe finds nothing on the cards, a lesson with its quiz, the exercises and the listings."""
    async with people(chromium, server.url, {**screen, "color_scheme": scheme}) as (ada,):
        await check_pages(ada)


async def check_pages(person: Person) -> None:
    """Asserts that the pages of lessons have no faults of accessibility and are not too wide."""
    page = person.page
    await person.go("/learn")
    await expect(page.locator(".lesson-card")).to_have_count(len(LESSONS))
    assert await audit(page) == []
    await page.evaluate(OPEN, "/listings")
    await expect(page.locator(".printed")).to_have_count(len(LISTINGS))
    await page.get_by_label("A tree of your own").fill("max(A: min(7, 4), B: min(3, 8))")
    await page.get_by_role("button", name="Run the listings on it").click()
    own = page.locator(".printed").first.get_by_role("row", name="Your tree")
    await expect(own.locator("td")).to_have_text(["8", "4", "7", "7"])
    await page.get_by_role("button", name="Show the first").click()
    await expect(own).to_be_in_viewport()
    await page.get_by_label("A tree of your own").fill("max(A: min(7, 4")
    await page.get_by_role("button", name="Run the listings on it").click()
    await expect(page.locator(".own-tree [role=alert]")).to_be_visible()
    # The browser reports the refusal, too.
    assert [fault for fault in person.faults if "400 (Bad Request)" not in fault] == []
    person.faults.clear()
    await assert_fits(person, in_height=False)
    assert await audit(page) == []
    for name in (
        "four-level-tree",
        "beta-cut",
        "move-order",
        "opaque-moves",
        "bug-game-over",
        "max-n",
    ):
        await page.evaluate(OPEN, f"/learn/{name}")
        await expect(page.locator(".handout")).to_have_count(1)
        await assert_fits(person, in_height=False)
        if name == "four-level-tree":  # in the others the quiz begins below the same parts
            assert await audit(page) == []
        start = page.get_by_role("button", name="Start the quiz")
        if await start.count():
            await start.click()
            await expect(page.locator(".quiz .tree-box .node").first).to_be_visible()
        await assert_fits(person, in_height=False)
        assert await audit(page) == []


@pytest.mark.long
@pytest.mark.parametrize("name", LESSONS)
async def test_every_lesson_is_walked_to_its_end(
    chromium: Browser, server: ServerProcess, name: str
) -> None:
    """Each step by key and by button shows the counts of the search; the end shows all of it."""
    async with people(chromium, server.url, DESKTOP) as (ada,):
        page = ada.page
        await ada.go("/learn")
        for run, trace in enumerate(lesson_traces(name)):
            await open_run(page, name, run)
            await expect(page.locator(".runs .place")).to_contain_text(
                f"of {len(trace.steps.what):,}"
            )
            await walk(page, trace)
            if len(trace.nodes.parent) + len(trace.skipped.parent) <= MAX_WHOLE:
                await assert_shows_all(page, trace)


async def walk(page: Page, trace: Trace) -> None:
    """Walks from the start of a search to its end: every step, or every cut-off of a large one."""
    await page.keyboard.press("Home")
    steps = trace.steps.what
    if len(trace.nodes.parent) > MAX_WALKED:
        await page.keyboard.press("n")
        await page.keyboard.press("End")
        return
    forward = page.get_by_role("button", name="One step forward").first
    visited = 0
    for number, what in enumerate(steps):
        await (page.keyboard.press("ArrowRight") if number % 2 else forward.click())
        visited += what == "enter"
        await expect(page.locator(".runs .place")).to_contain_text(f"{number + 1:,} of")
        await expect(counted(page, "Visited")).to_have_text(f"{visited:,}")


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in LESSONS if name != "beta-cut"])
async def test_every_quiz_is_answered(chromium: Browser, server: ServerProcess, name: str) -> None:
    """All right answers are accepted, with their reasons."""
    questions = lesson_quiz(name).questions
    assert questions, "only beta-cut has a figure instead"
    async with people(chromium, server.url, PHONE) as (ada,):
        await ada.go(f"/learn/{name}")
        quiz = ada.page.locator(".quiz")
        await quiz.get_by_role("button", name="Start the quiz").tap()
        for question in questions:
            await answer(ada.page, question, question.answer)
            await expect(quiz.locator(".verdict")).to_have_text(right_verdict(question))
            await quiz.locator(".next").tap()
        count = len(questions)
        await expect(quiz.locator(".end .text")).to_have_text(f"{count} of {count} right.")
