/**
 * Why there is no search, or only a part of one, in words and with advice.
 *
 * @import {Content} from "../../shell/elements.js"
 */

import { TraceError } from "../../glass/stream.js";
import { h } from "../../shell/elements.js";
import { sentenceOf } from "../../shell/words.js";

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
        error instanceof TraceError && error.line !== null
            ? null
            : h("button", { class: "small", onclick: retry }, "Try again"),
    );
}

/**
 * What stopped a search whose first part is shown.
 * @param {Error} error
 * @returns {Content}
 */
export function drawStopped(error) {
    return h(
        "div",
        { class: "card failure stopped", key: "stopped" },
        h("p", null, h("b", null, "Stopped: "), sentenceOf(error.message), " Here is what the search saw until then."),
    );
}
