// SPDX-License-Identifier: MIT
// Python literals, as far as configurations of models use them: numbers, quoted text, tuples, lists
// and dictionaries with text as keys.
#ifndef TESTS_GOLDEN_LITERAL_H
#define TESTS_GOLDEN_LITERAL_H

#include "base/arena.h"

typedef enum literal_kind { LITERAL_NUMBER, LITERAL_TEXT, LITERAL_LIST, LITERAL_DICT } literal_kind;

enum { LITERAL_MOST = 16 };

typedef struct literal literal;
struct literal {
    literal_kind kind;
    double number;
    const char *text;
    int count;
    const char *key[LITERAL_MOST]; // of a dictionary
    literal *item[LITERAL_MOST];
};

/// The whole text is one literal, or a bare word, which counts as text; NULL if it is not.
const literal *literal_read(arena *mem, const char *text);
/// The value of a key, NULL if there is none or `dict` is no dictionary.
const literal *literal_find(const literal *dict, const char *key);

#endif
