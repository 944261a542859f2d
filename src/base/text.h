// SPDX-License-Identifier: MIT
// Numbers as text, the same in every locale, and UTF-8. A program that uses the library may have
// set a locale with a decimal comma; snprintf and strtod then write and read "0,5".
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/// snprintf with a decimal point.
int text_format(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// vsnprintf with a decimal point.
int text_format_list(char *out, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/// Writes `value` with four decimals ('f') or three digits ('g'), or with as many more as show on
/// which side of `bar` it lies, and returns `out`.
const char *text_beside(char *out, size_t size, char style, double value, double bar);

/// strtod with a decimal point. May be NULL: end.
double text_parse_double(const char *text, char **end);

/// Number of bytes of the character at `at`, before `end`; 0 if it is not UTF-8. Overlong forms and
/// surrogates are not valid.
int text_utf8_length(const char *at, const char *end);
/// Is the whole text UTF-8? JSON cannot hold any other.
bool text_is_utf8(const char *text);

#endif
