// SPDX-License-Identifier: MIT
#include "base/record_table.h"

#include <string.h>

#include "support/test.h"

// A record with every kind of value.
static plumb_record *make_record(void)
{
    plumb_record *r = plumb_record_create();
    plumb_record_set_double(r, "r2", 0.123456789012);
    plumb_record_set_interval(r, "r2_ci", (plumb_interval){0.1, 0.25});
    plumb_record_set_string(r, "why", "a_b, \"c\" | d");
    plumb_record_set_bool(r, "yes", true);
    plumb_record_set_null(r, "none");
    plumb_record_begin_object(r, "part");
    plumb_record_set_int(r, "n", 7);
    plumb_record_end(r);
    plumb_record_set_ints(r, "short", (int64_t[]){1, 2}, 2);
    plumb_record_set_doubles(r, "long", (double[17]){0}, 17);
    plumb_record_begin_array(r, "targets");
    for (int i = 0; i < 2; i++) {
        plumb_record_begin_object(r, NULL);
        plumb_record_set_string(r, "name", i ? "q" : "p");
        plumb_record_begin_object(r, "linear");
        plumb_record_set_double(r, "r2", 0.5 + i);
        plumb_record_set_interval(r, "r2_ci", (plumb_interval){0.25, 2.0});
        plumb_record_end(r);
        plumb_record_end(r);
    }
    plumb_record_end(r);
    plumb_record_begin_object(r, "scorers");
    for (int i = 0; i < 2; i++) {
        plumb_record_begin_object(r, i ? "knn" : "plain");
        plumb_record_set_int(r, "k", i);
        plumb_record_end(r);
    }
    plumb_record_end(r);
    return r;
}

static void check_table(plumb_table_format format, const char *wanted)
{
    const char *text;
    plumb_record *r = make_record();
    CHECK_OK(plumb_record_to_table(&text, r, format));
    CHECK_TEXT(text, wanted);
    // A second call gives the same, and the record can still grow.
    plumb_record_set_int(r, "last", 1);
    CHECK_OK(plumb_record_to_table(&text, r, format));
    CHECK(strstr(text, "last") != NULL);
    plumb_record_free(r);
}

TEST(markdown_has_a_table_of_values_and_one_of_each_list)
{
    check_table(PLUMB_TABLE_MARKDOWN, "| key | value | low | high |\n"
                                      "|---|---|---|---|\n"
                                      "| r2 | 0.123457 | 0.1 | 0.25 |\n"
                                      "| why | a_b, \"c\" \\| d | - | - |\n"
                                      "| yes | true | - | - |\n"
                                      "| none | - | - | - |\n"
                                      "| part.n | 7 | - | - |\n"
                                      "\ntargets\n\n"
                                      "| name | linear.r2 |\n"
                                      "|---|---|\n"
                                      "| p | 0.5 [0.25, 2] |\n"
                                      "| q | 1.5 [0.25, 2] |\n"
                                      "\nscorers\n\n"
                                      "| name | k |\n"
                                      "|---|---|\n"
                                      "| plain | 0 |\n"
                                      "| knn | 1 |\n");
}

TEST(latex_marks_its_special_characters)
{
    check_table(PLUMB_TABLE_LATEX, "\\begin{tabular}{lrrr}\n"
                                   "key & value & low & high \\\\\n"
                                   "\\hline\n"
                                   "r2 & 0.123457 & 0.1 & 0.25 \\\\\n"
                                   "why & a\\_b, \"c\" | d & - & - \\\\\n"
                                   "yes & true & - & - \\\\\n"
                                   "none & - & - & - \\\\\n"
                                   "part.n & 7 & - & - \\\\\n"
                                   "\\end{tabular}\n"
                                   "\n% targets\n"
                                   "\\begin{tabular}{lr}\n"
                                   "name & linear.r2 \\\\\n"
                                   "\\hline\n"
                                   "p & 0.5 [0.25, 2] \\\\\n"
                                   "q & 1.5 [0.25, 2] \\\\\n"
                                   "\\end{tabular}\n"
                                   "\n% scorers\n"
                                   "\\begin{tabular}{lr}\n"
                                   "name & k \\\\\n"
                                   "\\hline\n"
                                   "plain & 0 \\\\\n"
                                   "knn & 1 \\\\\n"
                                   "\\end{tabular}\n");
}

TEST(csv_is_one_line_per_value_with_all_digits)
{
    check_table(PLUMB_TABLE_CSV, "key,value,low,high\n"
                                 "r2,0.123456789012,0.1,0.25\n"
                                 "why,\"a_b, \"\"c\"\" | d\",,\n"
                                 "yes,true,,\n"
                                 "none,,,\n"
                                 "part.n,7,,\n"
                                 "short[0],1,,\n"
                                 "short[1],2,,\n"
                                 "targets[0].name,p,,\n"
                                 "targets[0].linear.r2,0.5,0.25,2\n"
                                 "targets[1].name,q,,\n"
                                 "targets[1].linear.r2,1.5,0.25,2\n"
                                 "scorers.plain.k,0,,\n"
                                 "scorers.knn.k,1,,\n");
}

TEST(an_empty_record_and_wrong_arguments)
{
    const char *text = NULL;
    plumb_record *r = plumb_record_create();
    CHECK_OK(plumb_record_to_table(&text, r, PLUMB_TABLE_CSV));
    CHECK_TEXT(text, "key,value,low,high\n");
    CHECK_FAILS(plumb_record_to_table(&text, r, (plumb_table_format)3), PLUMB_EVALUE, "format 3");
    CHECK_FAILS(plumb_record_to_table(&text, NULL, PLUMB_TABLE_CSV), PLUMB_EVALUE, "record");
    plumb_record_free(r);
}
