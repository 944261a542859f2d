// SPDX-License-Identifier: MIT
// Words that people mistype.
#ifndef BASE_SPELLING_H
#define BASE_SPELLING_H

/// How many letters must be added, taken away, changed or exchanged with a neighbour; words of more
/// than 32 letters are far from everything.
int spelling_distance(const char *a, const char *b);

/// Of two candidates the one nearer to `word`; the first of equals. `b` may be NULL.
const char *spelling_closer(const char *word, const char *a, const char *b);

#endif
