/**
 * Why there is no search, or only a part of one, in words and with advice.
 *
 * @import {TraceEnd} from "../../glass/trace.js"
 * @import {Content} from "../../shell/elements.js"
 */

import { TraceError } from "../../glass/stream.js";
import { ApiError } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { sentenceOf } from "../../shell/words.js";

/** The codes of refusals that may be another one later: the server is busy, or did not answer. */
const PASSING = /^(study\.|http\.|rate\.)/;
/** The codes of refusals that no other search helps against. */
const FINAL = /^(trace\.withheld|lesson\.unknown)$/;

/**
 * Whether the same search may succeed later.
 * @param {Error} error
 */
function isPassing(error) {
    return !(error instanceof ApiError) || PASSING.test(error.code);
}

/**
 * Whether the user can correct what was refused.
 * @param {Error} error
 */
export function isCorrectable(error) {
    return error instanceof ApiError && !isPassing(error) && !FINAL.test(error.code);
}

/**
 * A refusal. A mistake in a text stands at the text, and here in short.
 * @param {Error} error
 * @param {() => void} retry
 * @returns {Content}
 */
export function drawFailure(error, retry) {
    const seconds = error instanceof TraceError ? error.retryAfter : null;
    return h(
        "div",
        { class: "card failure", key: error.message },
        h("p", { class: "refusal" }, sentenceOf(error.message)),
        seconds === null ? null : h("p", { class: "muted" }, `Try again in ${Math.ceil(seconds)} s.`),
        isPassing(error) ? h("button", { class: "small", onclick: retry }, "Try again") : null,
    );
}

/**
 * What stopped a search whose first part is shown.
 * @param {string} reason
 * @returns {Content}
 */
export function drawStopped(reason) {
    const text = `${sentenceOf(reason)} Here is what the search saw until then.`;
    return h("div", { class: "card failure stopped", key: "stopped" }, h("p", null, text));
}

/**
 * Why the trace of a search has only its first nodes; null if it has all.
 * @param {TraceEnd | null} end
 * @param {number} count the number of nodes in the trace
 * @returns {Content}
 */
export function drawTruncated(end, count) {
    if (!end?.truncated) return null;
    if (end.value === null && end.meaning) return drawStopped(end.meaning);
    const text = `The search visited ${end.counts.nodes} nodes; the page shows the first ${count}.`;
    return h("div", { class: "card failure stopped", key: "truncated" }, h("p", null, text));
}
