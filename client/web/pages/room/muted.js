/** The people whose lines of chat this browser hides. Nobody else learns of it. */

/** The key in the browser's storage. */
const STORAGE_KEY = "muted";
/** Maximum number of people that are kept; the earliest are dropped. */
const MAX_MUTED = 200;

/** @typedef {{identity: string, name: string}} Person */

export class Muted {
    /** @type {Person[]} */
    #people;
    #storage;

    /** @param {Pick<Storage, "getItem" | "setItem"> | null} storage null keeps the list for the page only */
    constructor(storage) {
        this.#storage = storage;
        this.#people = read(storage);
    }

    /** @param {string | undefined} identity */
    has(identity) {
        return this.#people.some((person) => person.identity === identity);
    }

    /** @param {Person} person */
    add({ identity, name }) {
        this.#store([...this.#people.filter((each) => each.identity !== identity), { identity, name }]);
    }

    /** @param {string} identity */
    remove(identity) {
        this.#store(this.#people.filter((person) => person.identity !== identity));
    }

    /** @param {Person[]} people */
    #store(people) {
        this.#people = people.slice(-MAX_MUTED);
        try {
            this.#storage?.setItem(STORAGE_KEY, JSON.stringify(this.#people));
        } catch {
            // Without storage the list lasts as long as the page.
        }
    }
}

/**
 * The stored list; empty if it cannot be read.
 * @param {Pick<Storage, "getItem"> | null} storage
 * @returns {Person[]}
 */
function read(storage) {
    try {
        const people = JSON.parse(storage?.getItem(STORAGE_KEY) ?? "[]");
        return Array.isArray(people) ? people.filter((person) => typeof person?.identity === "string") : [];
    } catch {
        return [];
    }
}

/** The browser's storage; null where it is switched off. */
export function browserStorage() {
    try {
        return localStorage;
    } catch {
        return null;
    }
}
