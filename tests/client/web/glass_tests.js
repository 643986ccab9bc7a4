import { emptyAddress, readAddress, writeAddress } from "/client/web/glass/trace/address.js";
import { SearchTrace } from "/client/web/glass/trace/trace.js";
import { assert, assertEqual, test } from "./testing.js";

/** Random numbers below a limit, the same ones in every run. */
function randomNumbers(seed) {
    let state = seed;
    return (limit) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state % limit;
    };
}

const TEXTS = ["a", "max(A: 1, B: min(2, 3))", "x=1&y=2", "á ü ∞", "material:queen=9,rook=5", "100%", "%3A:%25", "line\nline", "+"];
const SECOND = ["algorithm", "form", "depth", "order", "evaluator", "cutOff", "player", "fresh"];
const NUMBERS = ["run", "ply", "player", "seed", "step"];

function randomAddress(random) {
    const address = emptyAddress();
    const valueOf = (field) => {
        if (field === "depth") return random(3) === 0 ? "end" : random(20);
        if (field === "fresh") return random(2) === 0;
        return NUMBERS.includes(field) ? random(2 ** 31) : TEXTS[random(TEXTS.length)];
    };
    for (const field of Object.keys(address))
        if (random(2) === 0 && !["options", "moves", "with"].includes(field)) address[field] = valueOf(field);
    for (let i = random(3); i > 0; i--) address.options[`size${i}`] = TEXTS[random(TEXTS.length)];
    for (let i = random(4); i > 0; i--) address.moves.push(["e2e4", "3x3", "a1", "32x23"][random(4)]);
    const second = SECOND.filter(() => random(3) === 0);
    if (second.length > 0) address.with = Object.fromEntries(second.map((field) => [field, valueOf(field)]));
    return address;
}

test("an address that is written is read as the same address", () => {
    const random = randomNumbers(7);
    for (let i = 0; i < 300; i++) {
        const address = randomAddress(random);
        const read = readAddress(new URLSearchParams(writeAddress(address).toString()));
        assertEqual(read, address);
    }
    assertEqual(writeAddress(emptyAddress()).toString(), "");
});

test("a parameter that cannot be read is as if it were missing", () => {
    const address = readAddress(new URLSearchParams("step=-3&run=x&depth=deep&fresh=yes&seed=1e9&with=::::::many:::&unknown=1"));
    assertEqual(address, { ...emptyAddress(), with: {} });
});

const HEAD = { head: { algorithm: "alphabeta", title: "", game: "" } };
const response = (...lines) => new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));

async function failureOf(promise) {
    try {
        await promise;
    } catch (error) {
        return error;
    }
    throw new Error("the trace was loaded");
}

test("a trace that the server refuses, that fails, or that ends early is an error", async () => {
    const body = JSON.stringify({ code: "tree.syntax", message: "expected )", line: 2, column: 7 });
    const refused = await failureOf(SearchTrace.load(new Response(body, { status: 400 })));
    assertEqual([refused.code, refused.message, refused.line, refused.column], ["tree.syntax", "expected )", 2, 7]);
    const busy = new Response("{}", { status: 429, headers: { "Retry-After": "3" } });
    assertEqual((await failureOf(SearchTrace.load(busy))).retryAfter, 3);
    const failed = await failureOf(SearchTrace.load(response(HEAD, { error: { code: "trace.too_large", message: "less" } })));
    assertEqual([failed.code, failed.message], ["trace.too_large", "less"]);
    assertEqual((await failureOf(SearchTrace.load(response(HEAD)))).code, "trace.incomplete");
});

test("a trace that is not wanted any more is not read to its end", async () => {
    const controller = new AbortController();
    let lines = 0;
    const endless = new ReadableStream({
        pull: (stream) => stream.enqueue(new TextEncoder().encode(`${JSON.stringify(HEAD)}\n`)),
    });
    const onGrow = () => {
        lines += 1;
        controller.abort(new Error("left"));
    };
    const error = await failureOf(SearchTrace.load(new Response(endless), onGrow, controller.signal));
    assertEqual([error.message, lines], ["left", 1]);
    assert(controller.signal.aborted, "the reading was ended");
});
