/**
 * The lines of a printed listing, in the lesson to find a fault and on the page of the listings.
 */

/** A line: its parts, each with whether it was added, and whether it is at fault. @typedef {{parts: [string, boolean][], is_fault: boolean}} ListingLine */

/**
 * The number of spaces before a line, by which its rest is indented where it is wrapped.
 * @param {ListingLine} line
 */
export function indentOf({ parts }) {
    return Math.max(0, parts.map(([text]) => text).join("").search(/\S/));
}
