/**
 * Where the places of a board are, in units of one cell, x to the right and y downwards. Pure.
 *
 * @import {BoardView, Grid, Sites} from "./protocol.js"
 */

/** @typedef {{id: string, x: number, y: number, shape: "square" | "hex" | "point" | "round", dark: boolean}} Place */
/** @typedef {{x: number, y: number, width: number, height: number}} Box */
/** @typedef {{x: number, y: number, text: string}} Label */
/** @typedef {{places: Place[], byId: Map<string, Place>, rows: Place[][], box: Box, frame: Box, labels: Label[]}} Layout */

/** How far the frame reaches beyond the outermost cells, and how much room the labels take. */
const FRAME = 0.12;
const LABEL = 0.34;

/**
 * All that is needed to draw a board and to find one's way on it.
 * @param {Grid | Sites} board
 * @param {boolean} flip turned by half a circle
 * @returns {Layout}
 */
export function layOut(board, flip) {
    const places = board.kind === "grid" ? gridPlaces(board) : sitePlaces(board);
    const width = Math.max(...places.map((place) => place.x));
    const height = Math.max(...places.map((place) => place.y));
    const placed = flip ? places.map((place) => ({ ...place, x: width - place.x, y: height - place.y })) : places;
    const labels = board.kind === "grid" && board.labels !== false ? gridLabels(board, flip) : [];
    const left = labels.some((label) => label.x < -0.5) ? LABEL : 0;
    const below = labels.length > 0 ? LABEL : 0;
    const frame = { x: -0.5 - FRAME, y: -0.5 - FRAME, width: width + 1 + 2 * FRAME, height: height + 1 + 2 * FRAME };
    const box = { ...frame, x: frame.x - left, width: frame.width + left, height: frame.height + below };
    return {
        places: placed,
        byId: new Map(placed.map((place) => [place.id, place])),
        rows: rowsOf(placed),
        box,
        frame,
        labels,
    };
}

/**
 * @param {Grid} board
 * @returns {Place[]}
 */
function gridPlaces(board) {
    const places = [];
    for (let row = 0; row < board.rows; row++) {
        for (let col = 0; col < board.cols; col++) {
            const id = board.names ? board.names[row]?.[col] : cellName(col, row);
            if (id == null) continue;
            const dark = (row + col) % 2 === 0;
            places.push({ id, x: col, y: gridY(board, row), shape: /** @type {const} */ ("square"), dark });
        }
    }
    return places;
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
    return board.sites.map(({ id, x, y, shape = "square" }) => ({ id, x: x - left, y: y - top, shape, dark: false }));
}

/**
 * Letters under the columns; numbers beside the rows, except where discs fall and only the column matters.
 * @param {Grid} board
 * @param {boolean} flip
 * @returns {Label[]}
 */
function gridLabels(board, flip) {
    const labels = [];
    for (let col = 0; col < board.cols; col++) {
        const x = flip ? board.cols - 1 - col : col;
        labels.push({ x, y: board.rows - 0.5 + FRAME + LABEL / 2, text: String.fromCharCode(97 + col) });
    }
    if (board.gravity) return labels;
    for (let row = 0; row < board.rows; row++) {
        const y = flip ? board.rows - 1 - gridY(board, row) : gridY(board, row);
        labels.push({ x: -0.5 - FRAME - LABEL / 2, y, text: String(row + 1) });
    }
    return labels;
}

/**
 * Places in reading order, a row for each height.
 * @param {Place[]} places
 * @returns {Place[][]}
 */
function rowsOf(places) {
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
 * The place that an arrow key leads to, on squares, hexagons and points alike: near, and more along than aside.
 * @param {Place[]} places
 * @param {Place} from
 * @param {[number, number]} direction
 * @returns {Place | null}
 */
export function neighbour(places, from, [dx, dy]) {
    let best = null;
    let least = Infinity;
    for (const place of places) {
        const along = (place.x - from.x) * dx + (place.y - from.y) * dy;
        const aside = Math.abs((place.x - from.x) * dy) + Math.abs((place.y - from.y) * dx);
        if (along < 0.2 || along < aside) continue;
        if (along + 2 * aside < least) {
            least = along + 2 * aside;
            best = place;
        }
    }
    return best;
}

/**
 * The place under a point, or null when the point is beside the board.
 * @param {Place[]} places
 * @param {number} x
 * @param {number} y
 * @returns {Place | null}
 */
export function placeAt(places, x, y) {
    let best = null;
    let least = 0.62;
    for (const place of places) {
        const distance = Math.max(Math.abs(place.x - x), Math.abs(place.y - y));
        if (distance < least) {
            least = distance;
            best = place;
        }
    }
    return best;
}

/**
 * May this board be turned round? Not where things fall down, and not where it would help nobody.
 * @param {Grid | Sites} board
 */
export function canFlip(board) {
    return board.kind === "sites" || (!board.gravity && (board.style === "checker" || board.style === "felt"));
}
