/**
 * The card over the board before a match: for a guest the invitation to play, for the host
 * the link to send. The page loads this module while a seat is free.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 * @import {Share} from "../../ui/share.js"
 */

import { registerGuest } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { isolated } from "../../shell/isolation.js";
import { nameField } from "../../shell/frame.js";
import { isInviting, mySeat, permits } from "./viewer.js";
import { occupantName, sideName } from "../../shell/words.js";

/** The value of the button to watch; the other buttons have that of their seat. */
const WATCH = "watch";

export class Invitation {
    #app;
    #share;
    /** Whether the viewer has chosen to watch. */
    #isWatching = false;
    #isBusy = false;
    /** The server's refusal of the name, or empty. */
    #refusal = "";
    /** @type {typeof import("../../ui/large-share.js").drawLargeShare | undefined} */
    #drawLarge;
    /** Whether the host's card has the field for a name: it stays while the card is there. */
    #asksName = false;
    /** Whether the host's name has just been saved. */
    #isSaved = false;

    /**
     * @param {App} app
     * @param {Share} share
     */
    constructor(app, share) {
        this.#app = app;
        this.#share = share;
        void this.#loadLarge();
    }

    /** Loads what draws the QR code: the link's address arrives late too. */
    async #loadLarge() {
        const loaded = await import("../../ui/large-share.js").catch(() => null);
        this.#drawLarge = loaded?.drawLargeShare;
        this.#app.update();
    }

    /**
     * The card; null where the room waits for nobody, and for a viewer who has chosen to watch.
     * @param {Room} room
     * @param {(seat: number) => Content} drawAiForm draws the form that puts an AI on a seat
     * @param {string} [clock] the time control in words, "" without one
     * @returns {Content}
     */
    draw(room, drawAiForm, clock = "") {
        const { model } = this.#app;
        if (!isInviting(room)) return null;
        if (invites(model, room)) return this.#drawForHost(room, drawAiForm);
        if (this.#isWatching || !permits(model, "sit")) return null;
        return this.#drawForGuest(room, clock);
    }

    /**
     * @param {Room} room
     * @param {(seat: number) => Content} drawAiForm
     */
    #drawForHost(room, drawAiForm) {
        const seat = room.seats.indexOf(null);
        const isOnlyOneFree = room.seats.filter((each) => each === null).length === 1;
        const starts = isOnlyOneFree ? "as soon as your friend presses Play" : "when both seats are taken";
        return h(
            "section",
            { class: "invite card", "aria-label": "Invitation", key: "host" },
            h("h2", null, "Invite a friend"),
            this.#share.isLocal
                ? null
                : h("p", { class: "muted" }, `Send the link${this.#share.hasCode ? ", or let your friend scan the code" : ""}. The match starts ${starts}.`),
            this.#drawLarge?.(this.#share) ?? this.#share.draw("", true),
            this.#drawHostName(),
            h("p", { class: "muted" }, room.description?.visibility === "public" ? `Anyone in the lobby may take ${isOnlyOneFree ? "the other" : "a"} seat.` : "Only people with the link find this room."),
            permits(this.#app.model, "add_ai")
                ? h("div", { class: "or-ai" }, h("span", { class: "muted" }, "Or put an AI here:"), drawAiForm(seat))
                : null,
        );
    }

    /**
     * The name under which a host invites who has not chosen one yet. It is asked once: later cards
     * leave it out.
     */
    #drawHostName() {
        const name = this.#app.model.you?.name ?? "";
        if (!this.#asksName && (!isMadeName(name) || wasAsked())) return null;
        this.#asksName = true;
        const save = (/** @type {Event} */ event) => {
            const field = event.currentTarget instanceof HTMLFormElement ? event.currentTarget.elements.namedItem("name") : event.currentTarget;
            event.preventDefault();
            if (field instanceof HTMLInputElement) void this.#rename(field.value);
        };
        return h(
            "form",
            { class: "host-name", key: "name", onsubmit: save },
            h(
                "label",
                null,
                h("span", null, "Your name, as your friend sees it"),
                this.#drawNameField(isMadeName(name) ? "" : name, save, name),
            ),
            h("button", { disabled: this.#isBusy, ...this.#app.offline }, this.#isSaved ? "Saved" : "Save"),
            this.#refusal ? h("p", { class: "refusal", role: "alert", id: "name-refusal" }, this.#refusal) : null,
        );
    }

    /** @param {string} name */
    async #rename(name) {
        noteAsked();
        if (this.#isBusy || name.trim() === "" || name.trim() === this.#app.model.you?.name) return;
        this.#isBusy = true;
        this.#app.update();
        try {
            await this.#takeName(name);
            this.#isSaved = true;
        } catch (error) {
            this.#refusal = error instanceof Error ? error.message : String(error);
        }
        this.#isBusy = false;
        this.#app.update();
    }

    /**
     * @param {Room} room
     * @param {string} clock
     */
    #drawForGuest(room, clock) {
        const { description, presence, seats } = room;
        const free = seats.flatMap((occupant, seat) => (occupant === null ? [seat] : []));
        const submit = (/** @type {SubmitEvent} */ event) => {
            event.preventDefault();
            const form = event.currentTarget;
            const choice = event.submitter?.getAttribute("value") ?? free[0];
            const seat = choice === WATCH ? null : Number(choice);
            if (form instanceof HTMLFormElement) void this.#enter(room, seat, String(new FormData(form).get("name")));
        };
        const play = free.map((seat, i) =>
            h(
                "button",
                { class: i === 0 ? "main large" : "large", value: seat, disabled: this.#isBusy, ...this.#app.offline, key: `play ${seat}` },
                free.length > 1 ? `Play ${sideName(description?.view, seat)}` : "Play",
            ),
        );
        const hint =
            free.length > 1
                ? "Choose your side. The match starts when the other side is taken."
                : `You play ${sideName(description?.view, free[0])}.`;
        const other = seats.findIndex((occupant) => occupant !== null);
        const absent = presence?.seats[other] === false && ` ${isolated(occupantName(seats[other]))} is not in the room now.`;
        return h(
            "section",
            { class: "invite card", "aria-label": "Invitation", key: "guest" },
            h("h2", null, invitationText(room)),
            description?.goal && h("p", null, description.goal),
            h("p", { class: "muted" }, hint, absent, clock && ` Time for each side: ${clock}.`),
            h(
                "form",
                { onsubmit: submit },
                h("label", null, h("span", null, "Your name"), this.#drawNameField(this.#app.model.you?.name ?? "")),
                this.#refusal ? h("p", { class: "refusal", role: "alert", id: "name-refusal" }, this.#refusal) : null,
                h(
                    "div",
                    { class: "buttons" },
                    play,
                    h("button", { class: "large", value: WATCH, disabled: this.#isBusy, key: "watch" }, "Watch"),
                ),
            ),
        );
    }

    /**
     * @param {string} value
     * @param {((event: Event) => void) | null} [onchange]
     * @param {string | null} [placeholder] the name that an empty field leaves
     */
    #drawNameField(value, onchange = null, placeholder = null) {
        // Not when it is left: the button under the pointer would move away before the click.
        const clearRefusal = () => {
            if (!this.#refusal && !this.#isSaved) return;
            this.#refusal = "";
            this.#isSaved = false;
            this.#app.update();
        };
        return h("input", {
            ...nameField(value, clearRefusal),
            placeholder,
            "aria-invalid": this.#refusal ? "true" : null,
            "aria-describedby": this.#refusal ? "name-refusal" : null,
            onchange,
        });
    }

    /**
     * Gives the user another name, unless it is empty or the same. Throws the server's refusal.
     * @param {string} name
     */
    async #takeName(name) {
        const chosen = name.trim();
        if (chosen === "" || chosen === this.#app.model.you?.name) return;
        await registerGuest(chosen);
        this.#app.session.renew();
    }

    /**
     * Takes a seat, or watches without one, under another name if the user has changed it.
     * @param {Room} room
     * @param {number | null} seat
     * @param {string} name
     */
    async #enter(room, seat, name) {
        if (this.#isBusy) return;
        this.#isBusy = true;
        this.#refusal = "";
        this.#app.update();
        try {
            await this.#takeName(name);
            if (seat === null) this.#isWatching = true;
            else await this.#app.command({ t: "sit", room: room.id, seat });
            this.#app.update();
            focusMain();
        } catch (error) {
            this.#refusal = error instanceof Error ? error.message : String(error);
        }
        this.#isBusy = false;
        this.#app.update();
    }
}

/** The storage's key of whether a host was asked for a name. */
const ASKED_KEY = "name-asked";

/**
 * Whether a name is one that the server gave a guest, "Guest 4711".
 * @param {string} name
 */
function isMadeName(name) {
    return /^Guest \d{4}$/.test(name);
}

/** Whether this browser has asked its user for a name. */
function wasAsked() {
    try {
        return localStorage.getItem(ASKED_KEY) !== null;
    } catch {
        return false;
    }
}

function noteAsked() {
    try {
        localStorage.setItem(ASKED_KEY, "yes");
    } catch {
        // Without storage the next card asks again.
    }
}

/**
 * Whether the viewer is the one who invites: a player who waits, or the host of an empty room.
 * @param {Model} model
 * @param {Room} room
 */
function invites(model, room) {
    return mySeat(model) !== null || (model.you !== null && room.description?.host === model.you.identity);
}

/**
 * Who invites to what: "Ada invites you to chess."
 * @param {Room} room
 */
function invitationText({ description, seats }) {
    const title = description?.title ?? "a match";
    const game = title.charAt(0).toLowerCase() + title.slice(1);
    const occupant = seats.find((other) => other !== null);
    if (!occupant) return `You are invited to ${game}.`;
    return occupant.kind === "ai" ? `${occupant.name} plays ${game} with you.` : `${isolated(occupant.name)} invites you to ${game}.`;
}

/** Moves the focus to the page's content: the focused button has gone. */
function focusMain() {
    document.querySelector("main")?.focus({ preventScroll: true });
}
