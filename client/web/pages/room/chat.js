/**
 * The chat of a room, with the log of what happens in the room.
 *
 * @import {ChatLine} from "../../shell/protocol.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {LogLine} from "./feedback.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";

/** The longest line that the server accepts, in characters. */
const MAX_CHAT_CHARACTERS = 400;
/** The list counts as scrolled to its end if less than this is hidden below, in pixels. */
const END_TOLERANCE_PX = 30;

/**
 * @typedef {object} Chat
 * @property {ChatLine[]} lines
 * @property {LogLine[]} log
 * @property {string | null} error why the server refused the last line
 * @property {() => void} clearError
 * @property {(text: string, to: "room" | "spectators") => Promise<boolean>} send resolves with
 *     whether the server accepted the line
 * @property {boolean} isSpectator whether the viewer is a spectator, who can also write to the
 *     spectators alone
 * @property {(isAtEnd: boolean) => void} onScroll called with whether the newest line is visible
 */

/**
 * @param {Chat} chat
 * @returns {VNode}
 */
export function drawChat({ lines, log, error, clearError, send, isSpectator, onScroll }) {
    const submit = (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        const form = event.currentTarget;
        if (!(form instanceof HTMLFormElement)) return;
        const data = new FormData(form);
        const text = String(data.get("text") ?? "").trim();
        if (text === "") return;
        const field = form.elements.namedItem("text");
        if (!(field instanceof HTMLInputElement)) return;
        field.focus();
        field.value = "";
        // A refused line comes back, unless the user has begun another one.
        void send(text, isSpectator && data.get("to") === "spectators" ? "spectators" : "room").then(
            (isAccepted) => !isAccepted && field.value === "" && (field.value = text),
        );
    };
    const scroll = (/** @type {Event} */ event) => {
        const list = event.currentTarget;
        if (list instanceof Element) onScroll(list.scrollHeight - list.scrollTop - list.clientHeight < END_TOLERANCE_PX);
    };
    const list = {
        class: "lines",
        role: "log",
        "aria-live": "polite",
        "aria-label": "Messages",
        tabindex: 0,
        onscroll: scroll,
    };
    const input = {
        name: "text",
        maxlength: MAX_CHAT_CHARACTERS,
        autocomplete: "off",
        placeholder: "Say something",
        "aria-label": "Say something",
        "aria-invalid": error !== null,
        "aria-describedby": error === null ? null : "say-error",
        oninput: clearError,
        onblur: clearError,
    };
    return h(
        "section",
        { class: "card chat", "aria-label": "Chat" },
        h("h2", null, "Chat", isSpectator ? drawRecipientChoice() : null),
        h(
            "div",
            list,
            withLog(lines, log),
            lines.length + log.length === 0 && h("p", { class: "muted empty" }, "No messages yet."),
        ),
        h(
            "form",
            { id: "say", onsubmit: submit },
            h("input", input),
            h("button", { class: "icon-button", "aria-label": "Send" }, icon("send")),
        ),
        error === null ? null : h("p", { key: "error", id: "say-error", class: "field-error", role: "alert" }, error),
    );
}

/**
 * The lines of the chat and of the log, in the order of the room's events.
 * @param {ChatLine[]} lines
 * @param {LogLine[]} log
 * @returns {VNode[]}
 */
function withLog(lines, log) {
    const all = [
        ...lines.map((line) => ({ v: line.v, drawn: drawLine(line) })),
        ...log.map(({ v, key, text }) => ({ v, drawn: h("p", { key, class: "event" }, text) })),
    ];
    return all.sort((a, b) => a.v - b.v).map(({ drawn }) => drawn);
}

/** A spectator's choice between everybody and spectators; players do not receive the latter. */
function drawRecipientChoice() {
    const options = [
        h("option", { value: "room" }, "to everybody"),
        h("option", { value: "spectators" }, "to spectators"),
    ];
    return h("select", { name: "to", form: "say", class: "small", "aria-label": "To whom" }, options);
}

/** @param {ChatLine} line */
function drawLine({ v, name, text, to }) {
    const aside = to === "spectators" ? h("span", { class: "badge", title: "for spectators only" }, "aside") : null;
    return h("p", { key: v }, h("b", null, name), aside, " ", h("span", { class: "said" }, text));
}
