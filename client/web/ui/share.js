/**
 * A link to share: a field with the address, and a button that copies it.
 *
 * @import {VNode} from "../shell/elements.js"
 */

import { h } from "../shell/elements.js";
import { icon } from "../shell/icons.js";

/**
 * @param {{label: string, path: string, onCopied: (isCopied: boolean) => void}} share `onCopied` is
 *     called with whether the address was copied
 * @returns {VNode}
 */
export function drawShare({ label, path, onCopied }) {
    const url = new URL(path, location.origin).href;
    const select = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && event.currentTarget.select();
    const copy = (/** @type {Event} */ event) => {
        const field = event.currentTarget instanceof Element ? event.currentTarget.previousElementSibling : null;
        if (field instanceof HTMLInputElement) void copyFrom(field).then(onCopied);
    };
    return h(
        "div",
        { class: "share" },
        h("input", { readonly: true, ".value": url, "aria-label": label, onfocus: select }),
        h("button", { "aria-label": `Copy: ${label}`, onclick: copy }, icon("copy"), h("span", null, "Copy")),
    );
}

/**
 * Copies the field's text and returns whether that succeeded. The clipboard API needs TLS; without it
 * the deprecated command is used.
 * @param {HTMLInputElement} field
 * @returns {Promise<boolean>}
 */
async function copyFrom(field) {
    try {
        await navigator.clipboard.writeText(field.value);
        return true;
    } catch {
        field.select();
        return document.execCommand("copy");
    }
}
