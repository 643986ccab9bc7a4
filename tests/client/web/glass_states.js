/** The states of a trace as plain JSON, compared with those that Python computes. */

import { codeOf, lineOfStep } from "/client/web/glass/text/code.js";
import { stateAt } from "/client/web/glass/trace/search-state.js";
import { stepSentence } from "/client/web/glass/text/sentences.js";
import { nextStep } from "/client/web/glass/trace/walk.js";
import { SearchTrace } from "/client/web/glass/trace/trace.js";

const UNITS = ["step", "node", "cut", "end"];

/** The trace of a stream's lines, which arrive in pieces of `size` bytes. */
export function loadTrace(lines, size = 97) {
    const bytes = new TextEncoder().encode(`${lines.join("\n")}\n`);
    let at = 0;
    const body = new ReadableStream({
        pull(controller) {
            if (at >= bytes.length) return controller.close();
            controller.enqueue(bytes.slice(at, at + size));
            at += size;
        },
    });
    return SearchTrace.load(new Response(body));
}

/** A number as Python writes it. */
function plain(number, open) {
    if (number === open) return null;
    return Number.isFinite(number) ? number : number > 0 ? "inf" : "-inf";
}

const ends = ([low, high]) => [plain(low, -Infinity), plain(high, Infinity)];

/** One node of a state: window, interval, whether it is left, the window that cut it off. */
export function nodeOf(state, row) {
    const cut = state.cutWindow(row);
    return [...ends(state.window(row)), ...ends(state.interval(row)), state.isLeft(row), cut && ends(cut)];
}

/** A state: the current row, the counts, the path, and its nodes: all of them, or those near the path. */
export function stateOf(trace, state, isSmall) {
    const near = [...state.path, ...state.path.flatMap((row) => trace.children(row))];
    const rows = isSmall ? [...Array(trace.count).keys()] : near;
    const counts = [state.visited, state.leaves, state.cuts, state.skippedSoFar];
    const entered = rows.filter((row) => state.isEntered(row));
    return [state.row, counts, state.path, entered.map((row) => nodeOf(state, row))];
}

/** The first differences between the states of a trace and those that are expected, for the given steps. */
export function differences(trace, expected, steps, isSmall) {
    const found = [];
    for (const step of steps) {
        const states = [stateOf(trace, stateAt(trace, step), isSmall), expected[step]];
        const [actual, wanted] = states.map((state) => JSON.stringify(state));
        if (actual !== wanted && found.length < 3) found.push(`step ${step}: ${actual} instead of ${wanted}`);
    }
    return found;
}

/** The steps that each unit visits, forwards from the start and back from the end. */
export function walks(trace) {
    return UNITS.map((unit) =>
        [1, -1].map((direction) => {
            const steps = [];
            let step = direction > 0 ? 0 : trace.stepCount;
            for (let next = nextStep(trace, step, unit, direction); next !== step; next = nextStep(trace, step, unit, direction)) {
                steps.push(next);
                step = next;
            }
            return steps;
        }),
    );
}

/** The sentences in each view after 1, 2, … steps, at most `count` of them. */
export async function sentencesOf(lines, count) {
    const trace = await loadTrace(lines, 65536);
    return Array.from({ length: Math.min(count, trace.stepCount) }, (_, index) => {
        const state = stateAt(trace, index + 1);
        return ["window", "interval", "bounds"].map((view) => stepSentence(trace, state, view));
    });
}

/** The lines of the code of each algorithm and form. */
export function codesOf(heads) {
    return heads.map((head) => codeOf(head, true).lines);
}

/** The event of each step, and the index of the line of code that it marks. */
export async function codeLines(lines) {
    const trace = await loadTrace(lines, 65536);
    const code = codeOf(trace.head, trace.hasChance);
    return Array.from({ length: Math.min(400, trace.stepCount) }, (_, step) => [
        trace.stepWhat(step),
        lineOfStep(code, trace, step),
    ]);
}
