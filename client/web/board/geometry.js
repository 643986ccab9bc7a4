/**
 * Computes where the cells of a board and its labels are, in units of one cell; x points to the
 * right and y down. Pure functions.
 *
 * @import {BoardView, Grid, Sites} from "../shell/protocol.js"
 */

/**
 * A cell of the board with its centre; `dark` is the colour of a square on a checkerboard, and
 * `side` the side that the cell belongs to.
 * @typedef {{id: string, x: number, y: number, shape: "square" | "hex" | "point" | "round", dark:
 *     boolean, side?: number | null}} Place
 */
/** @typedef {{x: number, y: number, width: number, height: number}} Box */
/**
 * `size` is the height of the text in cells; `inside` is set for a text in a cell.
 * @typedef {{x: number, y: number, text: string, size: number, inside?: boolean}} Label
 */
/**
 * @typedef {{x: number, y: number}[]} Stroke the points of a line, in order
 */
/**
 * The places of a board. `rows` has them in reading order, `links` has each place's neighbours along
 * the board's lines, and `edges` has the outer edges that belong to a side. `frame` surrounds the
 * cells, and `box` also the labels.
 * @typedef {object} Layout
 * @property {Place[]} places
 * @property {Map<string, Place>} byId
 * @property {Place[][]} rows
 * @property {Map<string, Set<string>>} links
 * @property {{side: number, strokes: Stroke[]}[]} edges
 * @property {Box} box
 * @property {Box} frame
 * @property {Label[]} labels
 * @property {boolean} isUpright whether the board stands upright: it is turned by 90 degrees
 */

/** How far the frame extends beyond the outermost cells, in cells. */
const FRAME_MARGIN = 0.12;
/** How much further it extends on boards with coloured edges, in cells. */
const EDGE_MARGIN = 0.14;
/** The height of a label, in cells. */
const LABEL_SIZE = 0.34;
/** The height of a label on boards with small cells, in cells. */
const LARGE_LABEL_SIZE = 0.6;
/** A board with at least this many cells in a row has small cells. */
const LARGE_LABEL_CELLS = 12;
/** The height of a cell's name, in cells; it fits into the corner beside a piece. */
const CELL_NAME_SIZE = 0.27;
/** A point belongs to a place if it is less than this far from its centre on both axes, in cells. */
const MAX_POINT_DISTANCE = 0.62;
/** The distance of a hexagon's corners from its centre, in cells. */
export const HEXAGON_RADIUS = 1 / Math.sqrt(3);

/**
 * The layout of a board.
 * @param {Grid | Sites} board
 * @param {boolean} flip whether to turn the board by 180 degrees
 * @returns {Layout}
 */
export function layOut(board, flip) {
    const places = board.kind === "grid" ? gridPlaces(board) : sitePlaces(board);
    const width = Math.max(...places.map((place) => place.x));
    const height = Math.max(...places.map((place) => place.y));
    const positioned = flip ? places.map((place) => ({ ...place, x: width - place.x, y: height - place.y })) : places;
    const byId = new Map(positioned.map((place) => [place.id, place]));
    const margin = FRAME_MARGIN + (board.kind === "sites" && board.borders?.length ? EDGE_MARGIN : 0);
    const frame = { x: -0.5 - margin, y: -0.5 - margin, width: width + 1 + 2 * margin, height: height + 1 + 2 * margin };
    const size = Math.max(width, height) + 1 < LARGE_LABEL_CELLS ? LABEL_SIZE : LARGE_LABEL_SIZE;
    const labels = board.kind === "grid" ? gridLabels(board, flip, positioned, frame, size) : siteLabels(positioned, frame, size);
    const layout = {
        places: positioned,
        byId,
        rows: placeRows(positioned),
        links: board.kind === "sites" ? linksAlong(board.lines ?? []) : new Map(),
        edges: board.kind === "sites" ? edgesOf(board.borders ?? [], byId) : [],
        box: boxAround(frame, labels, size),
        frame,
        labels,
        isUpright: false,
    };
    return standsUpright(board) ? upright(layout, size) : layout;
}

/** On a narrow upright window, such as a phone's, a wide board of hexagons stands upright. */
const uprightWindow = matchMedia("(max-width: 700px) and (max-aspect-ratio: 4/5)");

/**
 * Whether the board is turned by 90 degrees, so that its cells are larger.
 * @param {Grid | Sites} board
 */
export function standsUpright(board) {
    return uprightWindow.matches && board.kind === "sites" && board.sites.every(({ shape }) => shape === "hex");
}

/**
 * Calls a function whenever boards begin or end to stand upright; returns a function that ends this.
 * @param {() => void} listener
 */
export function onUprightChange(listener) {
    uprightWindow.addEventListener("change", listener);
    return () => uprightWindow.removeEventListener("change", listener);
}

/**
 * The layout turned clockwise by 90 degrees. The texts of its labels are not turned.
 * @param {Layout} layout
 * @param {number} size the height of a label
 * @returns {Layout}
 */
export function upright(layout, size) {
    const { frame } = layout;
    const turn = (/** @type {{x: number, y: number}} */ { x, y }) => ({ x: frame.height + 2 * frame.y - y, y: x });
    const places = layout.places.map((place) => ({ ...place, ...turn(place) }));
    const labels = layout.labels.map((label) => ({ ...label, ...turn(label) }));
    const turned = { x: frame.y, y: frame.x, width: frame.height, height: frame.width };
    const box = boxAround(turned, labels, size);
    const right = Math.max(box.x + box.width, ...labels.map(({ x }) => x + size / 2));
    return {
        ...layout,
        places,
        byId: new Map(places.map((place) => [place.id, place])),
        rows: placeRows(places),
        edges: layout.edges.map(({ side, strokes }) => ({ side, strokes: strokes.map((stroke) => stroke.map(turn)) })),
        box: { ...box, width: right - box.x },
        frame: turned,
        labels,
        isUpright: true,
    };
}

/** The width of each board divided by its height, lying and standing. @type {WeakMap<Grid | Sites, number>[]} */
const aspects = [new WeakMap(), new WeakMap()];
/** A board whose width is at least this many times its height is wide. */
const WIDE_ASPECT = 1.4;

/**
 * Whether a board is much wider than high, so that it needs the width of the page.
 * @param {Grid | Sites | null} board
 */
export function isWide(board) {
    return board !== null && boardAspect(board) >= WIDE_ASPECT;
}

/**
 * The width of a board divided by its height; 1 for an unknown board.
 * @param {Grid | Sites | null} board
 */
export function boardAspect(board) {
    if (board === null) return 1;
    const kept = aspects[Number(standsUpright(board))];
    const known = kept.get(board);
    if (known !== undefined) return known;
    const { width, height } = layOut(board, false).box;
    kept.set(board, width / height);
    return width / height;
}

/**
 * The smallest box around the frame and the labels outside it.
 * @param {Box} frame
 * @param {Label[]} labels
 * @param {number} size
 * @returns {Box}
 */
function boxAround(frame, labels, size) {
    const outside = labels.filter(({ inside }) => !inside);
    const left = Math.min(frame.x, ...outside.map(({ x }) => x - size / 2));
    const top = Math.min(frame.y, ...outside.map(({ y }) => y - size / 2));
    const bottom = Math.max(frame.y + frame.height, ...outside.map(({ y }) => y + size / 2));
    return { x: left, y: top, width: frame.x + frame.width - left, height: bottom - top };
}

/**
 * @param {Grid} board
 * @returns {Place[]}
 */
function gridPlaces(board) {
    const places = [];
    const areAllDark = hasOneColour(board);
    for (let row = 0; row < board.rows; row++) {
        for (let col = 0; col < board.cols; col++) {
            const id = board.names ? board.names[row]?.[col] : cellName(col, row);
            if (id == null) continue;
            const dark = areAllDark || (row + col) % 2 === 0;
            places.push({ id, x: col, y: gridY(board, row), shape: /** @type {const} */ ("square"), dark });
        }
    }
    return places;
}

/**
 * Whether all cells are squares of one colour of a checkerboard; they are drawn as dark squares.
 * @param {Grid} board
 */
function hasOneColour({ names }) {
    if (!names) return false;
    const cells = names.flatMap((row, y) => row.flatMap((name, x) => (name === null ? [] : [(x + y) % 2])));
    return names.flat().includes(null) && new Set(cells).size === 1;
}

/**
 * @param {number} col
 * @param {number} row
 */
function cellName(col, row) {
    return `${String.fromCharCode(97 + col)}${row + 1}`;
}

/**
 * @param {Grid} board
 * @param {number} row
 */
function gridY(board, row) {
    return board.origin === "top-left" ? row : board.rows - 1 - row;
}

/**
 * @param {Sites} board
 * @returns {Place[]}
 */
function sitePlaces(board) {
    const left = Math.min(...board.sites.map((site) => site.x));
    const top = Math.min(...board.sites.map((site) => site.y));
    return board.sites.map(({ id, x, y, shape = "square", side = null }) => ({ id, x: x - left, y: y - top, shape, side, dark: false }));
}

/**
 * Letters under the columns and numbers beside the rows. A board with gravity has no numbers,
 * because only the column matters. Cells with other names, such as those of draughts, show their
 * names.
 * @param {Grid} board
 * @param {boolean} flip
 * @param {Place[]} positioned
 * @param {Box} frame
 * @param {number} size
 * @returns {Label[]}
 */
function gridLabels(board, flip, positioned, frame, size) {
    if (board.labels === false) return [];
    if (board.names && !areUsualNames(board.names))
        return positioned.map(({ id, x, y }) => ({ x: x - 0.48, y: y - 0.48, text: id, size: CELL_NAME_SIZE, inside: true }));
    const labels = [];
    for (let col = 0; col < board.cols; col++) {
        const x = flip ? board.cols - 1 - col : col;
        labels.push({ x, y: frame.y + frame.height + size / 2, text: String.fromCharCode(97 + col), size });
    }
    if (board.gravity) return labels;
    for (let row = 0; row < board.rows; row++) {
        const y = flip ? board.rows - 1 - gridY(board, row) : gridY(board, row);
        labels.push({ x: frame.x - size / 2, y, text: String(row + 1), size });
    }
    return labels;
}

/**
 * Letters and numbers for places whose ids are a letter and a number (f4): below upright columns and
 * beside level rows, and at the ends of slanted ones (on boards of hexagons). Places with other ids
 * have no label.
 * @param {Place[]} positioned
 * @param {Box} frame
 * @param {number} size
 * @returns {Label[]}
 */
function siteLabels(positioned, frame, size) {
    const named = positioned
        .map((place) => ({ place, parts: /^([a-z])(\d{1,2})$/.exec(place.id) }))
        .filter(({ parts }) => parts !== null);
    /** @type {Map<string, Place[]>} */
    const lines = new Map();
    for (const { place, parts } of named)
        for (const name of parts?.slice(1) ?? []) lines.set(name, [...(lines.get(name) ?? []), place]);
    return [...lines].map(([text, line]) => {
        const isColumn = /[a-z]/.test(text);
        const end = line.reduce((a, b) => (isColumn ? a.y <= b.y : a.x <= b.x) ? a : b);
        const upright = line.every(({ x, y }) => (isColumn ? x === end.x : Math.abs(y - end.y) < 0.01));
        if (isColumn && !upright) return { x: end.x - 0.46, y: end.y - 0.8, text, size };
        if (isColumn) return { x: end.x, y: frame.y + frame.height + size / 2, text, size };
        return { x: end.shape === "hex" ? end.x - 0.95 : frame.x - size / 2, y: end.y, text, size };
    });
}

/**
 * Whether each name is the column's letter and the row's number.
 * @param {(string | null)[][]} names
 */
function areUsualNames(names) {
    return names.every((row, y) => row.every((name, x) => name === null || name === cellName(x, y)));
}

/**
 * @param {string[][]} lines
 * @returns {Map<string, Set<string>>}
 */
function linksAlong(lines) {
    const links = new Map();
    const link = (/** @type {string} */ from, /** @type {string} */ to) =>
        links.set(from, (links.get(from) ?? new Set()).add(to));
    for (const line of lines) {
        line.slice(1).forEach((to, i) => {
            link(line[i], to);
            link(to, line[i]);
        });
    }
    return links;
}

/**
 * The strokes along the outer edges of hexagons, for each border. Each half of an edge belongs to the
 * border that faces in the most similar direction, so two borders meet in the middle of an edge at
 * their common corner.
 * @param {NonNullable<Sites["borders"]>} borders
 * @param {Map<string, Place>} byId
 */
function edgesOf(borders, byId) {
    const places = [...byId.values()];
    const middle = centreOf(places);
    const edges = borders.map(({ side, sites }) => {
        const along = sites.flatMap((id) => byId.get(id) ?? []);
        const { x, y } = centreOf(along);
        return { side, along, facing: Math.atan2(y - middle.y, x - middle.x), strokes: /** @type {Stroke[]} */ ([]) };
    });
    for (const place of new Set(edges.flatMap(({ along }) => along))) {
        const candidates = edges.filter(({ along }) => along.includes(place));
        for (const { angle, stroke } of outerHalfEdges(place, places)) {
            const similarities = candidates.map(({ facing }) => Math.cos(angle - facing));
            candidates[similarities.indexOf(Math.max(...similarities))].strokes.push(stroke);
        }
    }
    return edges.map(({ side, strokes }) => ({ side, strokes }));
}

/** @param {{x: number, y: number}[]} places */
function centreOf(places) {
    const sum = (/** @type {"x" | "y"} */ axis) => places.reduce((total, place) => total + place[axis], 0);
    return { x: sum("x") / places.length, y: sum("y") / places.length };
}

/**
 * The halves of a hexagon's outer edges, each with the direction that it faces. An edge is an outer
 * edge if there is no place on its other side.
 * @param {Place} place
 * @param {Place[]} places
 */
function outerHalfEdges({ x, y }, places) {
    const point = (/** @type {number} */ angle, /** @type {number} */ radius) => ({
        x: x + radius * Math.cos(angle),
        y: y + radius * Math.sin(angle),
    });
    const sixth = Math.PI / 3;
    return Array.from({ length: 6 }, (_, i) => i * sixth).flatMap((angle) => {
        const beyond = point(angle, 1);
        if (places.some((other) => Math.hypot(other.x - beyond.x, other.y - beyond.y) < 0.3)) return [];
        return [-1, 1].map((sign) => ({
            angle: angle + (sign * sixth) / 4,
            stroke: [point(angle, Math.sqrt(3) / 2 * HEXAGON_RADIUS), point(angle + (sign * sixth) / 2, HEXAGON_RADIUS)],
        }));
    });
}

/**
 * Places in reading order; places of the same height make a row.
 * @param {Place[]} places
 * @returns {Place[][]}
 */
function placeRows(places) {
    /** @type {Map<number, Place[]>} */
    const rows = new Map();
    for (const place of places) {
        const height = Math.round(place.y * 4);
        rows.set(height, [...(rows.get(height) ?? []), place]);
    }
    const inOrder = [...rows].sort(([a], [b]) => a - b).map(([, row]) => row);
    return inOrder.map((row) => row.sort((a, b) => a.x - b.x));
}

/**
 * The place that an arrow key leads to: the next one on a line of the board in that direction;
 * otherwise the next of the row, or the nearest of the row above or below. The keys reach every
 * place on boards of squares, hexagons and points.
 * @param {Pick<Layout, "rows" | "links" | "byId">} layout
 * @param {Place} from
 * @param {[number, number]} direction
 * @returns {Place | null}
 */
export function neighbour({ rows, links, byId }, from, [dx, dy]) {
    const linked = [...(links.get(from.id) ?? [])].flatMap((id) => byId.get(id) ?? []);
    const ahead = linked.filter(({ x, y }) => {
        const along = (x - from.x) * dx + (y - from.y) * dy;
        return along > Math.abs((x - from.x) * dy) + Math.abs((y - from.y) * dx);
    });
    if (ahead.length > 0) return ahead[0];
    const rowIndex = rows.findIndex((row) => row.includes(from));
    if (dx !== 0) return rows[rowIndex]?.[rows[rowIndex].indexOf(from) + dx] ?? null;
    return nearestInRow(rows[rowIndex + dy] ?? [], from, dy);
}

/**
 * The nearest place of a row. Of two equally near places it is the left one on the way up and the
 * right one on the way down, so that the opposite key leads back.
 * @param {Place[]} row
 * @param {Place} from
 * @param {number} dy
 */
function nearestInRow(row, from, dy) {
    const distance = (/** @type {Place} */ place) => Math.abs(place.x - from.x) - 1e-6 * dy * (place.x - from.x);
    return row.reduce(
        (best, place) => (best === null || distance(place) < distance(best) ? place : best),
        /** @type {Place | null} */ (null),
    );
}

/**
 * The place nearest to a point, or null when no place is near it.
 * @param {Place[]} places
 * @param {number} x
 * @param {number} y
 * @returns {Place | null}
 */
export function placeAt(places, x, y) {
    let best = null;
    let bestDistance = Infinity;
    for (const place of places) {
        const [across, down] = [Math.abs(place.x - x), Math.abs(place.y - y)];
        if (across < MAX_POINT_DISTANCE && down < MAX_POINT_DISTANCE && Math.hypot(across, down) < bestDistance) {
            bestDistance = Math.hypot(across, down);
            best = place;
        }
    }
    return best;
}

/**
 * Whether the user can turn the board: every board of sites, and a grid without gravity that has a
 * flippable style or is flipped for the second seat.
 * @param {Grid | Sites} board
 */
export function canFlip(board) {
    if (board.kind === "sites") return true;
    return !board.gravity && (board.flips === true || FLIPPABLE_STYLES.has(board.style ?? "plain"));
}

/** The styles of grids that the user can turn. */
const FLIPPABLE_STYLES = new Set(["checker", "felt", "points"]);

/**
 * Whether the board is drawn upside down for a viewer on this seat (null: a spectator). `isTurned`
 * says whether the viewer has turned it.
 * @param {Grid | Sites} board
 * @param {number | null} seat
 * @param {boolean} isTurned
 */
export function isFlipped(board, seat, isTurned) {
    const fromOtherSide = board.flips === true && seat === 1;
    return canFlip(board) && fromOtherSide !== isTurned;
}

/**
 * The usual star points of a square board of lines; none for an even size or below 9.
 * @param {number} size lines in each direction
 * @returns {[number, number][]}
 */
export function starPoints(size) {
    if (size < 9 || size % 2 === 0) return [];
    const [near, middle] = [size < 13 ? 2 : 3, (size - 1) / 2];
    const far = size - 1 - near;
    const all = size >= 19 ? [near, middle, far] : [near, far];
    /** @type {[number, number][]} */
    const stars = all.flatMap((x) => all.map((y) => /** @type {[number, number]} */ ([x, y])));
    return size >= 19 ? stars : [...stars, [middle, middle]];
}
