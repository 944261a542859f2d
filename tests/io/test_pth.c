// SPDX-License-Identifier: MIT
// Pickles written by hand: what a dictionary of scores needs is read, everything else is refused,
// and no instruction takes what is not there. test_torch.py has whole files.
#include <string.h>

#include "io/pickle.h"
#include "support/test.h"

static arena mem;

static plumb_status parse(pickle_value **out, const char *bytes, size_t size)
{
    arena_clear(&mem);
    return pickle_parse(out, &mem, (const unsigned char *)bytes, size, "test");
}
// A string literal's bytes without its zero.
#define PARSE(out, text) parse(out, text, sizeof(text) - 1)

TEST(values_of_every_kind_are_read)
{
    pickle_value *v;
    CHECK_OK(PARSE(&v, "\x80\x02}q\0(X\1\0\0\0aK\7X\1\0\0\0bJ\xfe\xff\xff\xffX\1\0\0\0cG"
                       "\x3f\xf8\0\0\0\0\0\0X\1\0\0\0d](K\1K\2eX\1\0\0\0eNX\1\0\0\0f\x88"
                       "X\1\0\0\0g\x8a\3\0\0\x80u."));
    CHECK_EQUAL(pickle_find(v, "a")->integer, 7);
    CHECK_EQUAL(pickle_find(v, "b")->integer, -2);
    CHECK_NEAR(pickle_find(v, "c")->real, 1.5, 0);
    CHECK_EQUAL(pickle_find(v, "d")->count, 2);
    CHECK_EQUAL(pickle_find(v, "e")->kind, PICKLE_NONE);
    CHECK_EQUAL(pickle_find(v, "f")->integer, 1);
    CHECK_EQUAL(pickle_find(v, "g")->integer, -8388608);
    CHECK(!pickle_find(v, "h"));
    // The last of equal keys counts; MEMOIZE and BINGET give the same value again.
    CHECK_OK(PARSE(&v, "}(X\1\0\0\0aK\1X\1\0\0\0aK\2u."));
    CHECK_EQUAL(pickle_find(v, "a")->integer, 2);
    CHECK_OK(PARSE(&v, "\x80\x04K\5\x94h\0\x86."));
    CHECK(v->count == 2 && v->item[0] == v->item[1]);
    arena_clear(&mem);
}

TEST(a_list_that_holds_itself_is_only_a_pointer)
{
    pickle_value *v;
    CHECK_OK(PARSE(&v, "]q\0h\0a."));
    CHECK(v->count == 1 && v->item[0] == v);
    arena_clear(&mem);
}

TEST(no_name_outside_the_list_gets_in)
{
    pickle_value *v;
    CHECK_FAILS(PARSE(&v, "cos\nsystem\n(X\2\0\0\0lstR."), PLUMB_EFORMAT, "names os.system");
    CHECK_FAILS(PARSE(&v, "c__builtin__\neval\n."), PLUMB_EFORMAT, "names __builtin__.eval");
    CHECK_FAILS(PARSE(&v, "\x8c\2os\x8c\6system\x93."), PLUMB_EFORMAT, "names os.system");
    CHECK_FAILS(PARSE(&v, "c\x1b[31m\nx\ny."), PLUMB_EFORMAT, "names ?[31m.x");
    CHECK_FAILS(PARSE(&v, "ctorch\nFloatStorage\n)R."), PLUMB_EFORMAT, "is no function");
    CHECK_FAILS(PARSE(&v, "ccollections\nOrderedDict\n]]a\x85R."), PLUMB_EFORMAT, "OrderedDict");
    // Instructions that call, import by number or make objects are not there at all.
    static const char calls[] = {'o', 'i', '\x81', '\x82', '\x83', '\x84', '\x92', 'P', '\x96'};
    for (size_t i = 0; i < sizeof calls; i++) {
        const char program[3] = {')', calls[i], '.'};
        CHECK_FAILS(parse(&v, program, 3), PLUMB_EFORMAT, "has instruction 0x");
    }
    arena_clear(&mem);
}

TEST(nothing_is_taken_that_is_not_there)
{
    pickle_value *v;
    static const char *const programs[] = {
        "",     ".",     "K",      "K\1",  "N0.",   "0.",      "a.",     "Na.",
        "]a.",  "e.",    "(e.",    "](.",  "s.",    "}Ns.",    "u.",     "}(Nu.",
        "t.",   "\x85.", "N\x86.", "h\5.", "q\1.",  "R.",      "NNR.",   "b.",
        "Nb.",  "NQ.",   ")Q.",    "NN.",  "(N.",   "X\xff",   "G\1\2",  "(N\x85.",
        "N(a.", "\x93.", "(0.",    "c",    "cos\n", "\x80\7.", "](N(e.", "N(\x86."};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        CHECK_FAILS(parse(&v, programs[i], strlen(programs[i])), PLUMB_EFORMAT, "test: ");
    CHECK_FAILS(PARSE(&v, "X\xff\xff\xff\x7f"
                          "abc."),
                PLUMB_EFORMAT, "damaged");
    CHECK_FAILS(PARSE(&v, "Nr\xff\xff\xff\x7f."), PLUMB_EFORMAT, "damaged");
    CHECK_FAILS(PARSE(&v, "j\xff\xff\xff\xff."), PLUMB_EFORMAT, "damaged");
    arena_clear(&mem);
}

TEST(a_few_bytes_cannot_ask_for_much)
{
    static unsigned char program[3 << 20];
    pickle_value *v;
    arena_clear(&mem);
    // Three million Nones; three million marks; one value appended over and over.
    memset(program, 'N', sizeof program);
    CHECK_FAILS(pickle_parse(&v, &mem, program, sizeof program, "test"), PLUMB_EFORMAT, "too many");
    CHECK(arena_size(&mem) < (16 << 20));
    arena_clear(&mem);
    memset(program, '(', sizeof program);
    CHECK_FAILS(pickle_parse(&v, &mem, program, sizeof program, "test"), PLUMB_EFORMAT, "");
    CHECK(arena_size(&mem) < (16 << 20));
    arena_clear(&mem);
    memcpy(program,
           "]Nq\0"
           "0",
           5);
    for (size_t i = 5; i + 3 <= sizeof program; i += 3) memcpy(program + i, "h\0a", 3);
    CHECK_FAILS(pickle_parse(&v, &mem, program, sizeof program, "test"), PLUMB_EFORMAT, "too many");
    CHECK(arena_size(&mem) < (16 << 20));
    arena_clear(&mem);
}
