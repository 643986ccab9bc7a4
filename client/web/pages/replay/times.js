/**
 * The clocks of a replayed match: the times of both sides at each ply, on the bars of the players and
 * as a graph. The page loads this module for a match with a clock.
 *
 * @import {StoredMatch} from "../../shell/api.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";
import { sideName } from "../../shell/words.js";
import { clockBefore, controlText, drawFace, readingOf, wholeTimeText } from "../../ui/clock/clock.js";
import { seatOf } from "../../ui/moves.js";

/** The graph's size, and the height of the bars for the time of each move, in its own units. */
const WIDTH = 300;
const HEIGHT = 74;
const BARS = 24;

/**
 * What both sides had left at each ply, in ms; after the last one what they had at the end.
 * @param {StoredMatch} match
 * @returns {[number, number][]}
 */
export function clocksByPly({ clock, moves, left_ms = [], over }) {
    let now = (clock ? clockBefore(clock)?.left_ms : null) ?? [0, 0];
    const clocks = [now];
    moves.forEach((_, ply) => {
        const left = left_ms[ply];
        if (left != null) now = seatOf(moves, ply) === 0 ? [left, now[1]] : [now[0], left];
        clocks.push(now);
    });
    return over?.clocks_ms ? [...clocks.slice(0, -1), over.clocks_ms] : clocks;
}

/**
 * The time control in words, with its class: "5+3 blitz".
 * @param {StoredMatch} match
 */
export function controlOf({ clock, speed }) {
    return clock ? [controlText(clock), speed].filter(Boolean).join(" ") : "";
}

/**
 * The clock of a seat at a ply.
 * @param {StoredMatch} match
 * @param {number} shown
 * @param {number} seat
 * @returns {VNode}
 */
export function drawClock(match, shown, seat) {
    const clocks = clocksByPly(match);
    const left_ms = clocks[shown] ?? [0, 0];
    const reading = readingOf({ control: match.clock ?? "", left_ms, since_ms: 0 }, seat, 0);
    const hours = Math.max(...(clocks[0] ?? [])) >= 3_600_000;
    return h("span", { class: "clock", key: "clock", "--clock-width": hours ? 6 : 4 }, drawFace(reading, "", `${sideName(match.view, seat)}'s clock`, true));
}

/**
 * The graph of the times: a line for what each side had left, and a bar for what each move took.
 * @param {StoredMatch} match
 * @param {number} shown
 * @param {(ply: number) => void} go
 * @returns {Content}
 */
export function drawTimeGraph(match, shown, go) {
    const clocks = clocksByPly(match);
    const { spent_ms = [] } = match;
    const last = clocks.length - 1;
    if (last < 1) return null;
    const most_ms = Math.max(1, ...clocks.flat());
    const longest_ms = Math.max(1, ...spent_ms);
    // The last line and bar stand within the picture.
    const x = (/** @type {number} */ ply) => 1 + ((WIDTH - 3) * ply) / last;
    const y = (/** @type {number} */ ms) => HEIGHT - ((HEIGHT - 2) * ms) / most_ms;
    const line = (/** @type {number} */ seat) =>
        clocks.map((pair, ply) => `${ply ? `H${x(ply).toFixed(1)}V` : `M${x(0)} `}${y(pair[seat] ?? 0).toFixed(1)}`).join("");
    const bars = (/** @type {number} */ seat) =>
        spent_ms.map((ms, ply) => (seatOf(match.moves, ply) === seat ? `M${x(ply + 1).toFixed(1)} ${HEIGHT + BARS}v${(-(BARS - 4) * (ms / longest_ms)).toFixed(1)}` : "")).join("");
    const jump = (/** @type {MouseEvent} */ event) => {
        if (!(event.currentTarget instanceof Element)) return;
        const box = event.currentTarget.getBoundingClientRect();
        go(Math.round((last * (event.clientX - box.left)) / box.width));
    };
    const names = [0, 1].map((seat) => sideName(match.view, seat));
    const [first, end] = [clocks[0] ?? [0, 0], clocks[last] ?? [0, 0]];
    const label = names.map((name, seat) => `${name} from ${wholeTimeText(first[seat] ?? 0)} to ${wholeTimeText(end[seat] ?? 0)}`).join(", ");
    const at = clocks[shown] ?? end;
    return h(
        "figure",
        { class: "times", key: "times" },
        h("figcaption", null, "Time left", names.map((name, seat) => h("span", { key: name }, h("i", { class: `key key-${seat}` }), `${name} ${wholeTimeText(at[seat] ?? 0)}`))),
        h(
            "svg",
            { viewBox: `0 0 ${WIDTH} ${HEIGHT + BARS}`, preserveAspectRatio: "none", role: "img", "aria-label": `Time left: ${label}`, onclick: jump },
            h("path", { class: "shown", d: `M${x(shown).toFixed(1)} 0V${HEIGHT + BARS}` }),
            [0, 1].map((seat) => h("path", { key: `bars ${seat}`, class: `bar bar-${seat}`, d: bars(seat) })),
            [0, 1].map((seat) => h("path", { key: `line ${seat}`, class: `line line-${seat}`, d: line(seat) })),
        ),
    );
}
