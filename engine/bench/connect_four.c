/* A C version of the search in engine/search/kernel.py with the rules of
   engine/games/connect_four.py. engine/bench/search.py compares its speed with ours. It takes the
   same steps on the same memory and visits the same nodes. */

#include <stdint.h>

/* Words of 8 bytes, named as in numba. */
typedef int64_t i8;
typedef uint64_t u8;
typedef struct { u8 mine, all; } State;

enum {
    MATE = 30000,
    INF = 32000,
    MAX_PLY = 128,
    MATE_BOUND = MATE - 1000,
    POLL_NODES = 2048,
    COMPLETE = 255
};
enum { EXACT, LOWER, UPPER };
enum { ONGOING, WON, LOST, DRAWN };
enum {
    NODES, STOP, POLL, NODE_LIMIT, MAY_STOP, EXPIRED, HORIZONS, EXACT_DEPTH, TABLE_SHIFT,
    ROOT_COUNT
};
enum {
    PV_LENGTH = 64,
    PV = PV_LENGTH + MAX_PLY + 1,
    KILLERS = PV + (MAX_PLY + 1) * MAX_PLY,
    HISTORY = KILLERS + 4 * MAX_PLY,
    HISTORY_MOVES = 4096,
    PATH = HISTORY + 2 * HISTORY_MOVES + 512,
    CURRENT_MOVE = PATH + 2 * (MAX_PLY + 1),
    COUNTER_MOVES = CURRENT_MOVE + 2 * (MAX_PLY + 1),
    BUFFERS = COUNTER_MOVES + HISTORY_MOVES,
    MAX_MOVES = 7
};
enum { CANCEL, SEQUENCE, PUBLISHED_NODES, PUBLISHED_DEPTH, PUBLISHED_SCORE, PUBLISHED_PV_LENGTH, PUBLISHED_PV };

#define BOTTOM 0x0040810204081ull
#define BOARD (BOTTOM * 63)
#define CENTRE (63ull << 21)
#define GOLDEN 0x9E3779B97F4A7C15ull

static const int ORDER[7] = {3, 2, 4, 1, 5, 0, 6};

static int aligned(u8 p) {
    u8 m = p & (p >> 7);
    if (m & (m >> 14)) return 1;
    m = p & (p >> 6);
    if (m & (m >> 12)) return 1;
    m = p & (p >> 8);
    if (m & (m >> 16)) return 1;
    m = p & (p >> 1);
    return (m & (m >> 2)) != 0;
}

static int status(State s) {
    if (aligned(s.mine ^ s.all)) return LOST;
    if (s.all == BOARD) return DRAWN;
    return ONGOING;
}

static i8 moves(State s, i8 *buf) {
    i8 n = 0;
    for (int i = 0; i < 7; i++)
        if (!(s.all & (1ull << (ORDER[i] * 7 + 5)))) buf[n++] = ORDER[i];
    return n;
}

static State play(State s, i8 m) {
    State after = {s.mine ^ s.all, s.all | (s.all + (1ull << (m * 7)))};
    return after;
}

/* The empty cells that complete a line of four discs of p. */
static u8 gaps(u8 p, u8 all) {
    u8 r = (p << 1) & (p << 2) & (p << 3), t;
    t = (p << 7) & (p << 14); r |= t & (p << 21); r |= t & (p >> 7);
    t = (p >> 7) & (p >> 14); r |= t & (p << 7); r |= t & (p >> 21);
    t = (p << 6) & (p << 12); r |= t & (p << 18); r |= t & (p >> 6);
    t = (p >> 6) & (p >> 12); r |= t & (p << 6); r |= t & (p >> 18);
    t = (p << 8) & (p << 16); r |= t & (p << 24); r |= t & (p >> 8);
    t = (p >> 8) & (p >> 16); r |= t & (p << 8); r |= t & (p >> 24);
    return r & (BOARD ^ all);
}

static i8 evaluate(State s) {
    u8 other = s.mine ^ s.all;
    i8 threats = __builtin_popcountll(gaps(s.mine, s.all));
    threats -= __builtin_popcountll(gaps(other, s.all));
    i8 centre = __builtin_popcountll(s.mine & CENTRE) - __builtin_popcountll(other & CENTRE);
    return 10 * threats + 2 * centre;
}

static i8 end_value(i8 result, i8 ply) {
    if (result == DRAWN) return 0;
    return result == WON ? MATE - ply : ply - MATE;
}

static i8 poll(i8 *W, i8 *C) {
    __atomic_store_n(&C[PUBLISHED_NODES], W[NODES], __ATOMIC_SEQ_CST);
    int out_of_budget = W[EXPIRED] != 0 || W[NODES] >= W[NODE_LIMIT];
    if (C[CANCEL] != 0 || (W[MAY_STOP] != 0 && out_of_budget)) W[STOP] = 1;
    W[POLL] = W[NODES] + POLL_NODES;
    if (W[MAY_STOP] != 0 && W[NODE_LIMIT] < W[POLL]) W[POLL] = W[NODE_LIMIT];
    return W[STOP];
}

static i8 alpha_beta(State s, i8 depth, i8 alpha, i8 beta, i8 ply, i8 *W, u8 *T, i8 *C) {
    W[NODES]++;
    if (W[NODES] >= W[POLL] && poll(W, C) != 0) return 0;
    W[PV_LENGTH + ply] = 0;

    int result = status(s);
    if (result != ONGOING) return end_value(result, ply);
    if (depth <= 0 || ply >= MAX_PLY - 1) {
        W[HORIZONS]++;
        return evaluate(s);
    }

    u8 k = s.mine + s.all + BOTTOM;
    i8 slot = (i8)((k * GOLDEN) >> W[TABLE_SHIFT]) * 2;
    i8 table_move = -1;
    if (T[slot] == k) {
        u8 entry = T[slot + 1];
        table_move = (i8)((entry >> 32) & 0xFFFF);
        i8 known_depth = (i8)((entry >> 16) & 0xFF);
        if (known_depth == depth || (known_depth > depth && W[EXACT_DEPTH] == 0)) {
            i8 known = (i8)(entry & 0xFFFF) - 32768;
            if (known > MATE_BOUND) known -= ply;
            else if (known < -MATE_BOUND) known += ply;
            i8 bound = (i8)((entry >> 24) & 0xFF);
            if (bound == EXACT || (bound == LOWER && known >= beta) ||
                (bound == UPPER && known <= alpha)) {
                if (known_depth != COMPLETE) W[HORIZONS]++;
                return known;
            }
        }
    }

    i8 *buffer = W + BUFFERS + 2 * ply * MAX_MOVES;
    i8 n = moves(s, buffer);
    if (n == 0) return end_value(DRAWN, ply);
    i8 *order = W + BUFFERS + (2 * ply + 1) * MAX_MOVES;
    i8 *history = W + HISTORY + (ply & 1) * HISTORY_MOVES;
    i8 *killers = W + KILLERS + 2 * ply;
    i8 killer_1 = killers[0], killer_2 = killers[1];
    for (i8 i = 0; i < n; i++) {
        i8 move = buffer[i];
        i8 rank = history[move & (HISTORY_MOVES - 1)];
        if (i == table_move) rank = 1ll << 44;
        else if (move == killer_1) rank = 1ll << 43;
        else if (move == killer_2) rank = 1ll << 42;
        order[i] = rank * 65536 + (65535 - i);
    }

    i8 horizons = W[HORIZONS], best = -INF, best_index = 0, low = alpha;
    for (i8 i = 0; i < n; i++) {
        i8 j = i;
        for (i8 t = i + 1; t < n; t++)
            if (order[t] > order[j]) j = t;
        i8 move = buffer[j], rank = order[j];
        buffer[j] = buffer[i];
        order[j] = order[i];
        buffer[i] = move;
        order[i] = rank;
        State child = play(s, move);
        i8 v;
        if (i == 0) {
            v = -alpha_beta(child, depth - 1, -beta, -low, ply + 1, W, T, C);
        } else {
            v = -alpha_beta(child, depth - 1, -low - 1, -low, ply + 1, W, T, C);
            if (v > low && v < beta && W[STOP] == 0)
                v = -alpha_beta(child, depth - 1, -beta, -low, ply + 1, W, T, C);
        }
        if (W[STOP] != 0) return 0;
        if (v > best) {
            best = v;
            best_index = 65535 - (rank & 65535);
            if (v > low) {
                low = v;
                i8 *line = W + PV + ply * MAX_PLY;
                line[0] = move;
                i8 length = W[PV_LENGTH + ply + 1];
                for (i8 t = 0; t < length; t++) line[1 + t] = line[MAX_PLY + t];
                W[PV_LENGTH + ply] = length + 1;
            }
            if (v >= beta) {
                if (history[move & (HISTORY_MOVES - 1)] < 1ll << 40)
                    history[move & (HISTORY_MOVES - 1)] += depth * depth;
                if (killer_1 != move) {
                    killers[1] = killers[0];
                    killers[0] = move;
                }
                break;
            }
        }
    }

    i8 stored = best;
    if (best > MATE_BOUND) stored += ply;
    else if (best < -MATE_BOUND) stored -= ply;
    i8 bound = best >= beta ? LOWER : best <= alpha ? UPPER : EXACT;
    i8 stored_depth = W[HORIZONS] == horizons && W[EXACT_DEPTH] == 0 ? COMPLETE : depth;
    T[slot] = k;
    T[slot + 1] = (u8)(stored + 32768) | ((u8)stored_depth << 16) | ((u8)bound << 24) |
                  ((u8)best_index << 32);
    return best;
}

i8 root(u8 mine, u8 all, i8 depth, i8 margin, i8 *W, u8 *T, i8 *C) {
    State s = {mine, all};
    i8 *root_moves = W + BUFFERS + 2 * MAX_PLY * MAX_MOVES;
    i8 *scores = root_moves + MAX_MOVES, *bounds = scores + MAX_MOVES;
    i8 best = -INF;
    for (i8 i = 0; i < W[ROOT_COUNT]; i++) {
        i8 move = root_moves[i];
        State child = play(s, move);
        i8 floor = best - margin, v = floor + 1;
        if (i > 0) v = -alpha_beta(child, depth - 1, -floor - 1, -floor, 1, W, T, C);
        if (v > floor && W[STOP] == 0)
            v = -alpha_beta(child, depth - 1, -INF, i == 0 ? INF : -floor, 1, W, T, C);
        if (W[STOP] != 0) return 0;
        scores[i] = v;
        bounds[i] = v > floor || i == 0 ? EXACT : UPPER;
        if (v > best) {
            best = v;
            W[PV] = move;
            i8 length = W[PV_LENGTH + 1];
            for (i8 t = 0; t < length; t++) W[PV + 1 + t] = W[PV + MAX_PLY + t];
            W[PV_LENGTH] = length + 1;
        }
    }
    return best;
}
