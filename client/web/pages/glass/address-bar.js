/**
 * The page's address, which has everything that the page shows. A text that is too long for an address
 * is kept with the browser's history entry instead, so that it survives a reload.
 *
 * @import {Address} from "../../glass/address.js"
 */

import { readAddress, writeAddress } from "../../glass/address.js";

/** The longest query of an address: servers and chats accept it. In characters. */
export const MAX_QUERY = 4000;
/** Milliseconds after a step at which the address gets it: browsers limit the changes per second. */
const WRITE_AFTER_MS = 300;

export class AddressBar {
    /** The query of the link to what is shown. */
    query = location.search;
    /** Whether a text is too long for an address. */
    isTooLong = false;
    #timer = 0;

    /**
     * What the page shall show.
     * @returns {Address}
     */
    read() {
        const state = readAddress(new URLSearchParams(location.search));
        const { tree = null, graph = null } = history.state ?? {};
        this.isTooLong = tree !== null || graph !== null;
        return { ...state, tree: state.tree ?? tree, graph: state.graph ?? graph };
    }

    /**
     * Writes what the page shows.
     * @param {Address} state
     */
    write(state) {
        clearTimeout(this.#timer);
        const query = writeAddress(state).toString();
        const { tree, graph } = state;
        this.isTooLong = query.length > MAX_QUERY && (tree !== null || graph !== null);
        const written = this.isTooLong ? writeAddress({ ...state, tree: null, graph: null }).toString() : query;
        this.query = written ? `?${written}` : "";
        history.replaceState(this.isTooLong ? { tree, graph } : null, "", `/glass${this.query}`);
    }

    /**
     * Writes what the page shows after a moment, together with the changes that follow.
     * @param {Address} state
     */
    writeSoon(state) {
        clearTimeout(this.#timer);
        this.#timer = window.setTimeout(() => this.write(state), WRITE_AFTER_MS);
    }

    /** Forgets what waits: the page is left, and the address is another one already. */
    stop() {
        clearTimeout(this.#timer);
    }
}
