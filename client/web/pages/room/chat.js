/**
 * The chat of a room, with the log of what happens in the room.
 *
 * @import {ChatLine} from "../../shell/protocol.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 * @import {ChatExtras} from "./chat-extras.js"
 * @import {LogLine} from "./feedback.js"
 * @import {Muted} from "./muted.js"
 */

import { h } from "../../shell/elements.js";
import { limitCharacters } from "../../shell/frame.js";
import { icon } from "../../shell/icons.js";

/** The longest line that the server accepts, in characters. */
const MAX_CHAT_CHARACTERS = 400;
/** The bot's words about itself, above all lines. */
const INTRODUCTION = "I am Plyroom, the room's bot. Type / for what I can do, or call me: @bot, how do I win?";
/** How a line is marked that not everyone reads. @type {Record<string, {text: string, title: string}>} */
const READERS = {
    spectators: { text: "to spectators", title: "for spectators only" },
    author: { text: "private", title: "only you see this line" },
};
/** The list counts as scrolled to its end if less than this is hidden below, in pixels. */
const END_TOLERANCE_PX = 30;

/**
 * @typedef {object} Chat
 * @property {Room} room
 * @property {ChatExtras | null} extras null until they are loaded
 * @property {LogLine[]} log
 * @property {string | null} error why the server refused the last line
 * @property {() => void} clearError
 * @property {(text: string, to: "room" | "spectators") => Promise<boolean>} send resolves with
 *     whether the server accepted the line
 * @property {boolean} isSpectator whether the viewer is a spectator, who can also write to the
 *     spectators alone
 * @property {(isAtEnd: boolean) => void} onScroll called with whether the newest line is visible
 * @property {string | null} me the viewer's identity
 * @property {Map<string, string>} marks what tells people of the same name apart
 * @property {Muted} muted
 * @property {() => void} redraw called when the muted people have changed
 */

/**
 * @param {Chat} chat
 * @returns {VNode}
 */
export function drawChat(chat) {
    const { room, extras, log, error, clearError, send, isSpectator, onScroll, muted } = chat;
    const shown = room.chat.filter(({ identity }) => !muted.has(identity));
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
        extras?.onInput("");
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
    /** @type {(event: Event) => void} */
    const oninput = (event) => {
        const text = limitCharacters(event, MAX_CHAT_CHARACTERS);
        clearError();
        extras?.onInput(text);
    };
    const input = {
        name: "text",
        dir: "auto",
        autocomplete: "off",
        placeholder: "Say something",
        "aria-label": "Say something",
        "aria-invalid": error !== null,
        "aria-describedby": error === null ? null : "say-error",
        oninput,
        onblur: () => {
            clearError();
            extras?.onInput("");
        },
        ...extras?.fieldAttributes(),
    };
    return h(
        "section",
        { class: "card chat", "aria-label": "Chat" },
        h("h2", null, "Chat", isSpectator ? drawRecipientChoice() : null),
        h(
            "div",
            list,
            h("p", { key: "introduction", class: "by-bot introduction" }, h("b", null, "Plyroom"), " ", INTRODUCTION),
            withLog(shown, log, chat),
        ),
        // One element for all: the field below would lose the focus if its place changed.
        h("div", { class: "above-field" }, extras?.drawUnheard(chat), extras?.drawMuted(room), extras?.drawHelpSetting(room), extras?.drawCommands()),
        h(
            "form",
            { id: "say", onsubmit: submit },
            h("input", input),
            h("button", { class: "icon-button", "aria-label": "Send" }, icon("send")),
        ),
        error === null ? null : h("p", { key: "error", id: "say-error", class: "field-error", role: "alert" }, error),
    );
}

/** A spectator's choice of the readers: everyone, or spectators only. */
function drawRecipientChoice() {
    const options = [h("option", { value: "room" }, "to everyone"), h("option", { value: "spectators" }, "to spectators")];
    return h("select", { name: "to", form: "say", class: "small", "aria-label": "To whom" }, options);
}

/**
 * The lines of the chat and of the log, in the order of the room's events. What is no event follows
 * the last one before it, in the order in which it came.
 * @param {ChatLine[]} lines
 * @param {LogLine[]} log
 * @param {Chat} chat
 * @returns {VNode[]}
 */
function withLog(lines, log, chat) {
    const all = [
        ...lines.map((line) => ({ v: line.v, at: 0, drawn: drawLine(line, chat) })),
        ...log.map(({ v, at = 0, key, text }) => ({ v, at, drawn: h("p", { key, class: "event" }, text) })),
        ...(chat.extras?.drawAnswers(chat.room) ?? []),
    ];
    return all.sort((a, b) => a.v - b.v || a.at - b.at).map(({ drawn }) => drawn);
}

/**
 * A line with its author, and the buttons to mute the author.
 * @param {ChatLine} line
 * @param {Chat} chat
 */
function drawLine(line, chat) {
    const { extras, marks } = chat;
    const { v, identity, name, text, by, to } = line;
    const reader = READERS[to ?? "room"];
    const readers = reader && h("span", { class: "badge", title: reader.title }, reader.text);
    const mark = marks.get(identity ?? "") ?? "";
    const said = h("span", { class: "said", dir: "auto" }, extras?.drawText(line) ?? text);
    return h("p", { key: v, class: by && "by-bot" }, h("b", null, h("bdi", null, name), mark), readers, " ", said, extras?.drawMute(line, chat));
}
