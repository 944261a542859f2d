// SPDX-License-Identifier: MIT
// One entry per member of an options struct: its name, type, range and help text. The same table
// parses the command line and settings, checks ranges, prints defaults and describes the struct to
// Python.
//
// Pure functions, also compiled into the command line.
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Type of the member. The numbers are part of plumb_option_info.
typedef enum option_kind {
    OPTION_BOOL,    ///< bool
    OPTION_STRING,  ///< const char *
    OPTION_INT,     ///< int
    OPTION_INT64,   ///< int64_t
    OPTION_UINT64,  ///< uint64_t
    OPTION_DOUBLE,  ///< double
    OPTION_ENUM,    ///< an enum, whose values 0, 1, .. are `words`
    OPTION_POINTER, ///< a pointer to `type`; cannot be parsed from text
} option_kind;

typedef struct option_spec {
    const char *name; ///< of the member; NULL ends a table
    option_kind kind;
    size_t offset;            ///< of the member in its struct
    const char *const *words; ///< OPTION_ENUM: names in the order of the values, NULL at the end
    double low, high;         ///< range of a number, both included; both 0: any
    const char *help;         ///< one sentence, without a full stop
    const char
        *type; ///< OPTION_POINTER: what it points to, as "array"; arrays in a struct: "bool[8]"
} option_spec;

/// A struct and its members.
typedef struct option_table {
    const char *name; ///< of the struct, without plumb_
    size_t size;
    const option_spec *specs;
} option_table;

/// Parses `text` into `target`, which is the struct. False, and one line in `error`, if it is not
/// what the option accepts: "takes a whole number from 1 to 8, not \"x\"". Strings are not copied.
bool option_store(void *target, const option_spec *spec, const char *text, char *error,
                  size_t size);

/// Writes the value as option_store() reads it. Returns `text`.
const char *option_format(char *text, size_t size, const option_spec *spec, const void *source);

/// Writes what the option accepts: "a whole number from 1 to 64", "elbo or geco". Returns `text`.
const char *option_accepts(char *text, size_t size, const option_spec *spec);

/// Checks all numbers and enums of `source` against their ranges. NULL if they hold, else the first
/// that does not, and one line in `error`: "max_order is 9; it must be a whole number from 1 to 8".
const option_spec *option_check(const option_spec *specs, const void *source, char *error,
                                size_t size);

/// The shortest decimal text that reads back as `value`, from 6 digits on. Returns `text`.
const char *option_format_number(char *text, size_t size, double value);

#endif
