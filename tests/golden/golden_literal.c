// SPDX-License-Identifier: MIT
#include "golden/golden_literal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    arena *mem;
    const char *at;
} reader;

static literal *value(reader *r);

static void skip(reader *r)
{
    while (*r->at == ' ') r->at++;
}

static bool take(reader *r, char c)
{
    skip(r);
    if (*r->at != c) return false;
    r->at++;
    return true;
}

static char *copy(reader *r, const char *from, size_t length)
{
    char *text = arena_alloc(r->mem, (int64_t)length + 1, 1);
    if (text) memcpy(text, from, length);
    return text;
}

static const char *quoted(reader *r)
{
    if (!take(r, '\'')) return NULL;
    const char *from = r->at, *end = strchr(from, '\'');
    if (!end || memchr(from, '\\', (size_t)(end - from))) return NULL;
    r->at = end + 1;
    return copy(r, from, (size_t)(end - from));
}

// Items up to `close`, with a comma between each two and perhaps after the last.
static literal *many(reader *r, literal *to, char close)
{
    while (!take(r, close)) {
        if (to->count == LITERAL_MOST) return NULL;
        if (to->kind == LITERAL_DICT && (!(to->key[to->count] = quoted(r)) || !take(r, ':')))
            return NULL;
        literal *item = value(r);
        if (!item) return NULL;
        to->item[to->count++] = item;
        if (take(r, ',')) continue;
        return take(r, close) ? to : NULL;
    }
    return to;
}

static literal *value(reader *r)
{
    literal *to = ARENA_ALLOC(r->mem, literal, 1);
    if (!to) return NULL;
    skip(r);
    if (*r->at == '\'') {
        to->kind = LITERAL_TEXT;
        return (to->text = quoted(r)) ? to : NULL;
    }
    to->kind = *r->at == '{' ? LITERAL_DICT : LITERAL_LIST;
    if (take(r, '{')) return many(r, to, '}');
    if (take(r, '[')) return many(r, to, ']');
    if (take(r, '(')) return many(r, to, ')');
    char *end;
    to->kind = LITERAL_NUMBER;
    to->number = strtod(r->at, &end);
    if (end == r->at || !(isdigit((unsigned char)*r->at) || *r->at == '-')) return NULL;
    r->at = end;
    return to;
}

const literal *literal_read(arena *mem, const char *text)
{
    reader r = {mem, text};
    size_t word = 0;
    while (isalnum((unsigned char)text[word]) || text[word] == '_') word++;
    if (isalpha((unsigned char)text[0]) && !text[word]) {
        literal *to = ARENA_ALLOC(mem, literal, 1);
        if (to) *to = (literal){.kind = LITERAL_TEXT, .text = copy(&r, text, word)};
        return to;
    }
    const literal *whole = value(&r);
    skip(&r);
    return *r.at ? NULL : whole;
}

const literal *literal_find(const literal *dict, const char *key)
{
    if (!dict || dict->kind != LITERAL_DICT) return NULL;
    for (int i = 0; i < dict->count; i++)
        if (!strcmp(dict->key[i], key)) return dict->item[i];
    return NULL;
}
