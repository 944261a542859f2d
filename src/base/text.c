// SPDX-License-Identifier: MIT
// The locale of the calling thread is replaced by the C locale for the duration of one call.
#define _GNU_SOURCE
#include "base/text.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale; // (locale_t)0 if there was no memory: then the caller's locale is used

static void create_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int text_format_list(char *out, size_t size, const char *format, va_list arguments)
{
    pthread_once(&once, create_locale);
    const locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    const int length = vsnprintf(out, size, format, arguments);
    if (before) uselocale(before);
    return length;
}

int text_format(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = text_format_list(out, size, format, arguments);
    va_end(arguments);
    return length;
}

double text_parse_double(const char *text, char **end)
{
    pthread_once(&once, create_locale);
    return c_locale ? strtod_l(text, end, c_locale) : strtod(text, end);
}
