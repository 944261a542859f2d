// SPDX-License-Identifier: MIT
// Reads JSON by RFC 8259, strictly: no comments, no trailing commas, UTF-8 only, and numbers that
// fit into a double. Strings are decoded in place, which is possible because decoding never makes
// them longer.
#define _GNU_SOURCE
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

// Longer numbers are rejected. The shortest exact form of a double has at most 24 characters.
enum { NUMBER_SIZE = 64 };

json json_begin(char *text, size_t size, const char *what)
{
    return (json){.start = text, .at = text, .end = text + size, .what = what};
}

plumb_status json_error(json *j, const char *why)
{
    // Only the first error is kept. At the end of the text all further reads stop.
    if (!j->st)
        j->st = fail(PLUMB_EFORMAT, "%s: %s, at byte %lld", j->what, why,
                     (long long)(j->at - j->start));
    j->at = j->end;
    return j->st;
}

static void skip_space(json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
}

json_kind json_peek(json *j)
{
    if (j->st) return JSON_END;
    skip_space(j);
    if (j->at == j->end) return JSON_END;
    // The first character tells the kind of a value.
    switch (*j->at) {
    case '{': return JSON_OBJECT;
    case '[': return JSON_ARRAY;
    case '"': return JSON_STRING;
    case 't':
    case 'f': return JSON_BOOL;
    case 'n': return JSON_NULL;
    default: return *j->at == '-' || (*j->at >= '0' && *j->at <= '9') ? JSON_NUMBER : JSON_END;
    }
}

// Fails unless a value of this kind follows.
static bool expect_kind(json *j, json_kind kind, const char *wanted)
{
    if (j->st) return false;
    if (json_peek(j) == kind) return true;
    json_error(j, wanted);
    return false;
}

// ---- brackets ----

// Enters an object or an array.
static void enter_bracket(json *j, json_kind kind, const char *wanted)
{
    if (!expect_kind(j, kind, wanted)) return;
    if (j->depth == JSON_MAX_DEPTH) {
        json_error(j, "brackets are nested too deeply");
        return;
    }
    j->at++;
    j->first[j->depth++] = true;
}

// True if another member or item follows. Reads the comma before it, or else the closing bracket.
static bool has_more(json *j, char closing)
{
    if (j->st) return false;
    skip_space(j);
    if (j->at < j->end && *j->at == closing) {
        j->at++;
        j->depth--;
        return false;
    }
    if (!j->first[j->depth - 1]) {
        if (j->at == j->end || *j->at != ',') {
            json_error(j, closing == '}' ? "expected a comma or }" : "expected a comma or ]");
            return false;
        }
        j->at++;
    }
    j->first[j->depth - 1] = false;
    return true;
}

void json_object(json *j)
{
    enter_bracket(j, JSON_OBJECT, "expected an object");
}

char *json_key(json *j)
{
    if (!has_more(j, '}')) return NULL;
    char *key = json_string(j);
    skip_space(j);
    if (key && (j->at == j->end || *j->at != ':')) {
        json_error(j, "expected a colon after the key");
        return NULL;
    }
    if (key) j->at++;
    return key;
}

void json_array(json *j)
{
    enter_bracket(j, JSON_ARRAY, "expected a list");
}

bool json_next(json *j)
{
    return has_more(j, ']');
}

// ---- strings ----

// Four hexadecimal digits; -1 if they are not.
static int parse_hex4(const char *at, const char *end)
{
    // Parsed by hand: strtol() would accept signs and spaces.
    int value = 0;
    if (end - at < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const char c = at[i];
        if (c >= '0' && c <= '9') value = value * 16 + (c - '0');
        else if (c >= 'a' && c <= 'f') value = value * 16 + (c - 'a' + 10);
        else if (c >= 'A' && c <= 'F') value = value * 16 + (c - 'A' + 10);
        else return -1;
    }
    return value;
}

// Appends a character and returns the new end.
static char *write_utf8(char *to, int c)
{
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (char)(0xe0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xf0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

// Reads an escape sequence and returns its character; -1 if it is invalid.
static int read_escape(json *j)
{
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    if (j->end - j->at < 2) return -1;
    const char *plain = j->at[1] ? strchr(names, j->at[1]) : NULL;
    if (plain) {
        j->at += 2;
        return means[plain - names];
    }
    if (j->at[1] != 'u') return -1;
    int c = parse_hex4(j->at + 2, j->end);
    if (c <= 0 || (c >= 0xdc00 && c < 0xe000)) return -1; // a zero would end the string early
    j->at += 6;
    // A character above U+FFFF is written as two surrogates; the second must follow.
    if (c < 0xd800 || c >= 0xdc00) return c;
    if (j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u') return -1;
    const int low = parse_hex4(j->at + 2, j->end);
    if (low < 0xdc00 || low >= 0xe000) return -1;
    j->at += 6;
    return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

// Reads a string. If `to` is not NULL, the decoded string is written there; it may be the string
// itself.
static char *walk_text(json *j, char *to)
{
    if (!expect_kind(j, JSON_STRING, "expected a string")) return NULL;
    j->at++;
    while (j->at < j->end && *j->at != '"') {
        int length = 0;
        if (*j->at == '\\') {
            const int c = read_escape(j);
            if (c < 0) {
                json_error(j, "invalid escape sequence");
                return NULL;
            }
            if (to) to = write_utf8(to, c);
            continue;
        }
        // Control characters must be escaped, so their length stays 0.
        if ((unsigned char)*j->at >= 0x20) length = text_utf8_length(j->at, j->end);
        if (!length) {
            json_error(j, "a string is not UTF-8 or has a control character");
            return NULL;
        }
        for (int i = 0; i < length; i++, j->at++)
            if (to) *to++ = *j->at;
    }
    if (j->at == j->end) {
        json_error(j, "a string has no end");
        return NULL;
    }
    j->at++;
    return to;
}

char *json_string(json *j)
{
    if (!expect_kind(j, JSON_STRING, "expected a string")) return NULL;
    char *text = j->at; // the opening quote makes room for the final zero
    char *end = walk_text(j, text);
    if (!end) return NULL;
    *end = 0;
    return text;
}

// ---- numbers and words ----

// Copies the next number to `text` and checks it by the grammar. `*whole` is set if it has neither
// point nor exponent.
static bool read_number(json *j, char text[NUMBER_SIZE], bool *whole)
{
    if (!expect_kind(j, JSON_NUMBER, "expected a number")) return false;
    const char *c = j->at;
    const char *const end = j->end;
    *whole = true;
    bool valid = true;
    // The grammar: [-] (0 | 1-9 digits) [. digits] [(e|E) [+|-] digits].
    if (c < end && *c == '-') c++;
    if (c < end && *c == '0') c++;
    else {
        valid = c < end && *c >= '1' && *c <= '9';
        while (c < end && *c >= '0' && *c <= '9') c++;
    }
    if (c < end && *c == '.') {
        *whole = false;
        c++;
        valid = valid && c < end && *c >= '0' && *c <= '9';
        while (c < end && *c >= '0' && *c <= '9') c++;
    }
    if (c < end && (*c == 'e' || *c == 'E')) {
        *whole = false;
        c++;
        if (c < end && (*c == '+' || *c == '-')) c++;
        valid = valid && c < end && *c >= '0' && *c <= '9';
        while (c < end && *c >= '0' && *c <= '9') c++;
    }
    const size_t length = (size_t)(c - j->at);
    if (!valid || length >= NUMBER_SIZE) {
        json_error(j, "invalid number");
        return false;
    }
    memcpy(text, j->at, length);
    text[length] = 0;
    j->at += length;
    return true;
}

int64_t json_int(json *j)
{
    char text[NUMBER_SIZE];
    bool whole;
    if (!read_number(j, text, &whole)) return 0;
    errno = 0;
    const long long value = strtoll(text, NULL, 10);
    if (whole && !errno) return value;
    json_error(j, "expected a whole number of 64 bits");
    return 0;
}

double json_double(json *j)
{
    char text[NUMBER_SIZE];
    bool whole;
    if (!read_number(j, text, &whole)) return 0.0;
    const double value = text_parse_double(text, NULL);
    if (isfinite(value)) return value;
    json_error(j, "a number is too large");
    return 0.0;
}

// Reads a word if it follows.
static bool read_word(json *j, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(j->end - j->at) < length || memcmp(j->at, word, length)) return false;
    j->at += length;
    return true;
}

bool json_bool(json *j)
{
    if (!expect_kind(j, JSON_BOOL, "expected true or false")) return false;
    if (read_word(j, "true")) return true;
    if (!read_word(j, "false")) json_error(j, "expected true or false");
    return false;
}

// ---- any value ----

// Reads a value of any kind and ignores it.
static void skip_value(json *j)
{
    char number[NUMBER_SIZE];
    bool whole;
    switch (json_peek(j)) {
    case JSON_OBJECT:
        json_object(j);
        while (has_more(j, '}')) {
            // A key may not be decoded here: the text stays as it is for the caller.
            walk_text(j, NULL);
            skip_space(j);
            if (j->st) return;
            if (j->at == j->end || *j->at != ':') {
                json_error(j, "expected a colon after the key");
                return;
            }
            j->at++;
            skip_value(j);
        }
        break;
    case JSON_ARRAY:
        json_array(j);
        while (json_next(j)) skip_value(j);
        break;
    case JSON_STRING: walk_text(j, NULL); break;
    case JSON_NUMBER: read_number(j, number, &whole); break;
    case JSON_BOOL: json_bool(j); break;
    case JSON_NULL:
        if (!read_word(j, "null")) json_error(j, "invalid word");
        break;
    case JSON_END: json_error(j, "expected a value"); break;
    }
}

void json_skip(json *j, const char **text, size_t *size)
{
    // json_peek() skips the space before the value.
    json_peek(j);
    const char *from = j->at;
    skip_value(j);
    if (text) *text = from;
    if (size) *size = j->st ? 0 : (size_t)(j->at - from);
}

plumb_status json_end(json *j)
{
    if (j->st) return j->st;
    skip_space(j);
    if (j->at != j->end || j->depth) json_error(j, "more than one value");
    return j->st;
}
