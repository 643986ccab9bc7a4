/**
 * The page's address, which has everything that the page shows. A text that is too long for an address
 * is stored in the browser's history entry instead, so that it survives a reload.
 *
 * @import {Address} from "../../glass/trace/address.js"
 */

import { readAddress, writeAddress } from "../../glass/trace/address.js";

/** Maximum length of a query, in characters, which servers and chats accept. */
export const MAX_QUERY = 4000;
/** Delay between a step and its address, in milliseconds: browsers limit the changes per second. */
const WRITE_AFTER_MS = 300;

export class AddressBar {
    /** The query of the link to the shown search and step. */
    query = location.search;
    /** Whether a text is too long for an address. */
    isTooLong = false;
    #timer = 0;

    /**
     * Reads the address: what the page is to show.
     * @returns {Address}
     */
    read() {
        const state = readAddress(new URLSearchParams(location.search));
        const { tree = null, graph = null } = history.state ?? {};
        this.isTooLong = tree !== null || graph !== null;
        return { ...state, tree: state.tree ?? tree, graph: state.graph ?? graph };
    }

    /**
     * Writes the address of what the page shows.
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
     * Writes the address after a delay, together with the changes during the delay.
     * @param {Address} state
     */
    writeSoon(state) {
        clearTimeout(this.#timer);
        this.#timer = window.setTimeout(() => this.write(state), WRITE_AFTER_MS);
    }

    /** Cancels a delayed write: the user has left the page, and the address is that of another one. */
    stop() {
        clearTimeout(this.#timer);
    }
}
