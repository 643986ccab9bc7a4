/**
 * The steps to which the controls of a viewer go. A step is the number of applied events.
 *
 * @import {SearchTrace} from "./trace.js"
 */

import { CUT, ENTER } from "./trace.js";

/** How far to go: one event, to the next visited node, to the next cut-off, or all the way. @typedef {"step" | "node" | "cut" | "end"} Unit */

/** The event at which each unit stops. @type {Record<string, number>} */
const EVENTS = { node: ENTER, cut: CUT };

/**
 * The step that follows in a direction (1 or -1). Without a further node or cut-off it is the end of
 * the trace, or 0.
 * @param {SearchTrace} trace
 * @param {number} step
 * @param {Unit} unit
 * @param {number} direction
 */
export function nextStep(trace, step, unit, direction) {
    const end = direction > 0 ? trace.stepCount : 0;
    if (unit === "end" || step === end) return end;
    let next = step + direction;
    while (next !== end && unit !== "step" && trace.stepWhat(next - 1) !== EVENTS[unit]) next += direction;
    return next;
}
