/**
 * The stream of a trace: lines of JSON that the server sends as it searches.
 */

import { ApiError } from "../../shell/api.js";

/** A line of the stream. @typedef {Record<string, any>} StreamLine */

/** The server cannot give a trace. An error in a text has a `line` and a `column`, from 1. */
export class TraceError extends ApiError {
    /** @param {{code?: string, message?: string, line?: number, column?: number, retry_after?: number}} body */
    constructor(body) {
        super(body.code ?? "http.error", body.message ?? "the search has failed");
        this.name = "TraceError";
        this.line = body.line ?? null;
        this.column = body.column ?? null;
        /** Seconds after which the server may accept the request. */
        this.retryAfter = body.retry_after ?? null;
    }
}

/**
 * The error of a response that is not a stream.
 * @param {Response} response
 */
export async function errorOf(response) {
    const status = { message: `the server answered ${response.status}` };
    const body = await response.json().catch(() => status);
    const seconds = Number(response.headers.get("Retry-After") ?? NaN);
    return new TraceError({ ...(Number.isNaN(seconds) ? null : { retry_after: seconds }), ...body });
}

/**
 * Calls a function with each line of a body, until the body ends.
 * @param {ReadableStream<Uint8Array>} body
 * @param {(line: StreamLine) => void} onLine
 * @param {AbortSignal} [signal] ends the reading; the promise is then rejected with its reason
 */
export async function readLines(body, onLine, signal) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    try {
        for (let isDone = false; !isDone; ) {
            const { done, value } = await reader.read();
            signal?.throwIfAborted();
            const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
            rest = lines.pop() ?? "";
            for (const line of lines) if (line !== "") onLine(JSON.parse(line));
            isDone = done;
        }
    } finally {
        void reader.cancel().catch(() => {});
    }
}
