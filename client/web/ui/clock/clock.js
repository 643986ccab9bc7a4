/**
 * What a clock shows: the time of a side at a moment, its texts, and how long they stay right. Pure
 * functions. This folder is a file of its own on the line.
 *
 * @import {FoldedClock} from "../../shell/clock.js"
 * @import {ClockState} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";

/**
 * A stage of a control. It ends after `turns` turns; the last one has null. `kind` says what
 * `gain_ms` is: "+" is added after a turn, "d" passes in each turn before the clock runs, "b" is given
 * back as far as the turn used it.
 * @typedef {{base_ms: number, kind: string, gain_ms: number, turns: number | null}} Stage
 */
/**
 * A time control. `overtime` after the last stage is of byo-yomi ("x": `count` periods) or of Canadian
 * form ("/": a period for `count` turns).
 * @typedef {{stages: Stage[], overtime: {kind: string, count: number, period_ms: number} | null}} TimeControl
 */

const OVERTIME = /\+(\d+)([x/])(\d+)$/;
const STAGE = /^(?:(\d+)\/)?(\d+)(?:([+db])(\d+))?(?:<\d+)?$/;

/** The classes of time controls, with their names in a list. @type {Record<string, string>} */
export const SPEEDS = { "": "Any time", bullet: "Bullet", blitz: "Blitz", rapid: "Rapid", classical: "Classical", untimed: "Untimed" };

/** Below this time a clock shows tenths of a second. */
const TENTHS_BELOW_MS = 10_000;
/** The least time below which the time of a side is low. */
const MIN_LOW_MS = 10_000;
/**
 * The shortest and the longest time for the first turn of a side, where its match does not say; in between
 * it is a tenth of the base.
 */
const MIN_FIRST_TURN_MS = 10_000;
const MAX_FIRST_TURN_MS = 30_000;
/** The time with which a stage without a base starts, unless its gain is more. */
const MIN_START_MS = 3000;

/**
 * The control of a text of the log; null for a text that this client does not know.
 * @param {string} text
 * @returns {TimeControl | null}
 */
export function parseControl(text) {
    const over = OVERTIME.exec(text);
    const parts = (over ? text.slice(0, over.index) : text).split(":").map((part) => STAGE.exec(part));
    const stages = parts.flatMap((part) => (part ? [stageOf(part)] : []));
    if (stages.length < parts.length) return null;
    return { stages, overtime: over && { kind: over[2] ?? "", count: Number(over[1]), period_ms: Number(over[3]) * 1000 } };
}

/**
 * @param {RegExpExecArray} part
 * @returns {Stage}
 */
function stageOf([, turns, base, kind = "+", gain = "0"]) {
    return { base_ms: Number(base) * 1000, kind, gain_ms: Number(gain) * 1000, turns: turns === undefined ? null : Number(turns) };
}

/**
 * The clock of one side at a moment. `delay_ms` is what is left of the turn's delay. `stage` is the
 * number of stages in overtime, and `count` what the stage counts down. `low_ms` is the time below
 * which the side's time is low.
 * @typedef {{left_ms: number, delay_ms: number, stage: number, count: number, runs: boolean, low_ms: number}} Reading
 */

/**
 * The clock of a side at a moment.
 * @param {FoldedClock} clock
 * @param {number} seat
 * @param {number} now_ms the server's time
 * @returns {Reading}
 */
export function readingOf(clock, seat, now_ms) {
    const control = parseControl(clock.control);
    const left_ms = clock.left_ms[seat] ?? 0;
    const runs = clock.running === seat && clock.held == null;
    const before = { left_ms, delay_ms: 0, stage: clock.stages?.[seat] ?? 0, count: clock.periods?.[seat] ?? 0, runs, low_ms: MIN_LOW_MS };
    if (control === null) return before;
    const until_ms = runs ? now_ms : (clock.held_ms ?? 0);
    const [used_ms, spent_ms] = clock.running === seat ? [clock.used_ms ?? 0, Math.max(0, until_ms - clock.since_ms)] : [0, 0];
    const reading = charged(control, before, used_ms, spent_ms);
    return { ...reading, low_ms: lowTime_ms(control, reading.stage) };
}

/**
 * A side after it has used more time in its turn, perhaps in overtime (server/rooms/clock.py decides
 * what it has; this is what people see meanwhile).
 * @param {TimeControl} control
 * @param {Reading} side
 * @param {number} used_ms what the turn had used before
 * @param {number} spent_ms
 * @returns {Reading}
 */
function charged({ stages, overtime }, side, used_ms, spent_ms) {
    const delay_ms = stages[side.stage]?.kind === "d" ? Math.max(0, (stages[side.stage]?.gain_ms ?? 0) - used_ms) : 0;
    let { stage, count } = side;
    let left_ms = side.left_ms - Math.max(0, spent_ms - delay_ms);
    while (spent_ms > 0 && left_ms <= 0 && overtime && stage >= stages.length - 1) {
        const isIn = stage === stages.length;
        if (overtime.kind === "x" ? (isIn ? count : overtime.count) < 1 : isIn) break;
        count = overtime.kind === "x" ? (isIn ? count : overtime.count) - 1 : overtime.count;
        left_ms += overtime.period_ms;
        stage = stages.length;
    }
    return { ...side, left_ms: Math.max(0, left_ms), delay_ms: Math.max(0, delay_ms - spent_ms), stage, count };
}

/**
 * The time below which the time of a side is low: an eighth of its stage, but at least MIN_LOW_MS.
 * @param {TimeControl} control
 * @param {number} stage
 */
function lowTime_ms({ stages, overtime }, stage) {
    return Math.max(MIN_LOW_MS, (stages[stage]?.base_ms ?? overtime?.period_ms ?? 0) / 8);
}

/**
 * The clock of a match that has not started.
 * @param {string} text the time control
 * @returns {ClockState | null} null for a text that this client does not know
 */
export function clockBefore(text) {
    const control = parseControl(text);
    const first = control?.stages[0];
    if (!control || !first) return null;
    const start_ms = (first.base_ms || Math.max(first.gain_ms, MIN_START_MS)) + (first.kind === "b" ? first.gain_ms : 0);
    const count = first.turns ?? (control.overtime?.kind === "x" ? control.overtime.count : 0);
    return { control: text, left_ms: [start_ms, start_ms], since_ms: 0, stages: [0, 0], periods: [count, count] };
}

/**
 * The time that is left of a first turn, which no clock counts: after it the match ends without a
 * result. Null when the clocks run or stand.
 * @param {ClockState} clock
 * @param {number} now_ms the server's time
 */
export function firstTurnLeft_ms({ control, running = null, held, since_ms, used_ms = 0, first_ms }, now_ms) {
    const first = parseControl(control)?.stages[0];
    if (running !== null || held != null || !first) return null;
    const limit_ms = first_ms ?? Math.min(MAX_FIRST_TURN_MS, Math.max(MIN_FIRST_TURN_MS, first.base_ms / 10));
    return Math.max(0, Math.floor(limit_ms) - used_ms - Math.max(0, now_ms - since_ms));
}

/**
 * A time: "1:05:09", "4:58", "9.4" below ten seconds.
 * @param {number} ms
 */
export function timeText(ms) {
    if (ms < TENTHS_BELOW_MS) return (Math.floor(ms / 100) / 10).toFixed(1);
    return wholeTimeText(ms);
}

/**
 * A time without tenths: "1:05:09", "4:58", "0:09".
 * @param {number} ms
 */
export function wholeTimeText(ms) {
    const seconds = Math.floor(ms / 1000);
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const rest = String(seconds % 60).padStart(2, "0");
    return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/**
 * How long the texts of a reading stay right, in ms; null if its clock stands.
 * @param {Reading} reading
 */
export function staysFor_ms({ left_ms, delay_ms, runs }) {
    if (!runs || left_ms === 0) return null;
    if (delay_ms > 0) return ((delay_ms - 1) % 1000) + 1;
    return (left_ms % (left_ms < TENTHS_BELOW_MS ? 100 : 1000)) + 1;
}

/**
 * What a reading has besides its time: the delay, or what the stage counts down; "" if nothing.
 * @param {TimeControl | null} control
 * @param {Reading} reading
 */
export function noteOf(control, { stage, count, delay_ms, runs }) {
    if (!control) return "";
    const { stages, overtime } = control;
    const present = stages[stage];
    if (!present) {
        if (overtime?.kind === "/") return `${count} ${count === 1 ? "turn" : "turns"} to go`;
        return count === 0 ? "last period" : periodsText(count + 1, overtime?.period_ms ?? 0);
    }
    const next = stages[stage + 1];
    const after = next ? `${count} ${count === 1 ? "turn" : "turns"} to +${lengthText(next.base_ms)}` : overtimeText(overtime);
    if (present.kind === "d") return [`delay ${Math.ceil((runs ? delay_ms : present.gain_ms) / 1000)} s`, after].filter(Boolean).join(", ");
    return after;
}

/** @param {TimeControl["overtime"]} overtime */
function overtimeText(overtime) {
    if (!overtime) return "";
    const { kind, count, period_ms } = overtime;
    return kind === "x" ? periodsText(count, period_ms) : `${count} turns in ${lengthText(period_ms)}`;
}

/**
 * @param {number} count
 * @param {number} period_ms
 */
const periodsText = (count, period_ms) => `${count}\u00a0× ${secondsText(period_ms)}`;

/** @param {number} ms */
const secondsText = (ms) => `${ms / 1000}\u00a0s`;

/**
 * A length of time: "5 min", "90 s".
 * @param {number} ms
 */
function lengthText(ms) {
    return ms >= 60_000 && ms % 15_000 === 0 ? `${ms / 60_000}\u00a0min` : secondsText(ms);
}

/**
 * A time control in words: "5+3" in minutes and seconds, "10 min, delay 5 s", "10 min, then 3 × 30 s",
 * "40 turns in 90+30, then 30+30". A text that this client does not know stays as it is.
 * @param {string} text
 */
export function controlText(text) {
    const control = parseControl(text);
    if (!control) return text;
    const { stages, overtime } = control;
    const parts = stages.map((stage) => (stage.turns === null ? "" : `${stage.turns} turns in `) + stageText(stage, stages.length === 1 && !overtime));
    return [...parts, overtimeText(overtime)].filter(Boolean).join(", then ");
}

/**
 * @param {TimeControl["stages"][number]} stage
 * @param {boolean} isWhole whether it is the whole control
 */
function stageText({ base_ms, kind, gain_ms }, isWhole) {
    if (kind === "+" && base_ms % 15_000 === 0 && (gain_ms > 0 || isWhole)) return `${base_ms / 60_000}+${gain_ms / 1000}`;
    const gain = { "+": "+", d: ", delay ", b: ", Bronstein " }[kind] ?? "";
    return lengthText(base_ms) + (gain_ms > 0 ? gain + secondsText(gain_ms) : "");
}

/**
 * A clock's face, for the bar of its side. A clock that runs differs by more than its colour, and so
 * does a low one.
 * @param {Reading} reading
 * @param {string} note
 * @param {string} name whose clock it is, for screen readers
 * @param {boolean} isOver whether no clock will run again
 * @returns {Content}
 */
export function drawFace(reading, note, name, isOver) {
    const isLow = isOver ? reading.left_ms === 0 : reading.left_ms < reading.low_ms;
    const state = [isLow && "low", reading.runs && "running"].filter(Boolean).join(", ");
    return [
        note ? h("span", { class: "note", key: "note" }, note) : null,
        h(
            "span",
            { class: ["face", reading.runs && "runs", isLow && "low"], key: "face", role: "timer" },
            h("span", { class: "visually-hidden" }, `${name}${state && `, ${state}`}: `),
            h("span", { class: "digits" }, timeText(reading.left_ms)),
        ),
    ];
}
