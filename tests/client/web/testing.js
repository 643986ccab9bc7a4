/** A small test framework; tests/client/test_web_units.py runs the tests in Chromium. */

/** @type {Map<string, () => unknown>} */
const tests = new Map();

/** Registers a test under its name. */
export function test(name, body) {
    tests.set(name, body);
}

/** Runs one test; throws if it fails. */
export async function run(name) {
    await tests.get(name)();
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
