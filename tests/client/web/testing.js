/** A small test framework; tests/client/test_web_units.py runs the tests in Chromium. */

/** @type {Map<string, () => unknown>} */
const tests = new Map();
/** What a test may have replaced. */
const [realSetTimeout, realClearTimeout] = [window.setTimeout, window.clearTimeout];
const storages = [localStorage, sessionStorage];

/** Registers a test under its name. */
export function test(name, body) {
    tests.set(name, body);
}

/** Runs one test; throws if it fails. It leaves no timer, an empty document, and `window` as it was. */
export async function run(name) {
    const before = Object.getOwnPropertyDescriptors(window);
    const head = [...document.head.children];
    try {
        await tests.get(name)();
    } finally {
        clearPage();
        document.head.replaceChildren(...head);
        restore(before);
    }
}

/** Empties the document and the storages, and ends the test's timers. */
function clearPage() {
    for (let id = realSetTimeout(() => {}); id > 0; id--) realClearTimeout(id);
    for (const element of [document.documentElement, document.body]) {
        for (const name of element.getAttributeNames()) element.removeAttribute(name);
    }
    document.body.replaceChildren();
    storages.forEach((storage) => storage.clear());
}

/** Gives `window` its earlier properties. */
function restore(before) {
    for (const [name, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(window))) {
        const earlier = before[name];
        if (!earlier) delete window[name];
        else if (earlier.value !== value || earlier.get !== get) Object.defineProperty(window, name, earlier);
    }
}

/** Throws unless both values have the same JSON. */
export function assertEqual(actual, expected) {
    const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (a !== b) throw new Error(`expected ${b}, got ${a}`);
}

/** Throws unless the condition is true; `statement` says what should be true. */
export function assert(condition, statement) {
    if (!condition) throw new Error(`not true: ${statement}`);
}

/** Resolves after all queued promise callbacks have run. */
export function flushPromises() {
    return new Promise((resolve) => setTimeout(resolve));
}
