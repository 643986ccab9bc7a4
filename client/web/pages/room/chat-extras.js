/**
 * The parts of a room's chat besides its lines: links, the answers of the bot, the list of commands
 * while you type one, and the host's buttons. The page loads this module after its first drawing.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Room, RoomAnswer} from "../../shell/model.js"
 * @import {Ack, ChatLine} from "../../shell/protocol.js"
 * @import {Chat} from "./chat.js"
 */

import { request } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { isolated } from "../../shell/isolation.js";
import { isOneScreen, permits } from "./viewer.js";

/** An address in a line of a person. */
const ADDRESS = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?)\]]/g;
/** A page of this server in a line of the bot. */
const PAGE = /\/(?:match|glass|learn)[\w/?=&.%-]*[\w/=%-]/g;
/** The text of a link to a page, by the beginning of its path. @type {Record<string, string>} */
const LABELS = { match: "open the analysis", glass: "open the glass box", learn: "open the lesson" };

/** A chat command, as the server lists it. @typedef {{name: string, about: string}} ChatCommand */

export class ChatExtras {
    #app;
    /** The commands; null until they have arrived. @type {ChatCommand[] | null} */
    #commands = null;
    #isRequested = false;
    /** What is typed, if it is the beginning of a command; otherwise "". */
    #typed = "";
    #selected = 0;
    /** The number of the last line that this page has sent on the current connection. @type {number | null} */
    #sent = null;
    /** How often the page has been drawn without a connection. */
    #cuts = 0;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /**
     * The text of a line, with links where the server allows them.
     * @param {ChatLine} line
     * @returns {Content}
     */
    drawText({ text, by, links }) {
        if (by === "bot") return withLinks(text, PAGE, {});
        return links ? withLinks(text, ADDRESS, { target: "_blank", rel: "noopener noreferrer nofollow ugc" }) : text;
    }

    /**
     * The bot's answers to you alone, each with its place among the lines.
     * @param {Room} room
     * @returns {{v: number, drawn: VNode}[]}
     */
    drawAnswers(room) {
        const answers = room.answers.map((answer, index) => ({ v: answer.at_v + 0.5, drawn: drawAnswer(answer, index) }));
        if (this.#app.session.status.state !== "open") this.#onCut();
        const v = this.#unanswered(room);
        const waiting = h("p", { key: "waiting", class: "event pulse" }, "Plyroom is thinking…");
        return v === null ? answers : [...answers, { v: v + 0.5, drawn: waiting }];
    }

    /** Call it before you send a line, and the returned function with the ack: the page then waits for the answer. */
    onSend() {
        const cuts = this.#cuts;
        return (/** @type {Ack | null} */ ack) => {
            if (ack === null || cuts !== this.#cuts) return;
            this.#sent = ack.v;
            this.#app.update();
        };
    }

    /** Answers are not kept: those during a lost connection never come. */
    #onCut() {
        this.#cuts++;
        this.#sent = null;
    }

    /**
     * The number of the line that this page has sent last, if it is a command that the bot has not
     * answered yet; else null.
     * @param {Room} room
     */
    #unanswered({ chat, answers }) {
        const mine = chat.find(({ v }) => v === this.#sent);
        if (!mine || !/^\/[a-z]/i.test(mine.text)) return null;
        const isAnswered = answers.some(({ v }) => v === mine.v) || chat.some((line) => line.answers === mine.v);
        return isAnswered ? null : mine.v;
    }

    /**
     * At the last line of another person the buttons to mute them: for yourself, and for the host for
     * everyone.
     * @param {ChatLine} line
     * @param {Chat} chat
     * @returns {Content}
     */
    drawMute(line, { room, me, marks, muted, redraw }) {
        const { identity, name, by } = line;
        if (!identity || by || identity === me || room.chat.findLast((each) => each.identity === identity) !== line) return null;
        const mute = () => {
            muted.add({ identity, name });
            redraw();
        };
        const muteForAll = () => void this.#app.command({ t: "mute", room: room.id, identity });
        const button = (/** @type {string} */ label, /** @type {string} */ text, /** @type {() => void} */ onclick) =>
            h("button", { class: "mute", "aria-label": label, title: label, onclick }, text);
        const isMuted = room.muted.some((person) => person.identity === identity);
        return [
            button(`Mute ${isolated(name)}${marks.get(identity) ?? ""}`, "Mute", mute),
            isMuted || !this.#isHost(room) ? null : button(`Mute ${isolated(name)} for everyone`, "Mute for all", muteForAll),
        ];
    }

    /**
     * The people whom you have muted and who have written here, each with a button to show their lines
     * again.
     * @param {Chat} chat
     * @returns {Content}
     */
    drawUnheard({ room, marks, muted, redraw }) {
        /** @type {Map<string, string>} */
        const names = new Map();
        for (const { identity, name } of room.chat) if (identity && muted.has(identity)) names.set(identity, name);
        return [...names].map(([identity, name]) => {
            const unmute = () => {
                muted.remove(identity);
                redraw();
            };
            return h(
                "p",
                { class: "muted muted-person", key: identity },
                `You do not see what ${isolated(name)}${marks.get(identity) ?? ""} writes. `,
                h("button", { class: "small", onclick: unmute }, "Show it"),
            );
        });
    }

    /**
     * The people whom the host has muted, each with a button for the host to unmute them.
     * @param {Room} room
     * @returns {Content}
     */
    drawMuted(room) {
        const isHost = this.#isHost(room);
        return room.muted.map(({ identity, name }) => {
            const unmute = () => void this.#app.command({ t: "unmute", room: room.id, identity });
            const isMe = identity === this.#app.model.you?.identity;
            return h(
                "p",
                { class: "muted muted-person", key: `all ${identity}` },
                isMe ? "The host has muted you: you cannot write here. " : `The host has muted ${isolated(name)}. `,
                isHost && permits(this.#app.model, "unmute")
                    ? h("button", { class: "small", onclick: unmute }, `Unmute ${isolated(name)}`)
                    : null,
            );
        });
    }

    /**
     * The host's setting of help with positions between two people, before a match; for everyone else
     * a sentence, if there is help. Nothing where an AI has a seat.
     * @param {Room} room
     * @returns {Content}
     */
    drawHelpSetting(room) {
        const hasAi = room.seats.some((occupant) => occupant?.kind === "ai");
        if (hasAi || isOneScreen(room)) return null;
        if (room.may === null || !room.may.includes("configure"))
            return room.help ? h("p", { key: "help", class: "muted help-setting" }, "The bot may help both players.") : null;
        const change = (/** @type {Event} */ event) => {
            const help = event.currentTarget instanceof HTMLInputElement && event.currentTarget.checked;
            const thinking = room.thinking === "spectators" || room.thinking === "after" ? room.thinking : "all";
            void this.#app.command({ t: "configure", room: room.id, thinking, help });
        };
        const box = h("input", { type: "checkbox", ".checked": room.help, onchange: change });
        return h("label", { key: "help-box", class: "muted help-setting" }, box, " The bot may help both players in the next match");
    }

    /** @param {Room} room */
    #isHost(room) {
        return room.description?.host === this.#app.model.you?.identity;
    }

    // --- the list of commands while you type one

    /**
     * The attributes that the list needs on the field.
     * @returns {Record<string, unknown>}
     */
    fieldAttributes() {
        const shown = this.#matches();
        const isOpen = shown.length > 0;
        return {
            role: "combobox",
            "aria-autocomplete": "list",
            "aria-expanded": String(isOpen),
            "aria-controls": isOpen ? "commands" : null,
            "aria-activedescendant": isOpen ? `command-${shown[this.#selected]?.name}` : null,
            onkeydown: (/** @type {KeyboardEvent} */ event) => this.#onKey(event),
        };
    }

    /**
     * Filters the list by the typed text.
     * @param {string} text
     */
    onInput(text) {
        const typed = /^\/[a-z-]*$/i.test(text) ? text.toLowerCase() : "";
        if (typed === this.#typed) return;
        this.#typed = typed;
        this.#selected = 0;
        if (typed && !this.#isRequested) void this.#load();
        this.#app.update();
    }

    /**
     * The list of the commands that begin with the typed text; nothing if there is none.
     * @returns {Content}
     */
    drawCommands() {
        const shown = this.#matches();
        if (shown.length === 0) return null;
        const options = shown.map(({ name, about }, index) => {
            const attributes = {
                key: name,
                id: `command-${name}`,
                role: "option",
                "aria-selected": String(index === this.#selected),
                // The field keeps the focus.
                onmousedown: (/** @type {Event} */ event) => event.preventDefault(),
                onclick: () => this.#complete(name),
            };
            return h("li", attributes, h("b", null, `/${name}`), " ", h("span", { class: "muted" }, about));
        });
        return h("ul", { id: "commands", class: "commands", role: "listbox", "aria-label": "Commands" }, options);
    }

    async #load() {
        this.#isRequested = true;
        try {
            this.#commands = (await request("/api/chat-commands")).commands;
        } catch {
            this.#isRequested = false; // the next slash tries again
        }
        this.#app.update();
    }

    /** @returns {ChatCommand[]} */
    #matches() {
        if (this.#typed === "") return [];
        const matches = (this.#commands ?? []).filter(({ name }) => `/${name}`.startsWith(this.#typed));
        return matches.length === 1 && `/${matches[0]?.name}` === this.#typed ? [] : matches;
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        const shown = this.#matches();
        if (shown.length === 0) return;
        const steps = { ArrowDown: 1, ArrowUp: -1 };
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            this.#selected = (this.#selected + steps[event.key] + shown.length) % shown.length;
            this.#app.update();
            const id = `command-${shown[this.#selected]?.name}`;
            requestAnimationFrame(() => document.getElementById(id)?.scrollIntoView({ block: "nearest" }));
        } else if (event.key === "Escape") {
            this.onInput("");
        } else if (event.key === "Tab" || (event.key === "Enter" && `/${shown[this.#selected]?.name}` !== this.#typed)) {
            this.#complete(shown[this.#selected]?.name ?? "");
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    /**
     * Writes the chosen command into the field.
     * @param {string} name
     */
    #complete(name) {
        const field = document.querySelector("#say input");
        if (field instanceof HTMLInputElement) {
            field.value = `/${name} `;
            field.focus();
        }
        this.onInput("");
    }
}

/**
 * An answer of the bot to you alone.
 * @param {RoomAnswer} answer
 * @param {number} index
 */
function drawAnswer({ text, at_v }, index) {
    return h(
        "div",
        { key: `answer ${at_v} ${index}`, class: "answer" },
        h("p", { class: "answer-head" }, h("b", null, "Plyroom"), " ", h("span", { class: "badge" }, "only you see this")),
        h("p", { class: "said" }, withCommands(text)),
    );
}

/**
 * An answer with its links; the commands that it lists stand out.
 * @param {string} text
 * @returns {Content[]}
 */
export function withCommands(text) {
    return text.split("\n").flatMap((line, index) => {
        const command = /^\/[a-z][a-z0-9-]*(?= )/.exec(line)?.[0] ?? "";
        return [index > 0 && "\n", command && h("b", null, command), withLinks(line.slice(command.length), PAGE, {})];
    });
}

/**
 * A text whose addresses are links.
 * @param {string} text
 * @param {RegExp} pattern
 * @param {Record<string, string>} attributes
 * @returns {Content[]}
 */
export function withLinks(text, pattern, attributes) {
    /** @type {Content[]} */
    const parts = [];
    let end = 0;
    for (const match of text.matchAll(pattern)) {
        const label = LABELS[match[0].split(/[/?]/)[1] ?? ""] ?? match[0];
        parts.push(text.slice(end, match.index), h("a", { href: match[0], ...attributes }, label));
        end = match.index + match[0].length;
    }
    return [...parts, text.slice(end)];
}
