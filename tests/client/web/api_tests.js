import { ApiError, request } from "/client/web/shell/api.js";
import { assertEqual, test } from "./testing.js";

/** Returns the error that a request throws when the server answers so. */
async function errorOf(body, init) {
    window.fetch = async () => new Response(body, init);
    const error = await request("/api/games").catch((thrown) => thrown);
    return [error instanceof ApiError, error.code, error.message];
}

test("an error has the server's code and words", async () => {
    const body = JSON.stringify({ code: "game.unknown", message: "there is no such game" });
    assertEqual(await errorOf(body, { status: 404 }), [true, "game.unknown", "there is no such game"]);
});

test("a page in place of an answer is an error, also with the status of a success", async () => {
    const page = "<!doctype html><title>Sign in to this network</title>";
    assertEqual(await errorOf(page, { status: 200 }), [true, "http.error", "the server answered 200"]);
    assertEqual(await errorOf(page, { status: 502 }), [true, "http.error", "the server answered 502"]);
});
