/** Tests of the browser client's modules: `promise` names one, `run` keeps one; tests/client/test_web_units.py runs them in Chromium. */

/** @type {Map<string, () => unknown>} */
const promises = new Map();

export function promise(name, body) {
    promises.set(name, body);
}

export async function run(name) {
    await promises.get(name)();
}

/** Throws unless both are the same value, in JSON's eyes. */
export function same(found, expected) {
    const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
    if (a !== b) throw new Error(`expected ${b}, found ${a}`);
}

export function holds(condition, what) {
    if (!condition) throw new Error(`it does not hold that ${what}`);
}

/** Lets everything happen that has been promised already. */
export function settled() {
    return new Promise((resolve) => setTimeout(resolve));
}
