/**
 * The messages for a search that failed or that is only in part there.
 *
 * @import {TraceEnd} from "../../glass/trace/trace.js"
 * @import {Content} from "../../shell/elements.js"
 */

import { TraceError } from "../../glass/trace/stream.js";
import { ApiError } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { sentenceOf } from "../../shell/words.js";

/** The codes of temporary refusals: the server is busy, or did not answer. */
const TEMPORARY = /^(study\.|http\.|rate\.)/;
/** The codes of refusals that no change of the search resolves. */
const FINAL = /^(trace\.withheld|lesson\.unknown)$/;

/** The code of a position that is none. */
export const REFUSED_POSITION = "position.refused";

/**
 * Whether the open form shows the error at the field that caused it.
 * @param {Error | null} error
 */
export function isAtField(error) {
    return error instanceof TraceError && (error.line !== null || error.code === REFUSED_POSITION);
}

/**
 * Whether the same search may succeed later.
 * @param {Error} error
 */
function isTemporary(error) {
    return !(error instanceof ApiError) || TEMPORARY.test(error.code);
}

/**
 * Whether the user can correct the request.
 * @param {Error} error
 */
export function isCorrectable(error) {
    return error instanceof ApiError && !isTemporary(error) && !FINAL.test(error.code);
}

/**
 * The message of a refusal. The form shows a mistake in a text at the text, too.
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
        isTemporary(error) ? h("button", { class: "small", onclick: retry }, "Try again") : null,
    );
}

/**
 * The message for a search that was stopped, whose first part is shown.
 * @param {string} reason
 * @returns {Content}
 */
export function drawStopped(reason) {
    const text = `${sentenceOf(reason)} The page shows the part that it had searched.`;
    return h("div", { class: "card failure stopped", key: "stopped" }, h("p", null, text));
}

/**
 * The message for a trace that has only the first nodes of its search; null for a complete one.
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
