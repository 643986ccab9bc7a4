/**
 * Draws a board as SVG, in units of one cell. Pure functions.
 *
 * @import {Grid, Kind, MoveView, Sites} from "../shell/protocol.js"
 * @import {VNode} from "../shell/elements.js"
 * @import {Layout, Place} from "./geometry.js"
 * @import {Scene} from "./board.js"
 */

import { drawArrows } from "./arrows.js";
import { HEXAGON_RADIUS, starPoints } from "./geometry.js";
import { drawPiece } from "./pieces.js";
import { h } from "../shell/elements.js";

/**
 * The user's current interaction with the board: the selection, the focus and the pointer.
 * @typedef {object} State
 * @property {string[]} selection the cells clicked so far
 * @property {string | null} current the cell that Tab leads to
 * @property {string | null} focus the cell with the visible keyboard focus
 * @property {string | null} hovered the cell under the pointer or with the keyboard focus, if it can
 *     be clicked
 * @property {Set<string>} next the cells that can be clicked
 * @property {MoveView | null} preview the move whose effect is shown
 * @property {{cell: string, kind: string, from: string | null} | null} [placed] the piece that the
 *     selection has put on the board
 * @property {boolean} [showHints] whether to mark the playable cells, after a press without effect
 * @property {string | null} [aim] a small cell that a finger has touched and not confirmed yet
 */

/** The corners of a hexagon. */
const HEXAGON = hexagon(Math.PI / 6);
/** The same on a board that stands upright. */
const UPRIGHT_HEXAGON = hexagon(0);
/** The radius of a hole in the plate, in cells. */
const HOLE_RADIUS = 0.425;
/** Maximum number of cells that are marked as playable after a press without effect. */
const MAX_HINTS = 40;
/** The marks with a shape of their own; any other mark is a ring or a tint. */
const KNOWN_MARKS = new Set(["last", "check", "win", "lane", "selected", "hint", "affects"]);

/**
 * The corners of a hexagon, the first of them at an angle.
 * @param {number} first
 */
function hexagon(first) {
    return Array.from({ length: 6 }, (_, i) => {
        const angle = (Math.PI / 3) * i + first;
        return `${(HEXAGON_RADIUS * Math.cos(angle)).toFixed(3)},${(HEXAGON_RADIUS * Math.sin(angle)).toFixed(3)}`;
    }).join(" ");
}

/**
 * The whole board as an SVG element.
 * @param {Scene} scene
 * @param {Layout} layout
 * @param {State} state
 * @returns {VNode}
 */
export function drawBoard(scene, layout, state) {
    const { board } = scene.board;
    const style = board.style ?? "plain";
    const { box } = layout;
    const [first, second] = scene.board.seats;
    const colours = { "--side-0": first?.colour ?? "", "--side-1": second?.colour ?? "" };
    const height = { "--board-height": box.height.toFixed(2) };
    return h(
        "svg",
        {
            class: `board ${style} ${board.kind}`,
            viewBox: `${box.x} ${box.y} ${box.width} ${box.height}`,
            ...colours,
            ...height,
        },
        h("rect", { class: "frame", ...layout.frame, rx: style === "holes" ? 0.3 : 0.06 }),
        drawBackground(board, layout),
        drawCells(scene, layout, state),
        drawMarks(scene, layout, state, "under"),
        drawPieces(scene, layout, state),
        style === "holes" ? drawPlate(layout) : null,
        drawMarks(scene, layout, state, "over"),
        scene.arrows?.length ? drawArrows(layout, scene.arrows) : null,
        drawAim(layout, state.aim ?? null),
        drawFocus(layout, state.focus),
        drawLabels(layout, scene),
    );
}

/**
 * The background of the cells: light squares, lines, and edges in the colours of the sides.
 * @param {Grid | Sites} board
 * @param {Layout} layout
 */
function drawBackground(board, layout) {
    if (board.kind === "sites") {
        const edges = layout.edges.map(({ side, strokes }) =>
            h("path", { class: `edge side-${side}`, d: strokes.map(strokePath).join("") }),
        );
        return [h("g", { class: "edges" }, edges), h("path", { class: "lines", d: linesPath(board.lines ?? [], layout) })];
    }
    const { cols, rows } = board;
    if (board.style === "checker")
        return h("rect", { class: "light-squares", x: -0.5, y: -0.5, width: cols, height: rows });
    if (board.style !== "points") return null;
    const across = layout.rows.flatMap((row) => contiguousRuns(row, "x"));
    const columns = Array.from({ length: cols }, (_, x) => layout.rows.flatMap((row) => row.find((place) => place.x === x) ?? []));
    const down = columns.flatMap((column) => contiguousRuns(column, "y"));
    const stars = cols === rows ? starPoints(cols) : [];
    return [
        h("path", { class: "lines", d: [...across, ...down].map(strokePath).join("") }),
        stars.map(([cx, cy]) => h("circle", { class: "star", cx, cy, r: 0.09 })),
    ];
}

/**
 * The runs of neighbouring places in a row or a column.
 * @param {Place[]} places
 * @param {"x" | "y"} axis
 * @returns {Place[][]}
 */
function contiguousRuns(places, axis) {
    /** @type {Place[][]} */
    const runs = [];
    for (const place of places) {
        const run = runs.at(-1);
        const previous = run?.at(-1);
        if (run && previous && place[axis] - previous[axis] === 1) run.push(place);
        else runs.push([place]);
    }
    return runs;
}

/** @param {{x: number, y: number}[]} points */
function strokePath(points) {
    return `M${points.map(({ x, y }) => `${+x.toFixed(3)} ${+y.toFixed(3)}`).join("L")}`;
}

/**
 * @param {string[][]} lines
 * @param {Layout} layout
 */
function linesPath(lines, { byId }) {
    return lines.map((line) => strokePath(line.flatMap((id) => byId.get(id) ?? []))).join("");
}

/**
 * The cells, as the grid that screen readers read and in which the arrow keys move.
 * @param {Scene} scene
 * @param {Layout} layout
 * @param {State} state
 */
function drawCells(scene, layout, state) {
    const rows = layout.rows.map((row) =>
        h(
            "g",
            { role: "row" },
            row.map((place) => drawCell(scene, place, state, layout.isUpright)),
        ),
    );
    return h("g", { role: "grid", "aria-label": scene.label, "aria-readonly": scene.moves.length === 0 }, rows);
}

/**
 * @param {Scene} scene
 * @param {Place} place
 * @param {State} state
 * @param {boolean} isUpright
 */
function drawCell(scene, place, state, isUpright) {
    const selected = state.selection.includes(place.id);
    const attributes = {
        key: place.id,
        role: "gridcell",
        "data-cell": place.id,
        tabindex: place.id === state.current ? 0 : -1,
        class: ["cell", place.dark ? "dark" : "light", place.side != null && `of-${place.side}`, state.next.has(place.id) && "next"],
        transform: translateTo(place),
        "aria-label": cellLabel(scene, place.id, state.next),
        "aria-selected": selected,
    };
    return h(
        "g",
        attributes,
        cellShape(place, "ground", isUpright),
        place.shape === "point" ? h("circle", { class: "point", r: 0.13 }) : null,
    );
}

/**
 * A cell's text for screen readers: its id, its piece, its marks, and whether it can be played.
 * @param {Scene} scene
 * @param {string} cell
 * @param {Set<string>} next
 */
function cellLabel(scene, cell, next) {
    const kind = scene.position?.pieces[cell];
    const marks = Object.entries(markedCells(scene)).filter(([, cells]) => cells.includes(cell));
    const words = [cell, kind === undefined ? "empty" : (scene.board.kinds[kind]?.name ?? kind)];
    for (const [name] of marks) words.push(markText(name));
    if (next.has(cell)) words.push("can play");
    return words.join(", ");
}

/**
 * A mark in words.
 * @param {string} name
 */
export function markText(name) {
    return name === "last" ? "last move" : name === "win" ? "winning" : name;
}

/**
 * @param {Place} place
 */
function translateTo(place) {
    return `translate(${place.x} ${place.y})`;
}

/**
 * The shape of a place.
 * @param {Place} place
 * @param {string} name the element's class
 * @param {boolean} isUpright
 */
function cellShape(place, name, isUpright) {
    if (place.shape === "hex") return h("polygon", { class: name, points: isUpright ? UPRIGHT_HEXAGON : HEXAGON });
    if (place.shape === "square") return h("rect", { class: name, x: -0.5, y: -0.5, width: 1, height: 1 });
    return h("circle", { class: name, r: 0.46 });
}

/**
 * @param {Scene} scene
 * @param {Layout} layout
 * @param {State} state
 */
function drawPieces(scene, layout, state) {
    const { kinds } = scene.board;
    const affected = state.preview?.affects ?? [];
    const winning = markedCells(scene).win ?? [];
    const pieces = Object.entries(piecesOf(scene, state)).flatMap(([cell, kind]) => {
        const place = layout.byId.get(cell);
        if (!place) return [];
        const attributes = {
            key: `${cell} ${kind}`,
            class: [
                "at",
                affected.includes(cell) && "affected",
                winning.length > 0 && !winning.includes(cell) && "beside-win",
            ],
            "data-at": cell,
            transform: translateTo(place),
        };
        return [h("g", attributes, drawPiece(kinds[kind]))];
    });
    return h(
        "g",
        { class: "pieces", "aria-hidden": "true" },
        h("g", { key: "leaving", class: "leaving", managesChildren: true }),
        pieces,
        drawGhost(scene, layout, state),
    );
}

/**
 * The pieces of the position, with the piece that the selection has put on the board.
 * @param {Scene} scene
 * @param {State} state
 * @returns {Record<string, string>}
 */
function piecesOf({ position }, { placed = null }) {
    const pieces = position?.pieces ?? {};
    if (placed === null) return pieces;
    const others = Object.entries(pieces).filter(([cell]) => cell !== placed.from);
    return Object.fromEntries([...others, [placed.cell, placed.kind]]);
}

/**
 * The translucent piece of the previewed move.
 * @param {Scene} scene
 * @param {Layout} layout
 * @param {State} state
 */
function drawGhost(scene, layout, { preview, placed = null }) {
    if (!preview?.ghost) return null;
    const [cell, kind] = preview.ghost;
    if (placed?.cell === cell) return null;
    const place = layout.byId.get(cell);
    const name = preview === scene.pending ? "ghost pending" : "ghost";
    return place
        ? h("g", { key: "ghost", class: name, transform: translateTo(place) }, drawPiece(scene.board.kinds[kind]))
        : null;
}

/**
 * The plate in front of the discs, with a hole for each place.
 * @param {Layout} layout
 */
function drawPlate({ frame, places }) {
    const { x, y, width, height } = frame;
    const r = 0.3;
    const edge = `M${x + r} ${y}h${width - 2 * r}a${r} ${r} 0 0 1 ${r} ${r}v${height - 2 * r}a${r} ${r} 0 0 1 ${-r} ${r}h${2 * r - width}a${r} ${r} 0 0 1 ${-r} ${-r}v${2 * r - height}a${r} ${r} 0 0 1 ${r} ${-r}z`;
    const holes = places.map(
        (place) =>
            `M${place.x - HOLE_RADIUS} ${place.y}a${HOLE_RADIUS} ${HOLE_RADIUS} 0 1 0 ${2 * HOLE_RADIUS} 0a${HOLE_RADIUS} ${HOLE_RADIUS} 0 1 0 ${-2 * HOLE_RADIUS} 0z`,
    );
    return h(
        "g",
        { class: "plate", "aria-hidden": "true" },
        h("path", { d: edge + holes.join(""), "fill-rule": "evenodd" }),
        places.map((place) => h("circle", { class: "rim", cx: place.x, cy: place.y, r: HOLE_RADIUS })),
    );
}

/**
 * The marks of one level: tints lie under the pieces, rings and dots over them.
 * @param {Scene} scene
 * @param {Layout} layout
 * @param {State} state
 * @param {"under" | "over"} level
 */
function drawMarks(scene, layout, state, level) {
    const style = scene.board.board.style ?? "plain";
    const marks = marksOf(scene, state).flatMap(({ name, cell }) => {
        const place = layout.byId.get(cell);
        if (!place) return [];
        // The lines to the dots that may come next show the dots too.
        if (name === "hint" && style === "bare" && place.shape === "point") return [];
        // What may be drawn on an empty place has its direction.
        const line = name === "hint" && style === "bare" && scene.moves.find(({ path }) => path[0] === cell)?.ghost?.[1];
        const kind = scene.board.kinds[line || scene.position?.pieces[cell] || ""];
        const shape = markShape(name, place, style, kind, layout.isUpright);
        return shape.level === level
            ? [h("g", { key: `${name} ${cell}`, class: ["mark", name, place.dark && "on-dark"], transform: translateTo(place) }, shape.drawing)]
            : [];
    });
    return h("g", { class: level, "aria-hidden": "true" }, marks);
}

/**
 * The cells of each mark; a label with cells is replaced by its cells. A label without cells stays,
 * and is shown beside the board.
 * @param {Scene} scene
 * @returns {Record<string, string[]>}
 */
function markedCells(scene) {
    const { targets = {} } = scene.board;
    const marks = Object.entries(scene.position?.marks ?? {});
    return Object.fromEntries(marks.map(([name, places]) => [name, places.flatMap((place) => targets[place] ?? [place])]));
}

/**
 * All marks: those of the position, and those for the pointer, the selection and the preview.
 * @param {Scene} scene
 * @param {State} state
 * @returns {{name: string, cell: string}[]}
 */
function marksOf(scene, state) {
    const { board, targets = {} } = scene.board;
    const { last = [], ...otherCells } = markedCells(scene);
    const otherMarks = Object.entries(otherCells).flatMap(([name, cells]) => cells.map((cell) => ({ name, cell })));
    const lane = Object.values(targets).find((cells) => state.hovered !== null && cells.includes(state.hovered)) ?? [];
    // Hints on most cells of a board would not help.
    const showHints = state.showHints === true && state.next.size <= MAX_HINTS;
    const hints = state.selection.length > 0 || board.style === "felt" || showHints ? [...state.next] : [];
    const mark = (/** @type {string} */ name) => (/** @type {string} */ cell) => ({ name, cell });
    return [
        ...last.map(mark("last")),
        ...otherMarks,
        ...lane.map(mark("lane")),
        ...state.selection.map(mark("selected")),
        ...hints.map(mark("hint")),
        ...(state.preview?.affects ?? []).map(mark("affects")),
    ];
}

/**
 * @param {string} name
 * @param {Place} place
 * @param {string} style
 * @param {Kind | undefined} kind the kind of the piece on the place
 * @param {boolean} isUpright
 * @returns {{level: "under" | "over", drawing: VNode}}
 */
function markShape(name, place, style, kind, isUpright) {
    const [occupied, angle] = [kind !== undefined, angleOf(kind)];
    const hasRoundPieces = style === "holes" || style === "felt" || style === "points";
    const isOverPieces = hasRoundPieces || place.shape !== "square";
    if (style === "bare" && (name === "hint" || name === "last"))
        return {
            level: "under",
            drawing: h("rect", {
                class: "trace",
                ...{ x: -0.11, y: -0.43, width: 0.22, height: 0.86, rx: 0.1 },
                transform: angle ? `rotate(${angle})` : null,
            }),
        };
    if (name === "hint") {
        const drawing = occupied
            ? h("circle", { class: "ring", r: 0.44 })
            : h("circle", { class: "dot", r: style === "felt" ? 0.1 : 0.16 });
        return { level: "over", drawing };
    }
    if (name === "last" && kind?.count)  // a dot would cover the number
        return { level: "over", drawing: h("circle", { class: "rim", r: 0.46 }) };
    if (name === "last" && isOverPieces)
        return { level: "over", drawing: h("circle", { class: occupied ? "dot" : "dot vacated", r: 0.1 }) };
    if (isOverPieces && !KNOWN_MARKS.has(name))
        return { level: "over", drawing: h("circle", { class: "ring", r: 0.44 }) };
    if (name === "check") return { level: "under", drawing: h("circle", { class: "tint", r: 0.5 }) };
    if (name === "win" && isOverPieces) return { level: "over", drawing: h("circle", { class: "ring", r: 0.36 }) };
    if (name === "lane")
        return { level: "over", drawing: h("rect", { class: "tint", x: -0.5, y: -0.5, width: 1, height: 1 }) };
    return { level: "under", drawing: cellShape(place, "tint", isUpright) };
}

/**
 * The angle of a stick or a line from the vertical, clockwise, in degrees.
 * @param {Kind | undefined} kind
 */
function angleOf(kind) {
    return (kind?.angle ?? 0) + (kind?.shape === "line" ? 90 : 0);
}

/**
 * Lines through the cell that a finger has touched, because the finger hides the cell.
 * @param {Layout} layout
 * @param {string | null} cell
 */
function drawAim({ byId, frame }, cell) {
    const place = byId.get(cell ?? "");
    if (!place) return null;
    const { x, y, width, height } = frame;
    const d = `M${x} ${place.y}h${width}M${place.x} ${y}v${height}`;
    return h("g", { key: "aim", class: "aim", "aria-hidden": "true" }, h("path", { d }));
}

/**
 * @param {Layout} layout
 * @param {string | null} cell
 */
function drawFocus({ byId, isUpright }, cell) {
    const place = byId.get(cell ?? "");
    if (!place) return null;
    const ring = { class: "focus", transform: translateTo(place) };
    if (place.shape === "hex") return h("polygon", { key: "focus hex", ...ring, points: isUpright ? UPRIGHT_HEXAGON : HEXAGON });
    const square = { x: -0.47, y: -0.47, width: 0.94, height: 0.94, rx: 0.1 };
    return h("rect", { key: "focus", ...ring, ...square });
}

/**
 * The labels. A small board hides those that its pieces would cover.
 * @param {Layout} layout
 * @param {Scene} scene
 */
function drawLabels({ labels }, scene) {
    const pieces = scene.position?.pieces ?? {};
    return h(
        "g",
        { class: "labels", "aria-hidden": "true" },
        labels.map(({ x, y, text, size, inside }) =>
            h("text", { x, y, dy: inside ? ".8em" : ".28em", "--size": `${(0.6 * size).toFixed(2)}px`, class: inside ? ["inside", text in pieces && "taken"] : null }, text),
        ),
    );
}
