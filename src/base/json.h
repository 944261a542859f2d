// SPDX-License-Identifier: MIT
// JSON from outside, read in order: no tree, no memory. The caller says what must come next, and
// anything else is a failure that names the place.
//
//     json j = json_begin(text, size, "x.json");
//     json_object(&j);
//     for (const char *key; (key = json_key(&j));)
//         if (!strcmp(key, "steps")) steps = json_int(&j);
//         else json_skip(&j);
//     plumb_status st = json_end(&j);
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { JSON_MAX_DEPTH = 32 };

typedef enum json_kind {
    JSON_END, ///< the end, or what is no JSON
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_BOOL,
    JSON_NULL,
} json_kind;

/// A walk over a text of the caller's. After a failure every call does nothing and answers with
/// nothing, so that one look at json_end is enough.
typedef struct json {
    char *start, *at, *end;
    const char *what; ///< the name in messages
    plumb_status st;
    int depth;
    bool first[JSON_MAX_DEPTH]; ///< nothing yet in this bracket
} json;

/// `text` is changed: texts are unescaped where they stand, and end with a zero there.
json json_begin(char *text, size_t size, const char *what);

json_kind json_peek(json *j); ///< what comes next

void json_object(json *j); ///< an object comes next; go in
char *json_key(json *j);   ///< the key of the next member; NULL behind the last, and out again
void json_array(json *j);
bool json_next(json *j); ///< is there one more item? If not, out again

char *json_string(json *j); ///< UTF-8 without zeros inside; NULL on failure
int64_t json_int(json *j);
double json_double(json *j); ///< an integer will do
bool json_bool(json *j);
/// Whatever comes next, checked but not changed; `*text` and `*size` are where it stands.
void json_skip(json *j, const char **text, size_t *size);

/// Fails with PLUMB_EFORMAT at the place that was read last: what was found, `wanted`.
plumb_status json_error(json *j, const char *why);

/// Nothing but white space may be left. The first failure, or PLUMB_OK.
plumb_status json_end(json *j);

#endif
