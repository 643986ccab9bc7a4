/**
 * The parts around every page: the header with the user's name and the connection's status, the
 * banner, and the toasts.
 *
 * @import {ConnectionStatus} from "./connection.js"
 * @import {Content, VNode} from "./elements.js"
 */

import { h } from "./elements.js";
import { icon } from "./icons.js";
import { isolated } from "./isolation.js";
import { isDark, toggleTheme } from "./theme.js";

/** The longest name that the server accepts, in characters. */
const MAX_NAME_CHARACTERS = 24;
/**
 * Returns the text of a field, shortened to a number of characters as the server counts them: code
 * points. A `maxlength` counts UTF-16 units, of which an emoji has two or more.
 * @param {{currentTarget: any, isComposing?: boolean}} event an input of the field
 * @param {number} limit
 * @returns {string}
 */
export function limitCharacters({ currentTarget: field, isComposing }, limit) {
    if (!isComposing && [...field.value].length > limit) field.value = [...field.value.normalize()].slice(0, limit).join("");
    return field.value;
}

/**
 * The attributes of a field for a person's name.
 * @param {string} value
 * @param {() => void} onInput
 */
export function nameField(value, onInput) {
    /** @type {(event: Event) => void} */
    const oninput = (event) => {
        limitCharacters(event, MAX_NAME_CHARACTERS);
        onInput();
    };
    // What is typed first replaces the name.
    const onfocus = (/** @type {Event} */ { target }) => /** @type {HTMLInputElement} */ (target).select();
    return { name: "name", dir: "auto", value, autocomplete: "nickname", spellcheck: "false", oninput, onfocus };
}

/** From this time between ping and pong on, the connection is shown as slow, in milliseconds. */
const SLOW_LAG_MS = 150;

/**
 * @typedef {object} Header
 * @property {string | null} name
 * @property {string} path
 * @property {ConnectionStatus} status
 * @property {((name: string) => void) | null} rename set while the name is being edited
 * @property {string | null} renameError why the server refused the name
 * @property {() => void} clearRenameError
 * @property {() => void} startRename
 * @property {() => void} cancelRename
 * @property {() => void} redraw
 */

/**
 * @param {Header} header
 * @returns {VNode}
 */
export function drawHeader(header) {
    const switchTheme = () => {
        toggleTheme();
        header.redraw();
    };
    return h(
        "header",
        { class: "top" },
        h(
            "a",
            { href: "/", class: "brand", "aria-label": "Plyroom, to the lobby" },
            drawLogo(),
            h("span", null, "Plyroom"),
        ),
        h(
            "nav",
            { "aria-label": "Pages" },
            drawNavLink("/", "Lobby", header.path),
            drawNavLink("/replays", "Replays", header.path),
            drawNavLink("/learn", "Learn", header.path),
        ),
        h("span", { class: "gap" }),
        drawStatus(header.status),
        header.rename ? drawRename(header) : drawName(header),
        h(
            "button",
            {
                class: "icon-button",
                "aria-label": isDark() ? "Use the light theme" : "Use the dark theme",
                onclick: switchTheme,
            },
            icon("theme"),
        ),
    );
}

function drawLogo() {
    return h(
        "svg",
        { class: "logo", viewBox: "0 0 32 32", "aria-hidden": "true" },
        h("rect", { width: 32, height: 32, rx: 7 }),
        h("circle", { class: "stone", cx: 10, cy: 22, r: 5 }),
        h("circle", { class: "stone gold", cx: 22, cy: 22, r: 5 }),
        h("circle", { class: "stone", cx: 22, cy: 10, r: 5 }),
        h("circle", { class: "next", cx: 10, cy: 10, r: 3.6 }),
    );
}

/**
 * @param {string} href
 * @param {string} text
 * @param {string} path
 */
function drawNavLink(href, text, path) {
    const isHere = href === path || (href !== "/" && path.startsWith(`${href}/`));
    return h("a", { href, "aria-current": isHere ? "page" : null }, text);
}

/** @param {ConnectionStatus} status */
function drawStatus(status) {
    const lag_ms = status.lag_ms ?? 0;
    const text = status.state === "open" ? `connected${status.lag_ms === null ? "" : `, ${lag_ms} ms`}` : "not connected";
    const level =
        status.state === "connecting" ? "waiting" : status.state !== "open" ? "off" : lag_ms < SLOW_LAG_MS ? "good" : "slow";
    return h("span", { class: `lag ${level}`, role: "img", "aria-label": text, title: text });
}

/** @param {Header} header */
function drawName({ name, startRename }) {
    if (name === null) return h("span", { class: "my-name" });
    return h(
        "button",
        {
            class: "my-name",
            title: "Change your name",
            "aria-label": `Your name is ${isolated(name)}; change it`,
            onclick: startRename,
        },
        icon("person"),
        h("span", null, h("bdi", null, name)),
    );
}

/** @param {Header} header */
function drawRename({ name, rename, renameError, clearRenameError, cancelRename }) {
    const submit = (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        const field =
            event.currentTarget instanceof HTMLFormElement ? event.currentTarget.elements.namedItem("name") : null;
        if (field instanceof HTMLInputElement) rename?.(field.value.trim());
    };
    const cancelOnEscape = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && cancelRename();
    const input = {
        ...nameField(name ?? "", clearRenameError),
        "aria-label": "Your name",
        "aria-invalid": renameError !== null,
        "aria-describedby": renameError === null ? null : "rename-error",
        autofocus: true,
        onblur: clearRenameError,
    };
    return h(
        "form",
        { class: "rename", onsubmit: submit, onkeydown: cancelOnEscape },
        h("input", input),
        h("button", null, "Save"),
        renameError === null
            ? null
            : h("p", { key: "error", id: "rename-error", class: "field-error", role: "alert" }, renameError),
    );
}

/**
 * The banner about a lost or replaced connection, with a button to reconnect.
 * @param {ConnectionStatus} status
 * @param {() => void} retry
 * @returns {Content}
 */
export function drawBanner({ state, reason }, retry) {
    const isLost = state === "lost";
    const why = reason === null ? "Connection lost. Reconnecting…" : `Not connected: ${reason}.`;
    const text = isLost ? why : "Plyroom is open in too many windows; this one is disconnected.";
    return h(
        "div",
        { class: "banner", role: "alert", key: state },
        h("span", null, text),
        h("button", { onclick: retry }, isLost ? "Retry now" : "Use this one"),
    );
}

/**
 * @param {{key: number, text: string, button: Content}[]} toasts
 * @param {(key: number) => void} dismiss
 * @returns {VNode}
 */
export function drawToasts(toasts, dismiss) {
    const drawn = toasts.map(({ key, text, button }) =>
        h(
            "div",
            { key, class: "toast" },
            h("span", null, text),
            button,
            h("button", { class: "icon-button", "aria-label": "Dismiss", onclick: () => dismiss(key) }, icon("cross")),
        ),
    );
    return h("div", { class: "toasts", role: "alert" }, drawn);
}
