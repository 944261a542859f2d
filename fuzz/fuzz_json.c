// SPDX-License-Identifier: MIT
// Any bytes as JSON: skipped, and walked value by value; the two agree on what is JSON.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(json *j)
{
    switch (json_peek(j)) {
    case JSON_OBJECT:
        json_object(j);
        while (json_key(j)) walk(j);
        break;
    case JSON_ARRAY:
        json_array(j);
        while (json_next(j)) walk(j);
        break;
    case JSON_STRING: {
        const char *text = json_string(j);
        if (text && strlen(text) > (size_t)(j->end - j->start)) abort();
        break;
    }
    case JSON_BOOL: json_bool(j); break;
    default: json_skip(j, NULL, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    json first = json_begin(text, size, "input");
    json_skip(&first, NULL, NULL);
    const plumb_status skipped = json_end(&first);
    json second = json_begin(text, size, "input");
    walk(&second);
    if (json_end(&second) != skipped) abort();
    for (int kind = 0; kind < 2; kind++) {
        if (size) memcpy(text, data, size);
        json j = json_begin(text, size, "input");
        if (kind) json_int(&j);
        else json_double(&j);
        json_end(&j);
    }
    free(text);
    return 0;
}
