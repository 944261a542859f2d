// SPDX-License-Identifier: MIT
// JSON reader that goes through the text once, without a tree and without memory. The caller states
// what must come next; anything else is an error with its position.
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
    JSON_END, ///< the end, or not JSON
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_BOOL,
    JSON_NULL,
} json_kind;

/// A reader. After an error all calls do nothing and return zeros, so it is enough to check
/// json_end().
typedef struct json {
    char *start, *at, *end;
    const char *what; ///< the name in messages
    plumb_status st;
    int depth;
    bool first[JSON_MAX_DEPTH]; ///< no item was read in this bracket yet
} json;

/// Starts to read. `text` is changed: strings are decoded in place. `what` is the name in messages.
json json_begin(char *text, size_t size, const char *what);

json_kind json_peek(json *j); ///< Kind of the next value.

void json_object(json *j); ///< Enters an object.
char *json_key(json *j);   ///< Key of the next member; at the end NULL, and the object is left.
void json_array(json *j);
bool json_next(json *j); ///< True if another item follows; else the array is left.

char *json_string(json *j); ///< UTF-8 without zeros; NULL on failure.
int64_t json_int(json *j);
double json_double(json *j); ///< Also reads integers.
bool json_bool(json *j);
/// Skips a value of any kind, which is checked but not changed. May be NULL: text, size, which are
/// set to the place of the value.
void json_skip(json *j, const char **text, size_t *size);

/// Fails with PLUMB_EFORMAT at the present position, with the message `wanted`.
plumb_status json_error(json *j, const char *why);

/// Checks that only white space is left. Returns the first error, or PLUMB_OK.
plumb_status json_end(json *j);

#endif
