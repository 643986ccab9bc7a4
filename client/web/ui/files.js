/**
 * The dialogs that give a match or a list of matches to other programs: files to download, the text
 * of a match, and the HTML that shows a match in another page.
 *
 * @import {FileFormat} from "../shell/api.js"
 * @import {VNode} from "../shell/elements.js"
 */

import { openDialog } from "./dialogs.js";
import { h } from "../shell/elements.js";
import { icon } from "../shell/icons.js";

/**
 * Opens the dialog with the files of a match or of a list, the usual format first.
 * @param {{formats: FileFormat[], pathOf: (format: string) => string, hasText: boolean, note: string, announce: (text: string) => void}} files
 *     `hasText` offers the text of the first format to copy
 */
export async function openDownload({ formats, pathOf, hasText, note, announce }) {
    const links = formats.map(({ name, title, suffix }, index) =>
        h(
            "a",
            { class: index ? "button" : "button main", href: pathOf(name), download: true },
            title,
            h("span", { class: "muted" }, ` .${suffix}`),
        ),
    );
    const first = formats[0];
    const copy = async (/** @type {Event} */ { currentTarget }) => {
        if (!(currentTarget instanceof HTMLButtonElement) || !first) return;
        const isCopied = await copyText(readText(pathOf(first.name)), currentTarget);
        currentTarget.textContent = isCopied ? "Copied" : "It could not be copied";
        announce(isCopied ? "Copied as text" : "The text could not be copied");
    };
    await openDialog({
        title: "Download",
        name: "files",
        content: [
            h("div", { class: "file-links" }, links),
            h("p", { class: "muted" }, note),
            hasText ? h("button", { class: "small", onclick: (/** @type {Event} */ event) => void copy(event) }, `Copy as text (${first?.title})`) : null,
        ],
        buttons: h("button", null, "Close"),
    });
}

/** Why there is no HTML for a match. */
const NOT_SHOWN = "Other pages can show matches of public rooms only. This match is not public, or it was removed.";

/**
 * Opens the dialog with the HTML that shows a match in another page.
 * @param {{path: string, origin: string, ply: number, flip: boolean, announce: (text: string) => void}} match
 *     `origin` is that of the address that others use
 */
export async function openEmbed({ path, origin, ply, flip, announce }) {
    const place = `${path}?ply=${ply}${flip ? "&flip=1" : ""}`;
    const address = `${origin}/embed${place}`;
    const response = await fetch(`/api/oembed?url=${encodeURIComponent(place)}`);
    if (response.status === 404) return void (await openDialog({ title: "Show in another page", name: "files", content: h("p", null, NOT_SHOWN), buttons: h("button", null, "Close") }));
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const { html } = await response.json();
    // The server names the address of this request, such as localhost, which other people cannot open.
    const code = html.replace(/(?<= src=")[^"]*(?=\/embed\/match\/)/, origin);
    const copy = async (/** @type {Event} */ { currentTarget }) => {
        if (!(currentTarget instanceof HTMLButtonElement)) return;
        const isCopied = await copyText(Promise.resolve(code), currentTarget);
        currentTarget.lastElementChild?.replaceChildren(isCopied ? "Copied" : "It could not be copied");
        announce(isCopied ? "HTML copied" : "The HTML could not be copied");
    };
    const select = (/** @type {Event} */ { currentTarget }) =>
        currentTarget instanceof HTMLTextAreaElement && currentTarget.select();
    await openDialog({
        title: "Show in another page",
        name: "files",
        content: [
            h("p", null, "This line of HTML shows the match in a page or a course, with its moves to step through."),
            h("textarea", { class: "frame-code", readonly: true, rows: 5, "aria-label": "HTML of the frame", onfocus: select }, code),
            h("button", { class: "small", onclick: (/** @type {Event} */ event) => void copy(event) }, icon("copy"), h("span", null, "Copy")),
            h("p", { class: "muted" }, h("a", { href: address, target: "_blank", rel: "noopener" }, "Look at it")),
        ],
        buttons: h("button", null, "Close"),
    });
}

/** @param {string} path */
async function readText(path) {
    const response = await fetch(path);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return await response.text();
}

/**
 * Copies a text that may be on its way. The clipboard API needs TLS; without it the deprecated
 * command is used.
 * @param {Promise<string>} coming
 * @param {HTMLElement} beside
 * @returns {Promise<boolean>}
 */
async function copyText(coming, beside) {
    const text = await coming.catch(() => null);
    if (text === null) return false;
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const field = document.createElement("textarea");
        field.value = text;
        beside.after(field);
        field.select();
        const isCopied = document.execCommand("copy");
        field.remove();
        beside.focus();
        return isCopied;
    }
}
