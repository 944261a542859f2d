// SPDX-License-Identifier: MIT
// Result records: named values in order, what --json prints and results.jsonl keeps.
#ifndef PLUMB_RECORD_H
#define PLUMB_RECORD_H

#include <stdbool.h>

#include "plumb/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A JSON object under construction. Setters never fail: memory that runs out is remembered and
/// reported by plumb_record_to_json. Keys are written in the order they are set.
typedef struct plumb_record plumb_record;

PLUMB_API plumb_record *plumb_record_create(void); ///< NULL if memory runs out
PLUMB_API void plumb_record_free(plumb_record *record);

PLUMB_API void plumb_record_set_string(plumb_record *record, const char *key, const char *value);
PLUMB_API void plumb_record_set_int(plumb_record *record, const char *key, int64_t value);
PLUMB_API void plumb_record_set_bool(plumb_record *record, const char *key, bool value);
/// NaN and infinity, which JSON does not have, become null.
PLUMB_API void plumb_record_set_double(plumb_record *record, const char *key, double value);
PLUMB_API void plumb_record_set_null(plumb_record *record, const char *key);
PLUMB_API void plumb_record_set_doubles(plumb_record *record, const char *key, const double *values,
                                        int64_t count);
PLUMB_API void plumb_record_set_ints(plumb_record *record, const char *key, const int64_t *values,
                                     int64_t count);
PLUMB_API void plumb_record_set_strings(plumb_record *record, const char *key,
                                        const char *const *values, int64_t count);

/// A 95 % interval.
typedef struct plumb_interval {
    double low, high;
} plumb_interval;
/// [low, high], or null where it is not defined.
PLUMB_API void plumb_record_set_interval(plumb_record *record, const char *key,
                                         plumb_interval interval);

/// What follows goes inside the object `key`, until plumb_record_end.
PLUMB_API void plumb_record_begin_object(plumb_record *record, const char *key);
/// What follows goes inside the list `key`, each between begin(NULL) and end, until the list's end.
PLUMB_API void plumb_record_begin_array(plumb_record *record, const char *key);
PLUMB_API void plumb_record_end(plumb_record *record);

/// The record as one line of JSON. Numbers are the shortest that read back to the same bits.
/// The text belongs to the record. Fails with PLUMB_EMEMORY.
PLUMB_API plumb_status plumb_record_to_json(const char **out, plumb_record *record);

/// Writes `count` records to `path`, one a line, whole or not at all.
PLUMB_API plumb_status plumb_record_write_lines(const char *path, plumb_record *const *records,
                                                int64_t count);

#ifdef __cplusplus
}
#endif
#endif
