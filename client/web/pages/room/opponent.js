/**
 * What a player sees of the other person's doing: the opponent has gone, an AI keeps the player's own
 * seat, the open offers and requests with their answers, and whether the host keeps the seat for someone
 * else. The page loads this module for a match
 * between two people.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 */

import { asking } from "./actions.js";
import { awayText } from "./away.js";
import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { headPly } from "../../shell/model.js";
import { keptSeat, legalMoves, mySeat, permits } from "./viewer.js";
import { hasAi } from "../../ui/table.js";
import { occupantName, optionsText, plural } from "../../shell/words.js";

export class Opponent {
    #app;
    #absence;
    /** Whether an offer between matches waits for an answer. */
    #isAsked = false;

    /**
     * @param {App} app
     * @param {() => number} [now] a monotonic time in milliseconds
     */
    constructor(app, now = () => performance.now()) {
        this.#app = app;
        this.#absence = new Absence(now, () => app.update());
    }

    stop() {
        this.#absence.stop();
    }

    /**
     * Records who has gone, from a `presence` message.
     * @param {(number | null)[]} gone_ms for each seat the milliseconds until the match may be claimed
     * @param {number} at_ms the time of the message's arrival
     */
    setGone(gone_ms, at_ms) {
        this.#absence.set(gone_ms, at_ms);
    }

    /**
     * The sentence about the opponent who has gone, with the claims.
     * @param {Room} room
     */
    drawGone(room) {
        return drawGone(this.#app, room, this.#absence);
    }

    /**
     * For the host, the button that frees the seat of a person for whom it was not meant.
     * @param {Room} room
     */
    drawBarring(room) {
        return drawBarring(this.#app, room);
    }

    /**
     * The open request for a takeback and the open offer. Between two people a spectator reads that they
     * watch.
     * @param {Room} room
     * @param {string} [clock] the time control of a proposed game, or of the rematch, in words
     * @returns {Content}
     */
    drawOffers(room, clock = "") {
        if (!room.match) return null;
        const isAsked = Boolean(room.match.over) && permits(this.#app.model, "accept");
        // Between matches there is no board to keep in view, and an offer may be below the window.
        if (isAsked && !this.#isAsked)
            requestAnimationFrame(() => document.querySelector(".offer")?.scrollIntoView({ block: "nearest" }));
        this.#isAsked = isAsked;
        if (room.match.over) return [drawProposal(this.#app, room, clock), drawOffer(this.#app, room, "rematch", "rematch", clock)];
        return [this.#drawWatching(room), drawTakebackRequest(this.#app, room), drawOffer(this.#app, room, "draw", "accept")];
    }

    /**
     * For who watches a match between two people: a player may have opened the link in another browser.
     * With an AI this module may arrive in mid-match, and the sentence would come out of nowhere.
     * @param {Room} room
     */
    #drawWatching({ match }) {
        const { model } = this.#app;
        if (mySeat(model) !== null || keptSeat(model) !== null || hasAi(match?.seats ?? [])) return null;
        return h("p", { key: "watching", class: "muted" }, "You are watching. If you are one of the players, go on in the browser in which you pressed Play.");
    }
}

/** The milliseconds between two steps of the countdown. */
const STEP_MS = 1000;

/** Counts down the time until the match may be claimed, and whether the player waits instead. */
class Absence {
    #now;
    #onstep;
    /** The end of the countdown for each seat. @type {(number | null)[]} */
    #ends_ms = [];
    /** @type {ReturnType<typeof setInterval> | null} */
    #timer = null;
    /** Whether the player has chosen to wait; it ends when the opponent is back. */
    isWaiting = false;

    /**
     * @param {() => number} now a monotonic time in milliseconds
     * @param {() => void} onstep called at each step while a player has gone
     */
    constructor(now, onstep) {
        this.#now = now;
        this.#onstep = onstep;
    }

    /**
     * Starts the countdowns of a `presence` message.
     * @param {(number | null)[]} gone_ms
     * @param {number} at_ms the time of its arrival
     */
    set(gone_ms, at_ms) {
        this.#ends_ms = gone_ms.map((ms) => (ms === null ? null : at_ms + ms));
        const hasGone = this.#ends_ms.some((end_ms) => end_ms !== null);
        if (!hasGone) this.stop();
        else this.#timer ??= setInterval(this.#onstep, STEP_MS);
    }

    /**
     * The whole seconds until the seat's opponent may claim the match; null if nobody may.
     * @param {number} seat
     */
    secondsLeft(seat) {
        const end_ms = this.#ends_ms[seat] ?? null;
        return end_ms === null ? null : Math.max(0, Math.ceil((end_ms - this.#now()) / 1000));
    }

    stop() {
        if (this.#timer !== null) clearInterval(this.#timer);
        this.#timer = null;
        this.#ends_ms = [];
        this.isWaiting = false;
    }
}

/**
 * The claims against an opponent who has gone, with the texts of their buttons.
 * @typedef {"claim_win" | "call_draw" | "let_ai_play"} Claim
 * @type {{t: Claim, text: string}[]}
 */
const CLAIMS = [
    { t: "claim_win", text: "Claim the win" },
    { t: "call_draw", text: "Call it a draw" },
    { t: "let_ai_play", text: "Let the AI play on" },
];

/**
 * The sentence about the opponent who has gone and the buttons to claim the match; for a player whose
 * seat an AI keeps, the button to take it back.
 * @param {App} app
 * @param {Room} room
 * @param {Absence} absence
 * @returns {Content}
 */
function drawGone(app, room, absence) {
    const { model } = app;
    const send = (/** @type {Claim | "reclaim_seat"} */ t) => () => void app.command({ t, room: room.id });
    const kept = keptSeat(model);
    if (kept !== null && permits(model, "reclaim_seat")) {
        return h(
            "div",
            { class: "gone", key: "kept" },
            h("p", null, `${room.seats[kept]?.name} plays for you.`),
            h("button", { class: "main", onclick: send("reclaim_seat"), ...app.offline }, "Take your seat back"),
        );
    }
    const text = goneText(app, room, absence);
    // Without a connection nobody knows who is there.
    if (text === null || app.session.status.state !== "open") return null;
    const claims = CLAIMS.filter(({ t }) => permits(model, t));
    if (claims.length === 0 || absence.isWaiting) return h("p", { class: "gone", key: "gone" }, text);
    const wait = () => {
        absence.isWaiting = true;
        app.update();
    };
    return h(
        "div",
        { class: "gone", key: "gone", role: "group", "aria-label": text },
        h("p", null, text),
        h("button", { class: "main", onclick: wait }, "Wait"),
        claims.map(({ t, text: label }) => h("button", { onclick: send(t) }, label)),
    );
}

/**
 * The sentence about a player who has gone, or null.
 * @param {App} app
 * @param {Room} room
 * @param {Absence} absence
 */
function goneText(app, room, absence) {
    const viewerSeat = mySeat(app.model);
    const away = (/** @type {number} */ each) => `${occupantName(room.seats[each])} ${awayText(room.presence, each)}.`;
    const seat = [0, 1].find((each) => each !== viewerSeat && absence.secondsLeft(each) !== null);
    if (seat === undefined || !room.match || room.match.over) return null;
    if (viewerSeat === null)
        return [0, 1]
            .filter((each) => absence.secondsLeft(each) !== null)
            .map(away)
            .join(" ");
    if (CLAIMS.some(({ t }) => permits(app.model, t)))
        return `${away(seat)}${permits(app.model, "claim_win") ? "" : " Your side cannot win any more."}`;
    if (permits(app.model, "abort")) return `${away(seat)} You may abort the match.`;
    const seconds = absence.secondsLeft(seat) ?? 0;
    const isMyMove = legalMoves(room).length > 0;
    const left = seconds > 0 || !isMyMove ? `in ${seconds} s` : "";
    const when = [left, isMyMove ? "after your move" : ""].filter((condition) => condition !== "");
    return `${away(seat)} You may claim the match ${when.join(" and ")}.`;
}

/**
 * "Ada asks to take 2 moves back." with the buttons to accept and decline, or "You asked to take a
 * move back." with the button to withdraw the request.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
function drawTakebackRequest(app, room) {
    const { model } = app;
    const seat = mySeat(model);
    if (seat === null || room.takebacks.length === 0) return null;
    const request = room.takebacks.find((each) => each.seat !== seat);
    const accept = () => void app.command({ t: "accept", room: room.id, what: "takeback", ply: headPly(room) });
    const decline = () => void app.command({ t: "decline", room: room.id, what: "takeback" });
    // After the opponent's answer it is two moves, of which one is the other player's own.
    const count = headPly(room) - ((request ?? room.takebacks[0]).to_ply ?? 0);
    const back = count === 1 ? "a move" : plural(count, "move");
    const sentence = request ? `${occupantName(room.seats[request.seat])} asks to take ${back} back.` : `You asked to take ${back} back.`;
    return h(
        "div",
        { key: "takeback-request", class: "offer", role: "group", "aria-label": sentence },
        h("p", null, sentence),
        request ? h("button", { key: "accept", class: "main", onclick: accept }, "Accept") : null,
        h("button", { key: "decline", onclick: decline }, request ? "Decline" : "Withdraw"),
    );
}

/**
 * The open proposal of the next game: "Ada proposes Othello. You begin."
 * @param {App} app
 * @param {Room} room
 * @param {string} clock its time control in words, "" without one
 * @returns {Content}
 */
function drawProposal(app, room, clock) {
    const { model } = app;
    if (!room.next) return null;
    const { seat, v, title, options, options_text, seats, level } = room.next;
    const isOwn = seat === mySeat(model);
    const words = optionsText({ options: options ?? {}, options_text: options_text ?? "" });
    const more = [level && `level ${level}`, clock].filter(Boolean).map((each) => `, ${each}`);
    const first = seats?.[0];
    const begins = first === undefined ? "" : ` ${firstText(app, room, first)}`;
    const game = `${title}${words && ` (${words})`}${more.join("")}.${begins}`;
    const sentence = isOwn ? `You propose ${game}${absentText(app, room)}` : `${occupantName(room.seats[seat])} proposes ${game}`;
    const accept = () => void app.command({ t: "accept", room: room.id, what: "next", v });
    const decline = () => void app.command({ t: "decline", room: room.id, what: "next" });
    return h(
        "div",
        { key: "proposal", class: "offer", role: "group", "aria-label": sentence },
        h("p", null, sentence),
        !isOwn && permits(model, "accept") ? h("button", { key: "accept", class: "main", onclick: accept }, "Accept") : null,
        permits(model, "decline") ? h("button", { key: "decline", onclick: decline }, isOwn ? "Withdraw" : "Decline") : null,
    );
}

/**
 * Who begins the next match: "You begin."
 * @param {App} app
 * @param {Room} room
 * @param {number} first the seat of now that has the first side then
 */
function firstText({ model }, room, first) {
    return first === mySeat(model) ? "You begin." : `${occupantName(room.seats[first])} begins.`;
}

/**
 * The open offer: "Ada offers a draw." with the buttons to accept and decline it, or "You offered a
 * draw." with the button to withdraw it.
 * @param {App} app
 * @param {Room} room
 * @param {"draw" | "rematch"} noun what is offered
 * @param {"accept" | "rematch"} accept the command that accepts it
 * @param {string} [clock] the time control of the rematch in words
 * @returns {Content}
 */
function drawOffer(app, room, noun, accept, clock = "") {
    const { model } = app;
    const send = (/** @type {"accept" | "rematch" | "decline"} */ t) => () =>
        void app.command(t === "rematch" ? { t, room: room.id } : { t, room: room.id, what: noun });
    if (room.offers.length === 0) return null;
    const offerer = room.offers.find((seat) => seat !== mySeat(model));
    const decline = (/** @type {string} */ text) => h("button", { key: "decline", onclick: send("decline") }, text);
    if (offerer !== undefined && permits(model, "accept"))
        return drawSentence(`${occupantName(room.seats[offerer])} offers a ${noun}${clock && `, ${clock}`}.`, [
            h("button", { key: "accept", class: "main", onclick: send(accept) }, "Accept"),
            decline("Decline"),
        ]);
    if (!permits(model, "decline")) return null;
    return drawSentence(`You offered a ${noun}.${absentText(app, room)}`, decline("Withdraw"));
}

/**
 * What somebody who waits for an answer between matches has to know: the other person is not in the
 * room. During a match the absence has a sentence of its own.
 * @param {App} app
 * @param {Room} room
 */
function absentText(app, room) {
    const other = 1 - (mySeat(app.model) ?? 0);
    if (!room.match?.over || room.presence?.seats[other] !== false) return "";
    return ` ${occupantName(room.seats[other])} is not in the room now; the offer waits.`;
}

/**
 * @param {string} sentence
 * @param {Content} answers
 */
function drawSentence(sentence, answers) {
    return h("div", { key: "offer", class: "offer", role: "group", "aria-label": sentence }, h("p", null, sentence), answers);
}

/**
 * For the host, the button that frees the seat of each other person, until both have moved; it asks
 * first.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
function drawBarring(app, room) {
    if (!permits(app.model, "bar")) return null;
    const others = room.seats.filter((each) => each && each.kind !== "ai" && each.identity !== app.model.you?.identity);
    return others.map((other) => {
        const name = occupantName(other);
        const ask = () => void asking(app, (questions) => questions.bar(app, room, other));
        const text = others.length > 1 ? `Not ${name}` : "Not this person";
        const title = `You expect someone else? This frees ${name}'s seat; it asks first`;
        return h("button", { key: `bar ${other?.identity}`, title, "aria-description": title, onclick: ask }, icon("stand"), text);
    });
}
