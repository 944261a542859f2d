// SPDX-License-Identifier: MIT
// Scores of clips in tables and JSON files, as other benchmarks write them, and how they form
// groups.
#ifndef EVALUATE_SCORE_TABLE_H
#define EVALUATE_SCORE_TABLE_H

#include "base/arena.h"
#include "plumb/surprise.h"

/// One clip.
typedef struct score_row {
    const char *name;     ///< may be NULL
    const char *group;    ///< NULL: of no group
    const char *concept;  ///< NULL: none
    const char *property; ///< what the column of the concept itself says; NULL: none
    int place;            ///< 0 or 1 for a type as 1_Possible or 2_Impossible; -1: not said
    int possible;         ///< 1, 0, or -1: not said
    const char *said;     ///< the text of which `possible` was made; NULL: none
    double *value;        ///< one score, or one for each frame
    int64_t count;
    double motion[2]; ///< numbers of motion, `motion_count` of the table
} score_row;

typedef struct score_table {
    score_row *row;
    int64_t count, room;
    bool plausible;     ///< higher scores mean more plausible
    bool complete_only; ///< groups of InfLevel, of which those that lack clips are left out
    int64_t skipped;    ///< clips of incomplete groups
    int64_t motion_count;
} score_table;

/// Reads .csv, .tsv, .json or .jsonl. Everything lives in `mem`.
plumb_status score_table_read(score_table *out, arena *mem, const char *path,
                              const plumb_surprise_losses_options *opt);

/// Fills what the rows do not say of their clips from the table of the option metadata. Names match
/// with and without folders and suffix.
plumb_status score_table_describe(score_table *table, arena *mem, const char *path,
                                  const plumb_surprise_losses_options *opt);

/// True for the names of files that score_table_read() reads.
bool score_table_reads(const char *path);

/// Arranges the rows in tuples of four: groups of two possible and two impossible clips as they
/// are, of one and one as pairs, in which each clip takes two places, and all others as all pairs
/// of one possible and one impossible clip. Without groups `out` has single clips.
plumb_status score_groups_make(plumb_surprise_losses *out, arena *mem, const score_table *table,
                               const char *path, const plumb_surprise_losses_options *opt);

#endif
