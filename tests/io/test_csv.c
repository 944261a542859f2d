// SPDX-License-Identifier: MIT
// Tables of numbers: what people write, and what cannot be one.
#include "io/csv.h"

#include <string.h>

#include "support/test.h"

static plumb_status parse(csv_table *out, arena *mem, const char *text)
{
    return csv_parse(out, mem, text, strlen(text), "table");
}

static const double *numbers_of(const csv_table *table, int64_t index)
{
    return table->array[index].data;
}

TEST(columns_are_arrays_and_numbered_columns_one_array)
{
    csv_table t;
    arena mem = {0};
    CHECK_OK(parse(&t, &mem,
                   "trajectory,step,z[0],z[1],z[2],q_0,q_1\n0,0,1,2,3,4,5\n"
                   "0,1,6,7,8,9,10\n"));
    CHECK_EQUAL(t.rows, 2);
    CHECK_EQUAL(t.names.count, 4);
    CHECK_TEXT(t.names.name[2], "z");
    CHECK_TEXT(t.names.name[3], "q");
    CHECK_EQUAL(t.array[2].ndim, 2);
    CHECK_EQUAL(t.array[2].shape[1], 3);
    CHECK_EQUAL(t.array[0].ndim, 1);
    const double *z = numbers_of(&t, 2);
    const double want[6] = {1, 2, 3, 6, 7, 8};
    for (int i = 0; i < 6; i++) CHECK_NEAR(z[i], want[i], 0);
    CHECK_NEAR(numbers_of(&t, 3)[3], 10, 0);
    arena_clear(&mem);
}

TEST(what_programs_write_is_read)
{
    static const char *const texts[] = {
        "a,b\n1,2.5\n",
        "a,b\r\n1,2.5\r\n",
        "a;b\n1;2.5",
        "a\tb\n1\t2.5\n\n",
        "\xef\xbb\xbf\"a\",\"b\"\n 1 , 2.5 \n",
        "# a,b\n1e0,25e-1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        csv_table t;
        arena mem = {0};
        CHECK_OK(parse(&t, &mem, texts[i]));
        CHECK_EQUAL(t.rows, 1);
        CHECK_EQUAL(t.names.count, 2);
        CHECK_TEXT(t.names.name[0], "a");
        CHECK_TEXT(t.names.name[1], "b");
        CHECK_NEAR(numbers_of(&t, 0)[0], 1.0, 0);
        CHECK_NEAR(numbers_of(&t, 1)[0], 2.5, 0);
        arena_clear(&mem);
    }
}

TEST(an_empty_place_is_nan)
{
    csv_table t;
    arena mem = {0};
    CHECK_OK(parse(&t, &mem, "a,b,c\n1,,3\n,nan,\n"));
    CHECK_EQUAL(t.rows, 2);
    CHECK(isnan(numbers_of(&t, 1)[0]) && isnan(numbers_of(&t, 0)[1]) &&
          isnan(numbers_of(&t, 2)[1]));
    CHECK_NEAR(numbers_of(&t, 2)[0], 3.0, 0);
    arena_clear(&mem);
}

TEST(numbers_that_skip_are_columns_of_their_own)
{
    csv_table t;
    arena mem = {0};
    CHECK_OK(parse(&t, &mem, "z_0,z_2,x1,y_1\n1,2,3,4\n"));
    CHECK_EQUAL(t.names.count, 4);
    CHECK_TEXT(t.names.name[0], "z_0");
    arena_clear(&mem);
}

TEST(columns_of_text_are_passed_over)
{
    csv_table t;
    arena mem = {0};
    CHECK_OK(parse(&t, &mem,
                   "clip,z_0,word,z_1,score\na.mp4,1,yes,2,3\n\"b, c\",4,\"say \"\"no\"\"\",5,6\n"
                   "7,7,8,8,9\n"));
    CHECK_EQUAL(t.rows, 3);
    CHECK_EQUAL(t.names.count, 3);
    CHECK_TEXT(t.names.name[0], "z_0");
    CHECK_TEXT(t.names.name[1], "z_1");
    CHECK_TEXT(t.names.name[2], "score");
    CHECK_NEAR(numbers_of(&t, 0)[1], 4.0, 0);
    CHECK_NEAR(numbers_of(&t, 1)[1], 5.0, 0);
    CHECK_NEAR(numbers_of(&t, 2)[2], 9.0, 0);
    arena_clear(&mem);
}

TEST(what_is_no_table_is_refused_with_its_line)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "empty"},
        {"\n\n", "empty"},
        {"a,b\n", "no row"},
        {"1,2\n3,4\n", "must have names"},
        {"a,b\n1,2\n3\n", "line 3 has fewer"},
        {"a,b\n1,2,3\n", "line 2 has more"},
        {"a,b\n1,2\n1,x\n", "line 3, column b: \"x\" is not a number"},
        {"a,b\n1,2\n1,2 3\n", "\"2 3\" is not a number"},
        {"a\nx\n", "line 2, column a: \"x\" is not a number"},
        {"a,b\nx,y z\n", "line 2, column a: \"x\" is not a number"},
        {"clip,b\nx,1\ny\n", "line 3 has fewer"},
        {"clip,b\nx,1\ny,2,3\n", "line 3 has more"},
        {"a,,b\n1,2,3\n", "column 2 has no name"},
        {"a,a\n1,2\n", "the name a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        csv_table t;
        arena mem = {0};
        CHECK_FAILS(parse(&t, &mem, cases[i].text), PLUMB_EFORMAT, cases[i].words);
        arena_clear(&mem);
    }
    csv_table t;
    arena mem = {0};
    CHECK_FAILS(csv_parse(&t, &mem, "a\n1\0002\n", 6, "table"), PLUMB_EFORMAT, "zero byte");
    arena_clear(&mem);
}
