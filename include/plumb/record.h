// SPDX-License-Identifier: MIT
// Result records: named values in a fixed order, as --json prints them and results.jsonl holds
// them.
#ifndef PLUMB_RECORD_H
#define PLUMB_RECORD_H

#include <stdbool.h>

#include "plumb/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A JSON object under construction. Setters do not fail: if memory runs out,
/// plumb_record_to_json() reports it. Keys are written in the order in which they are set. In
/// arrays keys are NULL.
typedef struct plumb_record plumb_record;

PLUMB_API plumb_record *plumb_record_create(void); ///< NULL if out of memory.
/// May be NULL: record.
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
    double low;  ///< Lower end, in the unit of the value. NaN: undefined.
    double high; ///< Upper end.
} plumb_interval;
/// Sets [low, high], or null if the interval is undefined.
PLUMB_API void plumb_record_set_interval(plumb_record *record, const char *key,
                                         plumb_interval interval);

/// Opens the object `key`: what follows goes into it, until plumb_record_end().
PLUMB_API void plumb_record_begin_object(plumb_record *record, const char *key);
/// Opens the array `key`: what follows goes into it, until plumb_record_end(). Keys of its items
/// are NULL.
PLUMB_API void plumb_record_begin_array(plumb_record *record, const char *key);
/// Closes the object or array that was opened last.
PLUMB_API void plumb_record_end(plumb_record *record);

/// Gets the record as one line of JSON. Numbers have the fewest digits that read back exactly. The
/// text belongs to the record and is valid until its next change. Fails with PLUMB_EMEMORY.
PLUMB_API plumb_status plumb_record_to_json(const char **out, plumb_record *record);

/// Forms of plumb_record_to_table().
typedef enum plumb_table_format {
    PLUMB_TABLE_MARKDOWN,
    PLUMB_TABLE_LATEX, ///< tabular environments
    PLUMB_TABLE_CSV,   ///< one table: a line of key, value, low and high for each value
} plumb_table_format;

/// Gets the record as tables: one of single values with their intervals, and, but for CSV, one of
/// each list of objects. Lists of more than 16 numbers are left out. The text belongs to the record
/// and is valid until the next call. Fails with PLUMB_EMEMORY, PLUMB_EVALUE for another format.
PLUMB_API plumb_status plumb_record_to_table(const char **out, plumb_record *record,
                                             plumb_table_format format);

/// Writes `count` records to `path`, one per line. The file is written atomically.
PLUMB_API plumb_status plumb_record_write_lines(const char *path, plumb_record *const *records,
                                                int64_t count);

#ifdef __cplusplus
}
#endif
#endif
