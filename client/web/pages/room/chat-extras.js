/**
 * The parts of a room's chat besides its lines: links, the answers of the bot, the list of commands
 * while you type one, and the host's buttons. The page loads this module after its first drawing.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Room, RoomAnswer} from "../../shell/model.js"
 * @import {Ack, ChatLine} from "../../shell/protocol.js"
 * @import {Chat} from "./chat.js"
 * @import {CommandList} from "./chat-commands.js"
 */

import { h } from "../../shell/elements.js";
import { isolated } from "../../shell/isolation.js";
import { MAX_CHAT_LINES } from "../../shell/model.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { arrowsOf } from "./answers.js";
import { isOneScreen, permits } from "./viewer.js";

// The card of the AI's thinking scrolls; this part is the one that every room loads after its first drawing.
void loadStyleSheet("ui/edge-shadow.css").catch(() => {});

/** An address in a line of a person. */
const ADDRESS = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?)\]]/g;
/** A page of this server in a line of the bot. */
const PAGE = /\/(?:match|glass|learn)[\w/?=&.%-]*[\w/=%-]/g;
/** The text of a link to a page, by the beginning of its path. @type {Record<string, string>} */
const LABELS = { match: "open the analysis", glass: "open the glass box", learn: "open the lesson" };

/** Maximum number of answers that a tab keeps for a reload. */
const KEPT_ANSWERS = 40;

/**
 * An answer with the number of the event after which it came, its time in ms, and its own key on the
 * page.
 * @typedef {Pick<RoomAnswer, "text" | "at_v"> & {key: number, at: number}} KeptAnswer
 */

export class ChatExtras {
    #app;
    /** The answers in this tab, also from before a reload; null until the room has arrived. @type {KeptAnswer[] | null} */
    #answers = null;
    #answerCount = 0;
    /** The answers of the model that are among them. @type {WeakSet<RoomAnswer>} */
    #seen = new WeakSet();
    /** The list of commands; null until it has arrived. @type {CommandList | null} */
    #commands = null;
    #isRequested = false;
    /** The list of the lines: a new one after an outage. @type {Element | null} */
    #lines = null;
    /** In a list of another size its newest line may be out of view: the next draw scrolls to it. */
    #resizes = new ResizeObserver(() => this.#app.update());
    /** The line to which the list was scrolled last. @type {Element | null} */
    #last = null;
    /** Where the form was in the page after the last draw. @type {number | undefined} */
    #formTop;
    /** What is typed. */
    #typed = "";
    /** The number of the last line that this page has sent on the current connection. @type {number | null} */
    #sent = null;
    /** How often the page has been drawn without a connection. */
    #cuts = 0;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
        // A command may have been begun before this module arrived.
        const field = document.activeElement;
        if (field instanceof HTMLInputElement && field.closest("#say")) this.onInput(field.value);
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
     * @returns {{v: number, at: number, drawn: VNode}[]}
     */
    drawAnswers(room) {
        const answers = this.keep(room).map((answer) => ({ v: answer.at_v, at: answer.at, drawn: drawAnswer(answer) }));
        if (this.#app.session.status.state !== "open") this.#onCut();
        const v = this.#unanswered(room);
        const waiting = h("p", { key: "waiting", class: "event pulse" }, "Plyroom is thinking…");
        return v === null ? answers : [...answers, { v, at: 1, drawn: waiting }];
    }

    /**
     * The room's answers, after those from before the last reload: the server keeps none. Each has the
     * time at which it is here for the first time.
     * @param {Room} room
     */
    keep({ id, v, answers }) {
        if (v === 0) return []; // the room has not arrived
        const key = `answers ${this.#app.model.you?.identity} ${id}`;
        const all = (this.#answers ??= this.#keyed(readAnswers(key).filter(({ at_v }) => at_v <= v)));
        const fresh = answers.filter((answer) => !this.#seen.has(answer));
        if (fresh.length === 0) return all;
        for (const answer of fresh) this.#seen.add(answer);
        this.#answers = [...all, ...this.#keyed(fresh, Date.now())].slice(-MAX_CHAT_LINES);
        try {
            sessionStorage.setItem(key, JSON.stringify(this.#answers.slice(-KEPT_ANSWERS), ["text", "at_v"]));
        } catch {
            // Without storage a reload forgets them.
        }
        return this.#answers;
    }

    /**
     * An answer may arrive before the event of the line that it answers.
     * @param {(Pick<RoomAnswer, "text" | "at_v"> & {v?: number})[]} answers
     * @param {number} [at]
     * @returns {KeptAnswer[]}
     */
    #keyed(answers, at = 1) {
        return answers.map(({ text, at_v, v = 0 }) => ({ key: this.#answerCount++, text, at_v: Math.max(at_v, v), at }));
    }

    /**
     * Scrolls to the newest line, or once to the beginning of an answer; a list that the user has
     * scrolled back stays, unless it is a new one. The field in which the user writes stays in view
     * when a hint or an offer above the chat moves it.
     * @param {HTMLElement} lines
     * @param {boolean} isAtEnd whether the newest line is in view
     */
    scroll(lines, isAtEnd) {
        const form = document.getElementById("say");
        if (form?.offsetTop !== this.#formTop && form?.contains(document.activeElement)) form.scrollIntoView({ block: "nearest" });
        this.#formTop = form?.offsetTop;
        const last = /** @type {HTMLElement} */ (lines.lastElementChild);
        const isAnswer = last.matches(".answer");
        const isNew = lines !== this.#lines;
        if (lines.clientHeight === 0 || !(isAtEnd || isNew) || (isAnswer && last === this.#last)) return;
        if (isNew) {
            this.#lines = lines;
            this.#resizes.observe(lines);
        }
        this.#last = last;
        lines.scrollTop = isAnswer ? last.offsetTop - lines.offsetTop : lines.scrollHeight;
    }

    /** The arrows of the bot's last answer, while the match stands where it stood then; else null. */
    arrowsOf = arrowsOf;

    /**
     * Call it before you send a line, and the returned function with the ack: the page then waits for the
     * answer. A line waits for a server that is away.
     */
    onSend() {
        if (this.#app.session.isAway) this.#app.toast("Your line is sent when the connection is back");
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
        const button = (/** @type {string} */ label, /** @type {string} */ text, /** @type {() => void} */ onclick, offline = {}) =>
            h("button", { class: "mute", "aria-label": label, title: label, onclick, ...offline }, text);
        const isMuted = room.muted.some((person) => person.identity === identity);
        return h(
            "span",
            { class: "mutes" },
            button(`Mute ${isolated(name)}${marks.get(identity) ?? ""}`, "Mute", mute),
            isMuted || !this.#isHost(room) ? null : button(`Mute for all: ${isolated(name)}`, "Mute for all", muteForAll, this.#app.offline),
        );
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
                    ? h("button", { class: "small", onclick: unmute, ...this.#app.offline }, `Unmute ${isolated(name)}`)
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
        return this.#commands?.fieldAttributes() ?? { role: "combobox", "aria-expanded": "false" };
    }

    /**
     * Filters the list by the typed text. The first slash loads it.
     * @param {string} text
     */
    onInput(text) {
        this.#typed = text;
        if (this.#commands) this.#commands.onInput(text);
        else if (text.startsWith("/") && !this.#isRequested) void this.#load();
    }

    /**
     * The list of the commands that begin with the typed text; nothing if there is none.
     * @returns {Content}
     */
    drawCommands() {
        return this.#commands?.draw();
    }

    async #load() {
        this.#isRequested = true;
        const module = await import("./chat-commands.js").catch(() => this.#app.missing());
        await module?.styled.catch(() => null);
        this.#isRequested = false; // without it the next slash tries again
        if (!module) return;
        this.#commands = new module.CommandList(this.#app);
        this.#commands.onInput(this.#typed);
    }
}

/**
 * The answers that this tab has kept.
 * @param {string} key
 * @returns {Pick<RoomAnswer, "text" | "at_v">[]}
 */
function readAnswers(key) {
    try {
        return JSON.parse(sessionStorage.getItem(key) ?? "[]");
    } catch {
        return [];
    }
}

/**
 * An answer of the bot to you alone.
 * @param {KeptAnswer} answer
 */
function drawAnswer({ key, text }) {
    return h(
        "div",
        { key: `answer ${key}`, class: "answer" },
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
