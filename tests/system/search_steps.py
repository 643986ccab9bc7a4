"""Measures a step through the trace of a large search, in Chromium.

    python -m tests.system.search_steps

The search is alpha-beta from the start of chess at depth 4: 19,589 nodes. A step is measured from
the call to the end of the layout: the state of the search, the tree, the overview, the sentence,
the code and the counts. `state` is the search state alone. With a slowdown of 4 Chromium works at a
quarter of its speed, as a phone does.
"""

import asyncio
import json
from typing import Any

import click
import msgspec
from playwright.async_api import Page

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.states.state import GameState, Scale
from engine.teach.trace import MAX_TRACE_NODES
from tests.support.browser import open_chromium, open_files
from tests.support.trace_stream import stream_lines

#: The game, and the depth at which the trace has almost MAX_TRACE_NODES nodes.
GAME, DEPTH = "chess", 4
#: The slowdowns of the processor, as factors.
SLOWDOWNS = (1, 4)
#: The number of measured steps of each kind.
STEPS = 200
#: The style sheets of a page with a viewer.
STYLES = ("shell/base", "board/board", "glass/drawing/glass", "glass/viewer/viewer")
OPEN = """async ([lines, styles]) => {
    for (const name of styles) {
        const link = document.createElement("link");
        link.rel = "stylesheet";
        link.href = `/client/web/${name}.css`;
        document.head.append(link);
        await new Promise((resolve) => (link.onload = resolve));
    }
    const { loadTrace } = await import("/tests/client/web/glass_states.js");
    const { SearchViewer } = await import("/client/web/glass/viewer/viewer.js");
    const { stateAt } = await import("/client/web/glass/trace/search-state.js");
    const { render } = await import("/client/web/shell/elements.js");
    const started = performance.now();
    const trace = await loadTrace(lines, 65536);
    const load_ms = performance.now() - started;
    const root = document.body.appendChild(document.createElement("main"));
    const app = { update: () => {}, announce: () => {} };
    const viewer = new SearchViewer({ app, trace, step: 0 });
    const draw = () => { render(root, viewer.draw()); return root.offsetHeight; };
    draw();
    window.glass = { trace, viewer, draw, stateAt };
    return { load_ms, nodes: trace.count, steps: trace.stepCount };
}"""
MEASURE = """async ([unit, count]) => {
    const { trace, viewer, draw, stateAt } = window.glass;
    const { nextStep } = await import("/client/web/glass/trace/walk.js");
    const times = { state: [], step: [] };
    let step = Math.floor(trace.stepCount * 0.6);
    viewer.goTo(step);
    draw();
    for (let i = 0; i < count; i++) {
        if (unit === "jump") step = (i * 7919 * 131) % trace.stepCount;
        else if (unit === "back") step = nextStep(trace, step, "step", -1);
        else step = nextStep(trace, step, unit, 1);
        const start = performance.now();
        for (let j = 0; j < 20; j++) stateAt(trace, step);
        times.state.push((performance.now() - start) / 20);
        const begun = performance.now();
        viewer.goTo(step);
        draw();
        times.step.push(performance.now() - begun);
        await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    return times;
}"""


def trace_lines() -> list[str]:
    """Returns the lines of a full trace of a game, with its board."""
    game = load_game(GAME)
    position = game.start({})
    root = GameState.at_root(position, Scale())
    trace = explain(root, Plan("alphabeta", DEPTH, plain_limit=1), game.title)
    assert len(trace.nodes.parent) > 0.95 * MAX_TRACE_NODES
    head, *lines = stream_lines(trace, [4000] * 20)
    fields = json.loads(head)
    fields["head"]["board"] = json.loads(msgspec.json.encode(game.board(position.options)))
    fields["head"]["start"] = json.loads(msgspec.json.encode(position.view()))
    return [json.dumps(fields), *lines]


def percentile(times: list[float], part: float) -> float:
    """Returns the time that `part` of the times do not exceed."""
    return sorted(times)[min(len(times) - 1, int(part * len(times)))]


async def measure_all(page: Page, lines: list[str]) -> str:
    """Measures all kinds of steps at all speeds; returns a table in Markdown."""
    tools = await page.context.new_cdp_session(page)
    opened: dict[str, Any] = await page.evaluate(OPEN, [lines, STYLES])
    await page.wait_for_timeout(1000)
    rows = [
        f"A trace of {opened['nodes']:,} nodes and {opened['steps']:,} steps, read in"
        f" {opened['load_ms']:.0f} ms.",
        "",
        "| slowdown | steps | state p95, ms | step p50, ms | step p95, ms | step max, ms |",
        "| - | - | - | - | - | - |",
    ]
    for slowdown in SLOWDOWNS:
        await tools.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
        for unit in ("step", "back", "node", "cut", "jump"):
            times = await page.evaluate(MEASURE, [unit, STEPS])
            state, step = times["state"], times["step"]
            cells = [percentile(step, 0.5), percentile(step, 0.95), max(step)]
            rows.append(
                f"| {slowdown} | {unit} | {percentile(state, 0.95):.3f} | "
                + " | ".join(f"{cell:.1f}" for cell in cells)
                + " |"
            )
    return "\n".join(rows)


async def measure() -> str:
    """Measures in a new browser, without a server: the boards' requests fail."""
    lines = trace_lines()
    async with (
        open_chromium() as browser,
        open_files(browser, viewport={"width": 1280, "height": 800}) as page,
    ):
        return await measure_all(page, lines)


@click.command()
def main() -> None:
    """Measures the steps and prints them."""
    click.echo(asyncio.run(measure()))


if __name__ == "__main__":
    main()
