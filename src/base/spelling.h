// SPDX-License-Identifier: MIT
// Edit distance and lists of words for "did you mean" messages. Pure functions, also compiled into
// the command line. Lists of words end with NULL.
#ifndef BASE_SPELLING_H
#define BASE_SPELLING_H

#include <stddef.h>

/// Returns the number of letters that must be added, removed, changed or exchanged with a neighbour
/// to turn `a` into `b`. Words of more than 32 letters are far from every word.
int spelling_distance(const char *a, const char *b);

/// Returns the candidate nearer to `word`, the first of equals. May be NULL: a, b.
const char *spelling_closer(const char *word, const char *a, const char *b);

/// Returns the entry of `words` nearest to `word`, the first of equals, or NULL if the list is
/// empty.
const char *spelling_nearest(const char *word, const char *const *words);

/// Returns the same, or NULL if no entry is near enough to be what the user meant: within one
/// letter plus one per three letters of `word`, at most three.
const char *spelling_suggest(const char *word, const char *const *words);

/// Writes "a, b or c" into `text`, as far as it fits, and returns `text`.
const char *spelling_list(char *text, size_t size, const char *const *words);

#endif
