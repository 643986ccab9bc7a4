"""The features of the search, as bits of W[FEATURES].

BASIC features change how soon a value is found; the others change which tree is searched.
"""

#: The features that can be switched off, by their names in ablation matches.
FEATURE = {
    name: 1 << bit
    for bit, name in enumerate(
        (
            "table", "killers", "history", "repetition", "replies", "rank", "quiescence",
            "extensions", "null-move", "lmr", "iir", "buckets", "malus", "mate-distance",
            "bad-captures", "probe", "futility", "quiet-table", "improving", "table-guess",
        )
    )
}  # fmt: skip
(
    TABLE, KILLERS_FIRST, HISTORY_ORDER, REPETITION, COUNTER_MOVE_ORDER, RANKS, QUIESCENCE,
    EXTENSIONS, NULL_MOVE, LMR, IIR, BUCKETS, MALUS, MATE_DISTANCE, BAD_CAPTURES, PROBE, FUTILITY,
    QUIET_TABLE, IMPROVING, TABLE_GUESS,
) = FEATURE.values()  # fmt: skip
#: Features that only change how soon a value is found; a search with EXACT_DEPTH uses no others.
BASIC = TABLE | KILLERS_FIRST | HISTORY_ORDER
#: Features that change windows and the order of moves, but neither extend nor prune: a forced end
#: that is found is the nearest one.
SOUND = BASIC | REPETITION | COUNTER_MOVE_ORDER | RANKS | BUCKETS | MALUS | MATE_DISTANCE | PROBE
#: Every feature.
ALL = (1 << len(FEATURE)) - 1
