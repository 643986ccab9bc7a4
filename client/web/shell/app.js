/**
 * The app: it opens the page of the address, and draws the header, the connection's banner and the
 * toasts around it. It passes the browser's WebSocket, clock and randomness to the session.
 *
 * @import {Content} from "./elements.js"
 * @import {Command} from "./connection.js"
 * @import {Model} from "./model.js"
 * @import {Route} from "./router.js"
 * @import {EventMessage, HiddenMessage} from "./protocol.js"
 */

import { ApiError, listMyMatches, readRefusalReason, registerGuest } from "./api.js";
import { CommandError } from "./connection.js";
import { h, render } from "./elements.js";
import { drawBanner, drawHeader, drawToasts } from "./frame.js";
import { FailedPage, LoadingPage, MissingPage } from "./notices.js";
import { Router } from "./router.js";
import { Session } from "./session.js";
import { onSystemTheme } from "./theme.js";
import { sentence } from "./words.js";

/**
 * One page. The app creates it for an address, starts it, draws it after every change, and stops it
 * when another page replaces it.
 * @typedef {object} Page
 * @property {() => string} title
 * @property {() => Content} draw
 * @property {() => void} start
 * @property {() => void} stop
 * @property {(before: Model) => void} onModelChange called after the model or the connection's
 *     status has changed
 * @property {(event: EventMessage | HiddenMessage, before: Model) => void} [onEvent] called with each
 *     new event of the room; `before` is the model before it
 * @property {() => void} [onReconnect] called when the connection is back after an outage
 * @property {() => void} afterDraw called when the result of `draw` is in the document
 * @property {(event: KeyboardEvent) => void} onKey called for a key that nothing else handled
 */

/** Milliseconds for which a toast is shown. */
const TOAST_MS = 7000;
/** Maximum number of toasts that are shown; older ones are removed. */
const MAX_TOASTS = 3;

/** Milliseconds after a page's first draw at which the likely next page is loaded. */
const LOAD_NEXT_AFTER_MS = 3000;

export class App {
    #root;
    #router;
    #roomPath;
    /** @type {Page | null} */
    #page = null;
    /** Whether the page shows all changes; otherwise a draw is scheduled. */
    #isDrawn = true;
    #announcement = "";
    /** @type {{key: number, text: string, button: Content, staysOpen: boolean}[]} */
    #toasts = [];
    #toastCount = 0;
    /** The module of the bar about other rooms, once there has been a notification. @type {typeof import("./waiting.js") | null} */
    #bar = null;
    /** The rooms whose notifications the user has closed, until the user enters them. @type {Set<string>} */
    #closed = new Set();
    #isRenaming = false;
    /** Whether the connection was lost and is not back. */
    #wasLost = false;
    /** Whether the page of the address is a room's. */
    #isInRoom = false;
    /** Why the server refused the new name. @type {string | null} */
    #renameError = null;
    /** Whether the next page takes the focus when it is drawn. */
    #wantsFocus = false;
    /** Tells the other tabs of this browser that the guest has another name. */
    #renames = new BroadcastChannel("renamed");

    /**
     * @param {Element} root the element that the app fills
     * @param {Route[]} pages
     * @param {string} roomPath the path of a room without its id. A room is most likely opened next: its
     *     page is loaded while the browser is idle
     */
    constructor(root, pages, roomPath) {
        this.#root = root;
        this.#router = new Router(pages);
        this.#roomPath = roomPath;
        const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`;
        this.session = new Session(
            {
                openSocket: (room) => new WebSocket(room === null ? address : `${address}?room=${room}`),
                identify: () => this.#registerGuest(),
                readRefusalReason,
                clock: {
                    now: () => performance.now(),
                    after: (ms, callback) => window.setTimeout(callback, ms),
                    cancel: (timer) => window.clearTimeout(timer),
                },
                random: Math.random,
            },
            {
                onchange: (before) => {
                    this.#page?.onModelChange(before);
                    this.#noteConnection();
                    this.#onWaiting(before);
                    this.update();
                },
                onevent: (event, before) => this.#page?.onEvent?.(event, before),
                onerror: (_code, message) => this.toast(sentence(message)),
            },
        );
    }

    get model() {
        return this.session.model;
    }

    /**
     * The attributes of buttons that need the server: grey while the banner says that it is away. They
     * keep the keyboard's focus, and say on a press why they do nothing.
     */
    get offline() {
        return this.session.isAway && { "aria-disabled": true, title: "Not connected" };
    }

    start() {
        addEventListener("popstate", () => this.#route());
        addEventListener("click", (event) => this.#followLink(event));
        addEventListener("pointerover", (event) => this.#preloadLink(event));
        addEventListener("keydown", (event) => this.#onKey(event));
        addEventListener("offline", () => this.session.loseNetwork());
        addEventListener("online", () => this.#retryIfLost());
        addEventListener("visibilitychange", () => this.#retryIfLost());
        addEventListener("pagehide", () => this.session.leavePage());
        addEventListener("pageshow", () => this.#retryIfLost());
        onSystemTheme(() => this.update());
        this.#renames.onmessage = () => this.session.renew();
        this.#route();
        // The first socket is the room's, also where it opens before the room's page has been loaded.
        if (this.#isInRoom)
            this.session.expectRoom(this.#router.find(location.pathname)?.id ?? null);
        this.session.start();
        setTimeout(() => this.#router.preload(`${this.#roomPath}next`), LOAD_NEXT_AFTER_MS);
    }

    /**
     * What waits for the user in other rooms, without what the user has closed.
     */
    get #waiting() {
        return this.model.waiting.filter(({ room }) => !this.#closed.has(room) && location.pathname !== this.#roomPath + room);
    }

    /**
     * Announces a new notification; after a welcome requests those that were missed.
     * @param {Model} before
     */
    #onWaiting(before) {
        if (this.model.you !== before.you) this.#readWaiting();
        const [latest] = this.#waiting;
        if (latest) void this.#loadBar();
        if (latest && !before.waiting.includes(latest)) this.announce(latest.text ?? "");
    }

    /** Loads the bar; if that fails, the next notification tries again. */
    async #loadBar() {
        if (this.#bar) return;
        const bar = await import("./waiting.js").catch(() => this.missing());
        await bar?.styled.catch(() => null);
        this.#bar = bar;
        this.update();
    }

    /** Requests what waits for the user, unless the page does: the lobby shows more of it. */
    #readWaiting() {
        if (location.pathname !== "/") void this.listMyMatches();
    }

    /**
     * Requests the user's matches, and notes what waits for the user in them. Resolves with null if the
     * server does not answer: it tells the next change by itself.
     */
    async listMyMatches() {
        const before = this.model;
        try {
            const mine = await listMyMatches();
            if (mine.notifications?.length || this.model.waiting.length) await this.#loadBar();
            this.session.updateModel((model) => this.#bar?.withWaiting(model, before, mine) ?? model);
            return mine;
        } catch (error) {
            if (!(error instanceof ApiError || error instanceof TypeError)) throw error;
            return null;
        }
    }

    /** Tells the page when the connection is back after an outage. */
    #noteConnection() {
        const { state } = this.session.status;
        if (state === "open" && this.#wasLost) this.#page?.onReconnect?.();
        if (state === "open" || state === "lost") this.#wasLost = state === "lost";
    }

    /** Reconnects now: the user has returned to the page, or the network is back. */
    #retryIfLost() {
        if (!document.hidden && this.session.status.state === "lost") this.session.retry();
    }

    /**
     * Opens another page; `state` is the state of its history entry.
     * @param {string} path
     * @param {object | null} [state]
     */
    navigate(path, state = null) {
        history.pushState(state, "", path);
        this.#wantsFocus = true;
        this.#route();
        scrollTo(0, 0);
    }

    /** Draws the page again, once for all changes in the current task. */
    update() {
        if (!this.#isDrawn) return;
        this.#isDrawn = false;
        queueMicrotask(() => {
            this.#isDrawn = true;
            this.#draw();
        });
    }

    /**
     * Makes screen readers speak a text.
     * @param {string} text
     */
    announce(text) {
        // Screen readers speak only a changed text, so a repeated one gets a no-break space.
        this.#announcement = text === this.#announcement ? `${text}\u00a0` : text;
        this.update();
    }

    /**
     * Shows a message for TOAST_MS, or until the user closes it. Returns its number, for `dismiss`.
     * @param {string} text
     * @param {boolean} [staysOpen]
     * @param {Content} [button] what helps
     */
    toast(text, staysOpen = false, button) {
        const key = this.#toastCount++;
        this.#toasts = [...this.#toasts.filter((toast) => toast.text !== text), { key, text, button, staysOpen }].slice(-MAX_TOASTS);
        if (!staysOpen) setTimeout(() => this.dismiss(key), TOAST_MS);
        this.update();
        return key;
    }

    /**
     * Says what helps where a part of the page did not arrive, and returns null. Unless the connection
     * is lost, the server has been updated and has other files.
     */
    missing() {
        if (this.session.status.state === "lost") this.toast("The server did not answer; try again later");
        else this.toast("Plyroom has been updated", true, h("button", { onclick: () => location.reload() }, "Load the page again"));
        return null;
    }

    /**
     * Sends a command. Resolves with its ack; shows a refusal and resolves with null.
     * @param {Command} command
     * @param {(message: string) => void} [showRefusal] instead of a toast
     */
    async command(command, showRefusal = (message) => this.toast(message)) {
        try {
            return await this.session.command(command);
        } catch (error) {
            if (!(error instanceof CommandError)) throw error;
            showRefusal(sentence(error.message));
            return null;
        }
    }

    /**
     * Removes a message, if it is still shown.
     * @param {number} key
     */
    dismiss(key) {
        this.#toasts = this.#toasts.filter((toast) => toast.key !== key);
        this.update();
    }

    /** Opens the page of the address, and requests what waits in a room that the user has left. */
    #route() {
        const wasInRoom = this.#isInRoom;
        this.#isInRoom = location.pathname.startsWith(this.#roomPath);
        // What is said of one room is not of the next page.
        if (wasInRoom && !this.#isInRoom) this.#toasts = this.#toasts.filter(({ staysOpen }) => staysOpen);
        this.#openPage();
        if (wasInRoom) this.#readWaiting();
    }

    /**
     * Opens the page of the address: at once if it has been loaded, otherwise after its outline. If its
     * files do not arrive, loads the address anew.
     */
    #openPage() {
        for (const dialog of document.querySelectorAll("dialog")) dialog.close();
        const found = this.#router.find(location.pathname);
        if (!found) return this.#open(new MissingPage());
        const { route, id } = found;
        if (this.#isInRoom) this.#closed.delete(id);
        const PageClass = this.#router.loaded(route);
        if (PageClass) return this.#open(new PageClass(this, id));
        const isFirst = !this.#page;
        const loading = new LoadingPage();
        this.#open(loading);
        const fail = () => this.#page === loading && this.#open(new FailedPage(reload));
        // After an update the server has other files. Without its answer this page stays, since the
        // browser's own error page would replace it.
        const reload = () => {
            this.#open(loading);
            fetch(location.href, { method: "HEAD" }).then(() => this.#page === loading && location.reload(), fail);
        };
        this.#router.load(route).then(
            (LoadedClass) => this.#page === loading && this.#open(new LoadedClass(this, id)),
            // A page that has just been loaded anew would fail again.
            () => this.#page === loading && (isFirst ? fail() : reload()),
        );
    }

    /** @param {Page} page */
    #open(page) {
        this.#page?.stop();
        this.#page = page;
        page.start();
        this.update();
    }

    #draw() {
        const { status, model } = this.session;
        const waiting = this.#waiting;
        const title = this.#page?.title() ?? "Plyroom";
        document.title = waiting.length > 0 ? `(${waiting.length}) ${title}` : title;
        const rename = this.#isRenaming ? (/** @type {string} */ name) => this.#rename(name) : null;
        render(
            this.#root,
            drawHeader({
                name: model.you?.name ?? null,
                path: location.pathname,
                status,
                rename,
                renameError: this.#renameError,
                clearRenameError: () => this.#setRenameError(null),
                startRename: () => this.#setRenaming(true),
                cancelRename: () => this.#setRenaming(false),
                redraw: () => this.update(),
            }),
            // In an element without a box: the page would lose the focus if it moved when they go.
            h(
                "slot",
                null,
                this.session.isAway ? drawBanner(status, () => this.session.retry()) : null,
                this.#bar?.drawWaiting(waiting, (room) => {
                    this.#closed.add(room);
                    this.update();
                }),
            ),
            h("main", { key: location.pathname, tabindex: -1 }, this.#page?.draw()),
            drawToasts(this.#toasts, (key) => this.dismiss(key)),
            h("div", { class: "visually-hidden", role: "status", id: "announcer" }, this.#announcement),
        );
        this.#page?.afterDraw();
        if (!this.#wantsFocus) return;
        this.#wantsFocus = false;
        document.querySelector("main")?.focus({ preventScroll: true });
    }

    /** @param {boolean} isRenaming */
    #setRenaming(isRenaming) {
        this.#isRenaming = isRenaming;
        this.#setRenameError(null);
        this.update();
    }

    /** @param {string | null} error */
    #setRenameError(error) {
        if (error === this.#renameError) return;
        this.#renameError = error;
        this.update();
    }

    /**
     * Makes this browser a guest, or renames its guest. When the server did not find the earlier
     * guest, its notice stays open: the user may look at the page later.
     * @param {string} [name]
     */
    async #registerGuest(name) {
        const { notice } = await registerGuest(name);
        if (notice !== undefined) this.toast(notice, true);
    }

    /** @param {string} name */
    async #rename(name) {
        if (name === "" || name === this.model.you?.name) return this.#setRenaming(false);
        try {
            await this.#registerGuest(name);
            this.#setRenaming(false);
            this.session.renew();
            this.#renames.postMessage(name);
        } catch (error) {
            this.#setRenameError(sentence(error instanceof Error ? error.message : String(error)));
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
        if (url.origin !== location.origin || !this.#router.find(url.pathname)) return;
        event.preventDefault();
        this.navigate(url.pathname + url.search);
    }

    /**
     * Loads the page to which the link under the pointer leads.
     * @param {Event} event
     */
    #preloadLink(event) {
        const link = event.target instanceof Element ? event.target.closest("a") : null;
        if (link && link.origin === location.origin) this.#router.preload(link.pathname);
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        const handlesKeys =
            event.target instanceof Element && event.target.closest("input, textarea, select, dialog");
        if (!handlesKeys && !event.defaultPrevented && !event.altKey && !event.ctrlKey && !event.metaKey)
            this.#page?.onKey(event);
    }
}
