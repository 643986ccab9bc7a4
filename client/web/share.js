/**
 * An address to share: visible, selectable, and copied by a button.
 *
 * @import {Description} from "./elements.js"
 */

import { h } from "./elements.js";
import { icon } from "./icons.js";

/**
 * @param {{label: string, path: string, copied: (worked: boolean) => void}} share
 * @returns {Description}
 */
export function drawShare({ label, path, copied }) {
    const url = new URL(path, location.origin).href;
    const select = (/** @type {Event} */ event) =>
        event.currentTarget instanceof HTMLInputElement && event.currentTarget.select();
    const copy = (/** @type {Event} */ event) => {
        const field = event.currentTarget instanceof Element ? event.currentTarget.previousElementSibling : null;
        if (field instanceof HTMLInputElement) void copyFrom(field).then(copied);
    };
    return h(
        "div",
        { class: "share" },
        h("input", { readonly: true, ".value": url, "aria-label": label, onfocus: select }),
        h("button", { "aria-label": `Copy: ${label}`, onclick: copy }, icon("copy"), h("span", null, "Copy")),
    );
}

/**
 * Copies the field's text. The clipboard API needs TLS; on a plain address in a local network the
 * old command still works.
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
