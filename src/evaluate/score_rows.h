// SPDX-License-Identifier: MIT
// What tables and JSON files of scores have in common: rows, and the words that benchmarks use.
#ifndef EVALUATE_SCORE_ROWS_H
#define EVALUATE_SCORE_ROWS_H

#include "evaluate/score_table.h"

enum { SCORE_MAX_FRAMES = 100000 };

/// Names under which benchmarks write the same thing; the first that exists counts.
extern const char *const score_words_name[], *const score_words_group[],
                                                 *const score_words_possible[],
                                                     *const score_words_concept[],
                                                         *const score_words_motion[],
                                                             *const score_words_difference[],
                                                                 *const score_words_score[];
/// Names of scores that are higher for more plausible clips.
extern const char *const score_words_plausibility[];

plumb_status score_table_add(score_table *table, arena *mem, const score_row *row);

/// 1 for a possible clip, 0 for an impossible one, -1 if the text says neither.
int score_parse_possible(const char *text);

/// Reads .json: a list of objects, an object of names, two lists, or the results of LikePhys.
plumb_status score_json_read(score_table *out, arena *mem, const char *path,
                             const plumb_surprise_losses_options *opt);

/// Reads .jsonl: an object on each line.
plumb_status score_json_read_lines(score_table *out, arena *mem, const char *path,
                                   const plumb_surprise_losses_options *opt);

#endif
