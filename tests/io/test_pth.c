// SPDX-License-Identifier: MIT
// Pickles written by hand: what a dictionary of scores needs is read, everything else is rejected,
// and no instruction reads past the stack or the file. test_torch.py has whole files.
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"
#include "io/pickle.h"
#include "plumb/file.h"
#include "support/test.h"

static arena mem;

// The value of the last of equal keys, or NULL.
static const pickle_value *find_value(const pickle_value *dict, const char *key)
{
    for (int64_t i = dict->count - 2; i >= 0; i -= 2)
        if (!strcmp(dict->item[i]->bytes, key)) return dict->item[i + 1];
    return NULL;
}

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
    CHECK_EQUAL(find_value(v, "a")->integer, 7);
    CHECK_EQUAL(find_value(v, "b")->integer, -2);
    CHECK_NEAR(find_value(v, "c")->real, 1.5, 0);
    CHECK_EQUAL(find_value(v, "d")->count, 2);
    CHECK_EQUAL(find_value(v, "e")->kind, PICKLE_NONE);
    CHECK_EQUAL(find_value(v, "f")->integer, 1);
    CHECK_EQUAL(find_value(v, "g")->integer, -8388608);
    CHECK(!find_value(v, "h"));
    // The last of equal keys counts; MEMOIZE and BINGET give the same value again.
    CHECK_OK(PARSE(&v, "}(X\1\0\0\0aK\1X\1\0\0\0aK\2u."));
    CHECK_EQUAL(find_value(v, "a")->integer, 2);
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

// ---- nothing changes after it was checked ----

// Instructions that build values and store them in the memo: 0 the storage, 1 a list that becomes
// the sizes, 2 one that becomes the strides, 3 the list of arguments.
#define STORAGE                                        \
    "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" \
    "0X\3\0\0\0cpuK\20tQq\0"                           \
    "0"
#define TENSOR_OF(arguments) "ctorch._utils\n_rebuild_tensor_v2\n" arguments "R0"
#define LISTS               \
    "]K\2aq\1"              \
    "0]K\1aq\2"             \
    "0]h\0aK\0ah\1ah\2aq\3" \
    "0"

TEST(a_tensor_cannot_be_changed_through_the_memo)
{
    static const struct {
        const char *program;
        size_t size;
    } cases[] = {
#define CASE(text) {text, sizeof(text) - 1}
        CASE(STORAGE LISTS TENSOR_OF("h\3") "h\1K\7a."),   // another size
        CASE(STORAGE LISTS TENSOR_OF("h\3") "h\2K\7a."),   // another stride
        CASE(STORAGE LISTS TENSOR_OF("h\3") "h\2(K\7Ne."), // several, one no number
        CASE(STORAGE LISTS TENSOR_OF("h\3") "h\3K\7a."),   // another argument
        CASE(STORAGE LISTS TENSOR_OF("(h\0K\0h\1h\2t") "h\1Na."),
        CASE("(K\1K\2tK\3a."), // a tuple
        CASE(")K\3a."),        // an empty tuple
        CASE("K\1\x85K\3a."),  // a tuple of one
#undef CASE
    };
    pickle_value *v;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_FAILS(parse(&v, cases[i].program, cases[i].size), PLUMB_EFORMAT, "after it is made");
    // Without the change the tensor is read.
    CHECK_OK(PARSE(&v, STORAGE LISTS "ctorch._utils\n_rebuild_tensor_v2\nh\3R."));
    CHECK_EQUAL(v->kind, PICKLE_TENSOR);
    arena_clear(&mem);
}

// Memo: 0 the dtype, 1 the list of sizes, 2 the state, 3 the array.
#define ARRAY                                \
    "cnumpy\ndtype\n(X\2\0\0\0f4K\0K\1tRq\0" \
    "0]K\1aq\1"                              \
    "0](K\1h\1h\0\x89"                       \
    "C\4abcdeq\2"                            \
    "0"                                      \
    "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n\x85Rq\3h\2b"

TEST(an_array_cannot_be_changed_through_the_memo)
{
    pickle_value *v;
    CHECK_OK(PARSE(&v, ARRAY "."));
    CHECK_EQUAL(v->kind, PICKLE_NDARRAY);
    CHECK_FAILS(PARSE(&v, ARRAY "h\1K\7a."), PLUMB_EFORMAT, "after it is made"); // the sizes
    CHECK_FAILS(PARSE(&v, ARRAY "h\2K\7a."), PLUMB_EFORMAT, "after it is made"); // the state
    CHECK_FAILS(PARSE(&v, ARRAY "h\2b."), PLUMB_EFORMAT, "after it is made");    // filled twice
    CHECK_FAILS(PARSE(&v, ARRAY "h\0(K\3X\1\0\0\0>tb."), PLUMB_EFORMAT,
                "after it is made"); // the byte order
    arena_clear(&mem);
}

// ---- files with many keys ----

// Writes a dictionary of `count` numbers and returns the CPU seconds to open it and read them all.
static double read_many(int count)
{
    char path[] = "/tmp/plumb-test-XXXXXX.pth";
    const int fd = mkstemps(path, 4);
    CHECK(fd >= 0);
    close(fd);
    forge pickle = {0}, file = {0};
    forge_put(&pickle, "\x80\2}(", 4);
    for (int i = 0; i < count; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%06d", i);
        forge_put(&pickle, "X\7\0\0\0", 5);
        forge_put(&pickle, key, 7);
        forge_put(&pickle, "K\1", 2);
    }
    forge_put(&pickle, "u.", 2);
    const forge_member member = forge_stored("a/data.pkl", &pickle);
    forge_zip(&file, &member, 1, (forge_end){0});
    CHECK(forge_save(&file, path));
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    plumb_file *opened = NULL;
    CHECK_OK(plumb_file_open(&opened, path));
    CHECK_EQUAL(plumb_file_array_count(opened), count);
    for (int i = 0; i < count; i++) {
        plumb_array array;
        CHECK_OK(plumb_file_read_array(&array, opened, plumb_file_array_name(opened, i)));
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    plumb_file_close(opened);
    unlink(path);
    forge_clear(&pickle);
    forge_clear(&file);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

TEST(the_time_to_read_does_not_grow_with_the_square_of_the_keys)
{
    double few = 1e9, many = 1e9;
    for (int i = 0; i < 3; i++) {
        const double seconds[2] = {read_many(2000), read_many(32000)};
        few = seconds[0] < few ? seconds[0] : few;
        many = seconds[1] < many ? seconds[1] : many;
    }
    CHECK(many < 64.0 * few); // 16 times the keys: 16 if linear, 256 if quadratic
}
