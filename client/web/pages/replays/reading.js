/**
 * Reads a page of the list of matches. For each answer the server looks at some thousands of matches
 * only, so that a rare kind may need several requests.
 *
 * @import {MatchSummary} from "../../shell/api.js"
 * @import {Filter} from "./filter.js"
 */

import { parametersOf } from "./filter.js";

/** Maximum number of matches on one page. */
export const PAGE_SIZE = 30;
/** Maximum number of requests for one page: each may cost the server a look at 2,000 matches. */
const MAX_REQUESTS = 10;

/**
 * A page of the list, newest first, with the cursors of the older and of the newer matches.
 * @typedef {{matches: MatchSummary[], next: string | null, previous?: string | null}} MatchPage
 */

/**
 * Reads the page of a filter: until it is full, the list ends, or after MAX_REQUESTS requests.
 * @param {(limit: number, parameters: Record<string, string>) => Promise<MatchPage>} list
 * @param {Filter} filter
 * @param {(page: MatchPage) => boolean} goesOn called with the page so far before each further
 *     request; false ends the reading
 * @returns {Promise<MatchPage>}
 */
export async function readPage(list, filter, goesOn) {
    const { after, before, ...wanted } = parametersOf(filter);
    let page = await list(PAGE_SIZE, parametersOf(filter));
    const isNewer = after !== undefined && typeof page.previous === "string";
    for (let requests = 1; requests < MAX_REQUESTS; requests++) {
        const cursor = (isNewer ? page.previous : page.next) ?? null;
        if (cursor === null || page.matches.length >= PAGE_SIZE || !goesOn(page)) break;
        const more = await list(PAGE_SIZE - page.matches.length, { ...wanted, [isNewer ? "after" : "before"]: cursor });
        if (!isNewer) page = { ...page, matches: [...page.matches, ...more.matches], next: more.next };
        else if (more.previous) page = { ...page, matches: [...more.matches, ...page.matches], previous: more.previous };
        else return readPage(list, { ...filter, after: "" }, goesOn); // these are the newest matches
    }
    return page;
}

/**
 * The moment at which the list goes on at a cursor, in ms since 1970.
 * @param {string} cursor
 */
export function momentOf(cursor) {
    return Number(cursor.split("-")[0]);
}
