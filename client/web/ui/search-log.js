/**
 * The log of a strategy's search.
 *
 * @import {Content} from "../shell/elements.js"
 */

import { h } from "../shell/elements.js";

/** The title of the log, for the eye and for screen readers. */
const TITLE = "Log of the search";

/**
 * The log, folded until the user opens it; nothing without a log.
 * @param {string} log lines of text
 * @returns {Content}
 */
export function drawSearchLog(log) {
    if (log === "") return null;
    return h(
        "details",
        { class: "search-log" },
        h("summary", null, TITLE),
        h("pre", { tabindex: 0, role: "region", "aria-label": TITLE }, log),
    );
}
