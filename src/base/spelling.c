// SPDX-License-Identifier: MIT
// Edit distance for "did you mean" messages: optimal string alignment distance by dynamic
// programming [Wagner74], with the exchange of two neighbours as a fourth operation.
#include "base/spelling.h"

#include <stdio.h>
#include <string.h>

static int get_smaller(int a, int b)
{
    return a < b ? a : b;
}

int spelling_distance(const char *a, const char *b)
{
    enum { MAX_LETTERS = 32 };
    const size_t length_a = strlen(a), length_b = strlen(b);
    // Longer words are never close.
    if (length_a > MAX_LETTERS || length_b > MAX_LETTERS) return 2 * MAX_LETTERS;
    // d[i][j]: distance of the first i letters of a and the first j letters of b.
    const int m = (int)length_a, n = (int)length_b;
    int d[MAX_LETTERS + 1][MAX_LETTERS + 1];
    for (int i = 0; i <= m; i++) d[i][0] = i;
    for (int j = 0; j <= n; j++) d[0][j] = j;
    for (int i = 1; i <= m; i++)
        for (int j = 1; j <= n; j++) {
            // Insert, delete or replace a letter.
            d[i][j] = get_smaller(get_smaller(d[i - 1][j], d[i][j - 1]) + 1,
                                  d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            // Exchange two neighbours.
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = get_smaller(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[m][n];
}

const char *spelling_closer(const char *word, const char *a, const char *b)
{
    if (!b) return a;
    if (!a) return b;
    return spelling_distance(word, b) < spelling_distance(word, a) ? b : a;
}

const char *spelling_nearest(const char *word, const char *const *words)
{
    const char *best = NULL;
    for (; *words; words++) best = spelling_closer(word, best, *words);
    return best;
}

// A word with one error per three letters, at most three, is still close.
const char *spelling_suggest(const char *word, const char *const *words)
{
    const char *best = spelling_nearest(word, words);
    const int limit = get_smaller(1 + (int)(strlen(word) / 3), 3);
    return best && spelling_distance(word, best) <= limit ? best : NULL;
}

const char *spelling_list(char *text, size_t size, const char *const *words)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; words[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 !i             ? ""
                                 : words[i + 1] ? ", "
                                                : " or ",
                                 words[i]);
    return text;
}
