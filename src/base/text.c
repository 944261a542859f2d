// SPDX-License-Identifier: MIT
// Numbers: the locale of the calling thread is replaced by the C locale for the duration of one
// call.
#define _GNU_SOURCE
#include "base/text.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The locale is created once and never freed.
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

const char *text_beside(char *out, size_t size, char style, double value, double bar)
{
    for (int digits = style == 'f' ? 4 : 3; digits <= 17; digits++) {
        if (style == 'f') text_format(out, size, "%.*f", digits, value);
        else text_format(out, size, "%.*g", digits, value);
        const double shown = text_parse_double(out, NULL);
        if ((shown > bar) == (value > bar) && (shown < bar) == (value < bar)) break;
    }
    return out;
}

int text_utf8_length(const char *at, const char *end)
{
    const unsigned char *b = (const unsigned char *)at;
    if (b[0] < 0x80) return 1;
    // The first byte tells the length: 2 to 4 bytes.
    const int length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
    if (b[0] < 0xc2 || b[0] > 0xf4 || end - at < length) return 0;
    for (int i = 1; i < length; i++)
        if ((b[i] & 0xc0) != 0x80) return 0;
    // Overlong forms, surrogates and characters above U+10FFFF are invalid.
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) ||
        (b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] > 0x8f))
        return 0;
    return length;
}

bool text_is_utf8(const char *text)
{
    const char *end = text + strlen(text);
    while (text < end) {
        const int length = text_utf8_length(text, end);
        if (!length) return false;
        text += length;
    }
    return true;
}
