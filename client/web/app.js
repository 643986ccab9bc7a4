/**
 * The frame of every page: it chooses the page by the address, and draws the header, the banner of
 * a lost link and the messages about refused commands. Only this module uses the browser's socket,
 * clock and address.
 *
 * @import {Content, Description} from "./elements.js"
 * @import {Command} from "./connection.js"
 * @import {Model} from "./model.js"
 */

import { becomeGuest, whyRefused } from "./api.js";
import "./board.js";
import { CommandError } from "./connection.js";
import { h, render } from "./elements.js";
import { LobbyPage } from "./lobby.js";
import { drawBanner, drawHeader, drawToasts } from "./frame.js";
import { ReplayPage } from "./replay.js";
import { ReplaysPage } from "./replays.js";
import { RoomPage } from "./room.js";
import { Session } from "./session.js";

/**
 * One page. The app creates it for an address, starts it, draws it whenever something has changed,
 * and stops it when another page replaces it.
 * @typedef {object} Page
 * @property {() => string} title
 * @property {() => Content} draw
 * @property {() => void} start
 * @property {() => void} stop
 * @property {(before: Model) => void} changed the model or the link has changed
 * @property {() => void} drawn the result of `draw` is on the screen
 * @property {(event: KeyboardEvent) => void} key a key that nothing else handled
 */

const TOAST_MS = 7000;

/** @type {[RegExp, (app: App, id: string) => Page][]} */
const ROUTES = [
    [/^\/$/, (app) => new LobbyPage(app)],
    [/^\/room\/([\w-]{1,24})$/, (app, id) => new RoomPage(app, id)],
    [/^\/match\/([\w-]{1,24})$/, (app, id) => new ReplayPage(app, id)],
    [/^\/replays$/, (app) => new ReplaysPage(app)],
];

export class App {
    #root;
    /** @type {Page | null} */
    #page = null;
    #drawn = true;
    #announcement = "";
    /** @type {{key: number, text: string}[]} */
    #toasts = [];
    #toastCount = 0;
    #renaming = false;

    /** @param {Element} root */
    constructor(root) {
        this.#root = root;
        const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
        this.session = new Session(
            {
                open: () => new WebSocket(address),
                identify: () => becomeGuest(),
                why: whyRefused,
                clock: {
                    now: () => performance.now(),
                    after: (ms, call) => window.setTimeout(call, ms),
                    cancel: (timer) => window.clearTimeout(timer),
                },
                random: Math.random,
            },
            {
                onchange: (before) => {
                    this.#page?.changed(before);
                    this.update();
                },
                onerror: (_code, message) => this.toast(message),
            },
        );
    }

    get model() {
        return this.session.model;
    }

    start() {
        addEventListener("popstate", () => this.#route());
        addEventListener("click", (event) => this.#followLink(event));
        addEventListener("keydown", (event) => this.#key(event));
        addEventListener("online", () => this.#wake());
        addEventListener("visibilitychange", () => this.#wake());
        this.#route();
        this.session.start();
    }

    /** Retries at once when the user returns to the page or the network is back. */
    #wake() {
        if (!document.hidden && this.session.link.state === "lost") this.session.retry();
    }

    /**
     * Opens another page; `state` is for this visit only.
     * @param {string} path
     * @param {object | null} [state]
     */
    navigate(path, state = null) {
        history.pushState(state, "", path);
        this.#route();
        document.querySelector("main")?.focus({ preventScroll: true });
        scrollTo(0, 0);
    }

    /** Draws the page again, once for all changes that come together. */
    update() {
        if (!this.#drawn) return;
        this.#drawn = false;
        queueMicrotask(() => {
            this.#drawn = true;
            this.#draw();
        });
    }

    /**
     * Makes screen readers speak a text.
     * @param {string} text
     */
    announce(text) {
        // Screen readers repeat the same words only if the text changes.
        this.#announcement = text === this.#announcement ? `${text}\u00a0` : text;
        this.update();
    }

    /**
     * Shows the reason for a refusal for a while.
     * @param {string} text
     */
    toast(text) {
        const key = this.#toastCount++;
        this.#toasts = [...this.#toasts.filter((toast) => toast.text !== text), { key, text }].slice(-3);
        setTimeout(() => this.#dismiss(key), TOAST_MS);
        this.update();
    }

    /**
     * Sends a command and shows its refusal; resolves with the ack, or with null when it was
     * refused.
     * @param {Command} command
     */
    async command(command) {
        try {
            return await this.session.command(command);
        } catch (error) {
            if (!(error instanceof CommandError)) throw error;
            this.toast(error.message);
            return null;
        }
    }

    /** @param {number} key */
    #dismiss(key) {
        this.#toasts = this.#toasts.filter((toast) => toast.key !== key);
        this.update();
    }

    #route() {
        this.#page?.stop();
        const found = ROUTES.map(([path, make]) => ({ match: path.exec(location.pathname), make })).find(
            ({ match }) => match,
        );
        this.#page = found ? found.make(this, found.match?.[1] ?? "") : null;
        this.#page?.start();
        this.update();
    }

    #draw() {
        const { link, model } = this.session;
        document.title = this.#page?.title() ?? "Plyroom";
        const rename = this.#renaming ? (/** @type {string} */ name) => this.#rename(name) : null;
        render(
            this.#root,
            drawHeader({
                name: model.you?.name ?? null,
                path: location.pathname,
                link,
                rename,
                startRename: () => this.#setRenaming(true),
                cancelRename: () => this.#setRenaming(false),
                redraw: () => this.update(),
            }),
            drawBanner(link, () => this.session.retry()),
            h("main", { key: location.pathname, tabindex: -1 }, this.#page ? this.#page.draw() : drawNothing()),
            drawToasts(this.#toasts, (key) => this.#dismiss(key)),
            h("div", { class: "unseen", role: "status", id: "announcer" }, this.#announcement),
        );
        this.#page?.drawn();
    }

    /** @param {boolean} on */
    #setRenaming(on) {
        this.#renaming = on;
        this.update();
    }

    /** @param {string} name */
    async #rename(name) {
        this.#setRenaming(false);
        if (name === "" || name === this.model.you?.name) return;
        try {
            await becomeGuest(name);
            this.session.renew();
        } catch (error) {
            this.toast(error instanceof Error ? error.message : String(error));
        }
    }

    /** @param {MouseEvent} event */
    #followLink(event) {
        const link = event.target instanceof Element ? event.target.closest("a") : null;
        if (
            !link ||
            event.defaultPrevented ||
            event.button !== 0 ||
            event.metaKey ||
            event.ctrlKey ||
            event.shiftKey ||
            event.altKey
        )
            return;
        const url = new URL(link.href);
        if (url.origin !== location.origin || !ROUTES.some(([path]) => path.test(url.pathname))) return;
        event.preventDefault();
        this.navigate(url.pathname + url.search);
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const typing =
            event.target instanceof Element && event.target.closest("input, textarea, select, dialog, ply-board");
        if (!typing && !event.defaultPrevented && !event.altKey && !event.ctrlKey && !event.metaKey)
            this.#page?.key(event);
    }
}

/** @returns {Description} */
function drawNothing() {
    return h(
        "div",
        { class: "notice card" },
        h("h1", null, "There is nothing here"),
        h("p", null, h("a", { href: "/" }, "Back to the lobby")),
    );
}

const root = document.getElementById("app");
if (root) {
    root.replaceChildren();
    new App(root).start();
}
