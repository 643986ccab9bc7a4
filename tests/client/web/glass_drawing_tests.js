import "/client/web/glass/drawing/overview.js";
import { initialCamera, isWhole, leastText, reveal, sidesWithMore } from "/client/web/glass/drawing/camera.js";
import { toSvg } from "/client/web/glass/viewer/export.js";
import { stateAt } from "/client/web/glass/trace/search-state.js";
import { nodeAt, placeIcicle, scaleTexts, visitedPart } from "/client/web/glass/drawing/icicle.js";
import { layOut } from "/client/web/glass/drawing/layout.js";
import { drawOutline } from "/client/web/glass/drawing/outline.js";
import { itemMeasure } from "/client/web/glass/drawing/shapes.js";
import { shownNodes, toggle } from "/client/web/glass/drawing/shown-nodes.js";
import { drawPicture } from "/client/web/glass/drawing/picture.js";
import { drawTree } from "/client/web/glass/drawing/tree.js";
import { h, render } from "/client/web/shell/elements.js";
import { assert, assertEqual, test } from "./testing.js";
import { randomNumbers, randomTree, someSteps, traceOf } from "./glass_traces.js";

const random = randomNumbers(23);
const FOUR_LEVELS = [[[[10, 11], [12, 9]], [[15, 14], [13, 14]]], [[[5, 2], [4, 1]], [[8, 2], [7, 1]]]];
const small = () => traceOf(FOUR_LEVELS);
/** A tree that is too large to be drawn whole; the same one each time. */
const large = () => {
    const numbers = randomNumbers(23);
    return traceOf([0, 1, 2].map(() => randomTree(numbers, 900, 8, 5)));
};
const numbersIn = (text) => text.match(/−?(\d+(\.\d+)?|∞)/g) ?? [];

/** A box of the page, in which the content is rendered. */
function boxOf(width, height) {
    const box = document.createElement("div");
    box.style.cssText = `width: ${width}px; height: ${height}px; display: grid`;
    document.body.replaceChildren(box);
    return box;
}

async function loadStyles() {
    document.documentElement.dataset.theme = "light";
    const links = ["shell/base.css", "glass/viewer/pair.css", "glass/drawing/glass.css"].map((path) => Object.assign(document.createElement("link"), { rel: "stylesheet", href: `/client/web/${path}` }));
    await Promise.all(links.map((link) => new Promise((resolve) => ((link.onload = resolve), document.head.append(link)))));
}

/** A tree that a user can walk through, the last chosen row, and its nodes by their rows. */
async function openTree(trace, step, size = [600, 500]) {
    const box = boxOf(...size);
    const user = { opened: new Set(), closed: new Set(), selected: null, step, hidesFuture: false };
    const draw = () =>
        render(
            box,
            drawTree({
                ...{ trace, state: stateAt(trace, user.step), view: "window", opened: user.opened, closed: user.closed, hidesFuture: user.hidesFuture },
                onSelect: (row) => (user.selected = row),
                onToggle: (row, isOpen) => (toggle(user.opened, user.closed, row, isOpen), draw()),
            }),
        );
    draw();
    await new Promise((resolve) => setTimeout(() => requestAnimationFrame(() => setTimeout(resolve))));
    const node = (row) => box.querySelector(`[data-key="node ${row}"]`);
    const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    return { box, user, draw, node, press };
}

test("the list has every fact of the drawing", () => {
    for (const trace of [small(), large(), traceOf(FOUR_LEVELS, false)])
        for (const step of [...someSteps(random, trace, 5), trace.cut(0) + 1 || 0])
            for (const view of ["window", "interval"]) {
                const state = stateAt(trace, step);
                const options = { differs: (row) => row % 5 === 3, differsCut: (row) => row % 2 === 0 };
                const scene = { trace, state, view, ...options, onSelect: () => {}, onToggle: () => {} };
                const box = boxOf(900, 600);
                render(box, drawPicture(scene), drawOutline(scene));
                checkFacts(box, step);
            }
});

/** Each drawn item has an entry of the list, in the same order, with the same words and numbers. */
function checkFacts(box, step) {
    const entries = [...box.querySelectorAll("li")].map((entry) => {
        const copy = entry.cloneNode(true);
        copy.querySelector("ul")?.remove();
        return { text: copy.textContent };
    });
    const items = [...box.querySelectorAll(".nodes > g")].filter((item) => !item.matches(".future:not(:has(title))"));
    assertEqual([step, items.length], [step, entries.length]);
    items.forEach((item, index) => {
        const { text } = entries[index];
        const words = item.querySelector("title").textContent.replace(/^[^:]*: /, "").split(", ");
        for (const word of words) assert(text.includes(word), `"${text}" has "${word}" at step ${step}`);
        const move = item.querySelector(".move-label")?.textContent ?? "";
        assert(text.includes(move) || item.matches(".skipped"), `"${text}" has the move ${move}`);
        for (const shown of item.querySelectorAll(".value, .note, .count"))
            for (const number of numbersIn(shown.textContent)) assert(text.includes(number) || item.matches(".skipped"), `"${text}" has ${number}`);
        assertEqual(text.includes("current node"), item.matches(".current"));
        assertEqual(/only in this search|visited in the other/.test(text), item.matches(".differs"));
    });
    assert(box.querySelectorAll(".nodes .path").length === [...entries].filter(({ text }) => /current node|on the path/.test(text)).length, "the path is in the list");
    assert(box.querySelectorAll(".nodes .best").length === entries.filter(({ text }) => /best line/.test(text)).length, "the best line is in the list");
}

test("a cut edge is crossed and has the number of nodes that were never visited, once it is cut", () => {
    const trace = small();
    const box = boxOf(900, 600);
    const cuts = () => [...box.querySelectorAll(".skipped .count")].map((count) => count.textContent);
    const draw = (step, hidesFuture = false) => render(box, drawPicture({ trace, state: stateAt(trace, step), view: "window", hidesFuture }));
    draw(trace.stepCount);
    assertEqual([box.querySelectorAll(".edge.skipped .bars").length, cuts()], [4, ["3", "7"]]);
    const step = trace.cutStep(trace.children(0)[1]);
    draw(step);
    assertEqual(cuts(), ["3"]);
    draw(step + 1);
    assertEqual(cuts(), ["3", "7"]);
    draw(1, true);
    assertEqual([...box.querySelectorAll(".nodes > g .value")].map(({ textContent }) => textContent), ["?"]);
    assertEqual([box.querySelectorAll(".nodes > g").length, box.querySelectorAll(".edge").length], [2, 1]);
    draw(1);
    assertEqual(box.querySelectorAll(".nodes > .future").length, trace.count - 1 + 4);
});

test("the arrow keys lead from node to node, Enter chooses a node, Space opens and closes it", async () => {
    const trace = small();
    const { node, press, user, box } = await openTree(trace, trace.stepCount);
    const focused = () => document.activeElement.closest("[data-key]").dataset.key;
    assertEqual(box.querySelectorAll('[tabindex="0"]').length, 1);
    box.querySelector('[tabindex="0"]').focus();
    const [a, b] = trace.children(0);
    const visited = ["ArrowDown", "ArrowRight", "ArrowUp", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown", "ArrowLeft"].map((key) => (press(key), focused()));
    const c = trace.children(a)[0];
    assertEqual(visited, [`node ${a}`, `node ${b}`, "node 0", `node ${a}`, `node ${c}`, `node ${a}`, `node ${c}`, `node ${c}`]);
    press("Enter");
    assertEqual(user.selected, c);
    press(" ");
    assertEqual([[...user.closed], node(c).querySelector("[role=button]").getAttribute("aria-expanded"), focused()], [[c], "false", `node ${c}`]);
    assertEqual(node(c).querySelector(".count").textContent, String(trace.size(c) - 1));
    press(" ");
    assertEqual([[...user.closed], node(c).querySelector("[role=button]").getAttribute("aria-expanded")], [[], "true"]);
});

test("a click chooses a node, a click on a fold opens it, and a drag does neither", async () => {
    const trace = large();
    const { node, user, box, draw } = await openTree(trace, 1);
    user.step = trace.leaveStep(trace.children(0)[0]) + 1;
    draw();
    const folded = box.querySelector(".node.folded");
    const row = Number(folded.dataset.key.split(" ")[1]);
    folded.querySelector(".fold").dispatchEvent(new MouseEvent("click", { bubbles: true }));
    assertEqual([[...user.opened], user.selected, node(row).matches(".folded")], [[row], null, false]);
    node(0).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    assertEqual(user.selected, 0);
    const world = () => box.querySelector(".world").getAttribute("transform");
    const before = world();
    const pointer = (type, x) => node(0).dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, clientX: x, clientY: 90, button: 0 }));
    user.selected = null;
    box.querySelector("glass-tree").setPointerCapture = () => {};
    ["pointerdown", "pointermove", "pointermove", "pointerup"].forEach((type, i) => pointer(type, 100 + 20 * i));
    node(0).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    assert(world() !== before && user.selected === null, "the drawing has moved, and no node is chosen");
});

test("the paper shows the whole drawing, and the screen the same part as before", async () => {
    await loadStyles();
    const trace = large();
    const { box } = await openTree(trace, Math.floor(trace.stepCount / 2), [300, 240]);
    const places = () => [...box.querySelectorAll(".nodes > g")].map((item) => item.getBoundingClientRect());
    const paper = box.getBoundingClientRect();
    const isInside = ({ left, right, top, bottom }) => left >= paper.left - 4 && right <= paper.right + 4 && top >= paper.top - 4 && bottom <= paper.bottom + 4;
    const before = JSON.stringify(places());
    assert(!places().every(isInside), "the drawing is larger than the screen");
    dispatchEvent(new Event("beforeprint"));
    assert(places().every(isInside), "all of it is on the paper");
    dispatchEvent(new Event("afterprint"));
    assertEqual(JSON.stringify(places()), before);
});

test("a step draws only what it changes", async () => {
    const trace = large();
    const { box, user, draw } = await openTree(trace, Math.floor(trace.stepCount / 2));
    const observer = new MutationObserver(() => {});
    observer.observe(box.querySelector(".world"), { subtree: true, childList: true, attributes: true });
    for (let i = 0; i < 20; i++) {
        const before = new Set(box.querySelectorAll(".nodes > g"));
        user.step++;
        draw();
        const drawn = new Set(observer.takeRecords().map(({ target }) => target.closest("g.node")));
        const kept = [...drawn].filter((item) => item !== null && before.has(item) && item.isConnected);
        assert(kept.length <= 4, `${kept.length} nodes are drawn again at step ${user.step}`);
    }
});

test("the current node and its children are in view at every step, however small the screen is", () => {
    const trace = large();
    const screen = { width: 340, height: 300, top: 40 };
    let camera = null;
    for (const step of someSteps(random, trace, 60)) {
        const state = stateAt(trace, step);
        const layout = layOut(shownNodes(trace, state), itemMeasure(trace, "window"));
        const item = layout.items.find(({ key }) => key === `node ${Math.max(0, state.row)}`);
        camera = reveal(camera ?? initialCamera(layout, screen, layout.bottom), layout, item, screen);
        const { x, y, scale } = camera;
        const [left, right] = [-1, 1].map((side) => x + (item.x + (side * item.width) / 2) * scale);
        assert(left >= 0 && right <= screen.width && y + item.y * scale >= 0 && y + (item.y + item.height) * scale <= screen.height, `${item.key} is in view`);
        assert(reveal(camera, layout, item, screen) === camera, "a second look moves nothing");
    }
});

test("a drawing that fits stays where it is at every step", () => {
    const trace = traceOf([
        [12, 10],
        [3, 10],
    ]);
    const screen = { width: 372, height: 342, top: 50 };
    const layout = layOut(shownNodes(trace, stateAt(trace, 0)), itemMeasure(trace, "window"));
    const camera = initialCamera(layout, screen, layout.bottom);
    assert(isWhole(camera, layout, screen), "it fits at first");
    for (const item of layout.items) assert(reveal(camera, layout, item, screen) === camera, `${item.key} moves it`);
    const high = { width: 100, height: layout.bottom + 9, top: 0 };
    const at = { x: 50, y: 8, scale: 1 };
    for (const item of layout.items) assertEqual(reveal(at, layout, item, high).y, 8, "what fits in its height moves sideways only");
});

test("a drawing that is too wide has all its levels in view", () => {
    const layout = { items: [], left: 0, right: 2000, top: 0, bottom: 370 };
    const screen = { width: 358, height: 342, top: 40 };
    const { y, scale } = initialCamera(layout, screen, layout.bottom);
    assert(scale < 0.8 && y >= 0 && y + layout.bottom * scale <= screen.height, `${y} ${scale}`);
    assertEqual(initialCamera({ ...layout, bottom: 200 }, screen, 200).scale, 0.8);
});

test("names have 11 pixels at first sight, and edges tell where the drawing goes on", () => {
    const screen = { width: 358, height: 342, top: 40 };
    for (const [right, bottom] of [
        [400, 400],
        [200, 700],
        [2000, 900],
    ]) {
        const layout = { items: [], left: -right, right, top: 0, bottom };
        const camera = initialCamera(layout, screen, bottom);
        assert(leastText(camera) * camera.scale >= 10.99, `${camera.scale} for ${right} and ${bottom}`);
    }
    const layout = { items: [], left: -10, right: 400, top: 0, bottom: 300 };
    for (const [x, y, sides] of [
        [10, 0, "-1,0"],
        [-20, -1, "1,0 -1,0 0,1"],
        [9, 50, "1,0 -1,0 0,-1"],
    ])
        assertEqual(
            sidesWithMore({ x, y, scale: 1 }, layout, screen)
                .map((side) => side.slice(0, 2))
                .join(" "),
            sides,
        );
    assertEqual(leastText({ x: 0, y: 0, scale: 0.1 }), 14.4);
});

test("the overview places every node under its parent, and finds it again", () => {
    const trace = large();
    const icicle = placeIcicle(trace);
    const { starts, widths } = icicle;
    for (let row = 0; row < trace.count; row++) {
        const children = trace.children(row);
        const width = children.reduce((sum, child) => sum + widths[child], 0);
        assert(children.length === 0 || Math.abs(width - widths[row]) < 1e-9, `the children of ${row} are as wide as it`);
        assertEqual(nodeAt(icicle, starts[row] + widths[row] / 2, trace.ply(row)), row);
    }
    for (const step of someSteps(random, trace, 20)) {
        const { visited } = stateAt(trace, step);
        icicle.rows.forEach((rows, ply) => {
            const ends = rows.filter((row) => row < visited).map((row) => starts[row] + widths[row]);
            assert(Math.abs(visitedPart(icicle, ply, visited) - Math.max(0, ...ends)) < 1e-12, `level ${ply} at step ${step}`);
        });
    }
});

test("the overview paints at most 100 parts for a step, and leads to the step of a node by click and key", async () => {
    await loadStyles();
    const trace = large();
    const box = boxOf(500, 200);
    let step = 1;
    const draw = () => render(box, h("glass-overview", { ".scene": { trace, state: stateAt(trace, step) }, "onglass-step": (event) => ((step = event.detail.step), draw()), managesChildren: true }));
    draw();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const canvas = box.querySelector("canvas");
    const bounds = canvas.getBoundingClientRect();
    canvas.setPointerCapture = () => {};
    canvas.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true, clientX: bounds.right - 2, clientY: bounds.top + bounds.height / icicleLevels(trace) + 2 }));
    assertEqual(step, trace.enterStep(trace.children(0).at(-1)) + 1);
    const now = () => Number(canvas.getAttribute("aria-valuenow"));
    const visited = now();
    const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    press("ArrowLeft");
    assertEqual([now(), step], [visited - 1, trace.enterStep(visited - 2) + 1]);
    press("Home");
    assertEqual([now(), step], [1, 1]);
    press("End");
    assertEqual([now(), step, canvas.getAttribute("aria-valuetext").startsWith("root: MAX")], [trace.count, trace.stepCount, true]);
    const context = CanvasRenderingContext2D.prototype;
    let parts = 0;
    for (const name of ["fillRect", "drawImage", "clearRect"]) {
        const paint = context[name];
        context[name] = function (...values) {
            parts++;
            return paint.apply(this, values);
        };
    }
    for (const other of someSteps(random, trace, 20)) {
        [step, parts] = [other, 0];
        draw();
        assert(parts > 0 && parts <= 100, `${parts} parts at step ${step}`);
    }
});

function icicleLevels(trace) {
    return placeIcicle(trace).rows.length;
}

test("an exported picture has the look of the drawing in light colours, and needs no style sheet", async () => {
    await loadStyles();
    const properties = ["fill", "stroke", "strokeWidth", "strokeDasharray", "opacity", "strokeOpacity"];
    const ofText = [...properties, "fontSize", "fontWeight", "textAnchor", "paintOrder"];
    for (const trace of [small(), large()])
        for (const step of someSteps(random, trace, 3)) {
            const scene = { trace, state: stateAt(trace, step), view: "window", differs: (row) => row % 4 === 1, differsCut: () => true };
            const box = boxOf(900, 700);
            render(box, h("div", { class: "page search-pair" }, drawPicture(scene)));
            const svg = new DOMParser().parseFromString(toSvg(scene), "image/svg+xml").documentElement;
            const other = document.createElement("div");
            document.body.append(other);
            other.append(document.importNode(svg, true));
            const parts = (parent) => [...parent.querySelectorAll("svg :is(path, rect:not([width='100%']), circle, text)")];
            const [drawn, exported] = [parts(box), parts(other)];
            assertEqual(drawn.length, exported.length);
            const look = (part) => (part.localName === "text" ? ofText : properties).map((name) => `${name} ${getComputedStyle(part)[name]}`);
            drawn.forEach((part, i) => assertEqual([part.outerHTML, look(exported[i])], [part.outerHTML, look(part)]));
            assertEqual(exported.filter((part) => part.hasAttribute("class")).length, 0);
        }
});

test("the ends of the scale say win and loss where the nodes do", () => {
    const ends = (head) => {
        const { low, high } = scaleTexts({ head }, { low: -29_990, middle: 0, high: 29_997 });
        return [low, high];
    };
    assertEqual(ends({ game: "chess", evaluator: "estimate" }), ["loss", "win"]);
    assertEqual([ends({ game: "", evaluator: "estimate" }), ends({ game: "chess", evaluator: "zero" })], [["−29990", "29997"], ["−29990", "29997"]]);
});
