// SPDX-License-Identifier: MIT
// Numbers are written and read the same under a locale whose decimal point is a comma.
#define _GNU_SOURCE
#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/option.h"
#include "base/status.h"
#include "plot/axes.h"
#include "plumb/record.h"
#include "support/test.h"

// Sets the German locale, which is made for the tests; see tests/CMakeLists.txt.
static void set_german(void)
{
    const char *locales = getenv("PLUMB_LOCALES");
    if (locales) setenv("LOCPATH", locales, 1);
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        fail_msg(
            "the locale de_DE.UTF-8 is missing: install the package locales, then build again");
    char text[8];
    snprintf(text, sizeof text, "%g", 0.5);
    CHECK_TEXT(text, "0,5"); // the locale is in force
}

TEST(text_has_a_decimal_point_and_the_locale_stays)
{
    set_german();
    char text[64];
    text_format(text, sizeof text, "%g %.3f %d", 0.5, 1.25, 7);
    CHECK_TEXT(text, "0.5 1.250 7");
    char *end;
    CHECK_NEAR(text_parse_double("2.75 m", &end), 2.75, 0.0);
    CHECK_TEXT(end, " m");
    CHECK_NEAR(text_parse_double("2,75", &end), 2.0, 0.0);
    CHECK_TEXT(end, ",75");
    snprintf(text, sizeof text, "%g", 0.5);
    CHECK_TEXT(text, "0,5");
    setlocale(LC_ALL, "C");
}

TEST(a_number_is_shown_on_its_side_of_a_bar)
{
    char text[32];
    CHECK_TEXT(text_beside(text, sizeof text, 'f', 0.95, 0.9), "0.9500");
    CHECK_TEXT(text_beside(text, sizeof text, 'f', 0.900004, 0.9), "0.900004");
    CHECK_TEXT(text_beside(text, sizeof text, 'f', 0.899996, 0.9), "0.899996");
    CHECK_TEXT(text_beside(text, sizeof text, 'f', 0.9, 0.9), "0.9000");
    CHECK_TEXT(text_beside(text, sizeof text, 'g', 0.05000001, 0.05), "0.05000001");
    CHECK_TEXT(text_beside(text, sizeof text, 'g', 6.163e-33, 0.05), "6.16e-33");
    CHECK_TEXT(text_beside(text, sizeof text, 'f', (double)NAN, 0.9), "nan");
}

TEST(records_are_json_in_every_locale)
{
    set_german();
    plumb_record *record = plumb_record_create();
    plumb_record_set_double(record, "x", 0.1);
    plumb_record_set_double(record, "y", -1.5e-300);
    char text[100];
    const char *written;
    CHECK_OK(plumb_record_to_json(&written, record));
    snprintf(text, sizeof text, "%s", written);
    CHECK_TEXT(text, "{\"x\": 0.1, \"y\": -1.5e-300}");
    json reader = json_begin(text, strlen(text), "test");
    json_object(&reader);
    CHECK_TEXT(json_key(&reader), "x");
    CHECK_NEAR(json_double(&reader), 0.1, 0.0);
    CHECK_TEXT(json_key(&reader), "y");
    CHECK_NEAR(json_double(&reader), -1.5e-300, 0.0);
    plumb_record_free(record);
    setlocale(LC_ALL, "C");
}

TEST(messages_and_buffers_have_a_decimal_point)
{
    set_german();
    CHECK_FAILS(fail(PLUMB_EVALUE, "rate is %g", 0.25), PLUMB_EVALUE, "rate is 0.25");
    buffer out = {0};
    buffer_printf(&out, "<path d=\"M%.1f %.6g\"/>", 3.5, 0.001);
    CHECK(out.size == strlen("<path d=\"M3.5 0.001\"/>"));
    CHECK(memcmp(out.data, "<path d=\"M3.5 0.001\"/>", out.size) == 0);
    buffer_clear(&out);
    char text[32];
    CHECK_TEXT(option_format_number(text, sizeof text, 0.0625), "0.0625");
    setlocale(LC_ALL, "C");
}
