/**
 * A column of numbers in a typed array that grows.
 */

/** The first capacity of a column, in entries. */
const FIRST_CAPACITY = 256;

/** @typedef {Int32Array | Int8Array | Float64Array} Numbers */

export class Column {
    /** @type {Numbers} */
    #numbers;
    #initial;

    /**
     * @param {new (length: number) => Numbers} Type
     * @param {number} [initial] the value of an entry that was never set
     */
    constructor(Type, initial = 0) {
        this.#numbers = new Type(FIRST_CAPACITY);
        this.#initial = initial;
        if (initial !== 0) this.#numbers.fill(initial);
    }

    /** @param {number} index */
    at(index) {
        return index < this.#numbers.length ? this.#numbers[index] : this.#initial;
    }

    /**
     * @param {number} index
     * @param {number} number
     */
    set(index, number) {
        if (index >= this.#numbers.length) this.#growFor(index);
        this.#numbers[index] = number;
    }

    /** @param {number} index */
    #growFor(index) {
        const length = this.#numbers.length;
        const Type = /** @type {new (length: number) => Numbers} */ (this.#numbers.constructor);
        const longer = new Type(Math.max(index + 1, 2 * length));
        longer.set(this.#numbers);
        if (this.#initial !== 0) longer.fill(this.#initial, length);
        this.#numbers = longer;
    }
}

/** @param {number} [initial] */
export const ints = (initial) => new Column(Int32Array, initial);
/** @param {number} [initial] */
export const smallInts = (initial) => new Column(Int8Array, initial);
export const floats = () => new Column(Float64Array);
