// SPDX-License-Identifier: MIT
#include "base/spelling.h"

#include <string.h>

static int smallest(int a, int b)
{
    return a < b ? a : b;
}

int spelling_distance(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    const size_t la = strlen(a), lb = strlen(b);
    if (la > LONGEST || lb > LONGEST) return 2 * LONGEST;
    const int m = (int)la, n = (int)lb;
    int d[LONGEST + 1][LONGEST + 1];
    for (int i = 0; i <= m; i++) d[i][0] = i;
    for (int j = 0; j <= n; j++) d[0][j] = j;
    for (int i = 1; i <= m; i++)
        for (int j = 1; j <= n; j++) {
            d[i][j] = smallest(smallest(d[i - 1][j], d[i][j - 1]) + 1,
                               d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = smallest(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[m][n];
}

const char *spelling_closer(const char *word, const char *a, const char *b)
{
    if (!b) return a;
    if (!a) return b;
    return spelling_distance(word, b) < spelling_distance(word, a) ? b : a;
}
