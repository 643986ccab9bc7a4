/**
 * A link to share: the room's address for other people, and a button that copies it.
 *
 * @import {VNode} from "../shell/elements.js"
 */

import { listLinks } from "../shell/api.js";
import { h } from "../shell/elements.js";
import { icon } from "../shell/icons.js";

/** Milliseconds for which the button says "Copied". */
const COPIED_MS = 2500;

/** The links of one page, which the server knows better than the browser: see PLYROOM_URL. */
export class Share {
    #label;
    path;
    #update;
    #announce;
    /** The links for other people, the most likely first; null until they arrive. @type {string[] | null} */
    links = null;
    /** Why there is no link, in the server's words; null without any. @type {string | null} */
    advice = null;
    /** The label of the field whose text was copied last. @type {string | null} */
    #copied = null;

    /**
     * @param {string} label of the field with the link
     * @param {string} path of the page
     * @param {() => void} update draws the page again
     * @param {(text: string) => void} announce makes screen readers speak a text
     */
    constructor(label, path, update, announce) {
        this.#label = label;
        this.path = path;
        this.#update = update;
        this.#announce = announce;
    }

    async load() {
        try {
            const { links, advice } = await listLinks(this.path);
            this.links = links;
            this.advice = advice ?? null;
        } catch {
            // The address of this page is the best guess.
            this.links = [this.#ownLink()];
        }
        this.#update();
    }

    /**
     * The link in a field, with a button that copies it.
     * @param {string} [query] of the link
     * @param {boolean} [isMain] whether to copy it is what there is to do
     */
    draw(query = "", isMain = false) {
        return this.drawLink(this.#label, `${this.links?.[0] ?? this.#ownLink()}${query}`, isMain);
    }

    /** The address of the server for other people, without a path. */
    get origin() {
        return new URL(this.links?.[0] ?? this.#ownLink()).origin;
    }

    /** Whether there is a QR code: the server knows an address that other devices reach. */
    get hasCode() {
        return (this.links?.length ?? 0) > 0;
    }

    /** Whether nobody else can open the link. */
    get isLocal() {
        return this.links?.length === 0;
    }

    /** The link with the address that this browser uses. */
    #ownLink() {
        return new URL(this.path, location.origin).href;
    }

    /**
     * A link in a field, with a button that copies it.
     * @param {string} label
     * @param {string} url
     * @param {boolean} [isMain]
     * @returns {VNode}
     */
    drawLink(label, url, isMain = false) {
        const select = (/** @type {Event} */ event) =>
            event.currentTarget instanceof HTMLInputElement && event.currentTarget.select();
        const copy = (/** @type {Event} */ event) => {
            const field = event.currentTarget instanceof Element ? event.currentTarget.previousElementSibling : null;
            if (field instanceof HTMLInputElement) void this.#copy(label, field);
        };
        const isCopied = this.#copied === label;
        return h(
            "div",
            { class: "share", key: label },
            h("input", { readonly: true, ".value": url, "aria-label": label, onfocus: select }),
            h(
                "button",
                { class: isMain && "main", "aria-label": isCopied ? `Copied: ${label}` : `Copy: ${label}`, onclick: copy },
                icon(isCopied ? "check" : "copy"),
                h("span", null, isCopied ? "Copied" : "Copy"),
            ),
        );
    }

    /**
     * @param {string} label
     * @param {HTMLInputElement} field
     */
    async #copy(label, field) {
        const isCopied = await copyFrom(field);
        this.#announce(isCopied ? "Link copied" : "The link could not be copied");
        if (!isCopied) return;
        this.#copied = label;
        this.#update();
        setTimeout(() => {
            this.#copied = null;
            this.#update();
        }, COPIED_MS);
    }
}

/**
 * Copies the field's text and returns whether that succeeded. The clipboard API needs TLS; without it
 * the deprecated command is used.
 * @param {HTMLInputElement} field
 * @returns {Promise<boolean>}
 */
export async function copyFrom(field) {
    try {
        await navigator.clipboard.writeText(field.value);
        return true;
    } catch {
        field.select();
        return document.execCommand("copy");
    }
}
