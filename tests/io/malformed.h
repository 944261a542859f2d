// SPDX-License-Identifier: MIT
// Files that lie, one function each, and their table: what each is, and words its refusal must
// have. Included by the test that reads them.
#ifndef TESTS_IO_MALFORMED_H
#define TESTS_IO_MALFORMED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/fixtures.h"
#include "support/test.h"

enum { HEADER = 118 }; // bytes of header text when nothing else is said

typedef struct lie {
    const char *claim; // what it is, and the file's name
    const char *suffix;
    void (*make)(forge *f);
    const char *words; // in the message
} lie;

// ---- .npy ----

// The header's text padded as NumPy does it.
static void npy(forge *f, const char *dictionary, size_t zeros)
{
    char text[HEADER + 1];
    memset(text, ' ', sizeof text);
    memcpy(text, dictionary, strlen(dictionary));
    text[HEADER - 1] = '\n';
    text[HEADER] = 0;
    forge_npy(f, 1, text, zeros);
}

#define GOOD "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"
#define SHAPE(shape) "{'descr': '<f8', 'fortran_order': False, 'shape': " shape ", }"
#define TYPE(type) "{'descr': " type ", 'fortran_order': False, 'shape': (2, 3), }"

#define NPY(name, dictionary, zeros) \
    static void name(forge *f)       \
    {                                \
        npy(f, dictionary, (zeros)); \
    }
NPY(product, SHAPE("(4294967296, 4294967296)"), 80)
NPY(product_of_zero, SHAPE("(0, 4294967296, 4294967296)"), 0)
NPY(square, SHAPE("(65536, 65536)"), 80)
NPY(objects, TYPE("'|O'"), 48)
NPY(structured, TYPE("[('a', '<f8'), ('b', '<i4')]"), 48)
NPY(complexes, TYPE("'<c16'"), 96)
NPY(unicode, TYPE("'<U4'"), 95)
NPY(strings, TYPE("'|S8'"), 47)
NPY(dates, TYPE("'<M8[us]'"), 48)
NPY(long_double, TYPE("'<f16'"), 96)
NPY(typeless, TYPE("''"), 48)
NPY(number_type, TYPE("8"), 48)
NPY(shorter, GOOD, 47)
NPY(longer, GOOD, 49)
NPY(negative, SHAPE("(-2, 3)"), 48)
NPY(fraction, SHAPE("(2.0, 3)"), 48)
NPY(beyond_int64, SHAPE("(9223372036854775808,)"), 48)
NPY(not_a_tuple, SHAPE("[2, 3]"), 48)
NPY(one_in_brackets, SHAPE("(6)"), 48)
NPY(missing_key, "{'descr': '<f8', 'fortran_order': False, }", 48)
NPY(double_key, "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 48)
NPY(extra_key, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'x': 1, }", 48)
NPY(unterminated, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), ", 48)
NPY(not_a_dictionary, "['descr', '<f8', 'fortran_order', False, 'shape', (2, 3)]", 48)
NPY(rubbish_behind, GOOD " and more", 48)
NPY(neither_true_nor_false, "{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 3), }", 48)
NPY(empty_dictionary, "{}", 48)
NPY(no_header, "", 48)

static void many_axes(forge *f)
{
    forge_npy(f, 1,
              SHAPE("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)") "\n", 8);
}

static void header_beyond_file(forge *f)
{
    npy(f, GOOD, 0);
    f->b[8] = 0xff;
    f->b[9] = 0xff;
}

static void header_of_nothing(forge *f)
{
    forge_npy(f, 1, "", 48);
}

static void long_header(forge *f)
{
    forge_npy(f, 2, GOOD "\n", 200000);
    f->b[10] = 2; // 131072 bytes more
}

static void endless_header(forge *f)
{
    forge_npy(f, 2, GOOD "\n", 48);
    memset(f->b + 8, 0xff, 4);
}

static void bad_magic(forge *f)
{
    npy(f, GOOD, 48);
    f->b[1] = 'P';
}

static void version_four(forge *f)
{
    npy(f, GOOD, 48);
    f->b[6] = 4;
}

static void no_newline(forge *f)
{
    npy(f, GOOD, 48);
    f->b[10 + HEADER - 1] = ' ';
}

static void bad_bool(forge *f)
{
    npy(f, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", 4);
    f->b[f->n - 1] = 7;
}

static void nothing(forge *f)
{
    (void)f;
}

static void one_byte(forge *f)
{
    forge_put(f, "\x93", 1);
}

static void half_a_prefix(forge *f)
{
    forge_put(f, "\x93NUMPY\2\0\4\0", 10);
}

// ---- .npz ----

static forge payload; // an honest .npy of 176 bytes

static void zip_of(forge *f, forge_member a, forge_end end)
{
    forge_zip(f, &a, 1, end);
}

static void wrong_crc(forge *f)
{
    forge_member m = forge_stored("x.npy", &payload);
    m.crc ^= 1;
    zip_of(f, m, (forge_end){0});
}

static void wrong_crc_deflated(forge *f)
{
    forge packed = {0};
    zip_of(f, forge_deflated("x.npy", &packed, 68000, false), (forge_end){0}); // 17 MB of zeros
    forge_clear(&packed);
}

static void stored_sizes_differ(forge *f)
{
    forge_member m = forge_stored("x.npy", &payload);
    m.lie_size = 1000;
    zip_of(f, m, (forge_end){0});
}

static void member_beyond_file(forge *f)
{
    forge_member m = forge_stored("x.npy", &payload);
    m.lie_size = m.lie_packed = 100000;
    zip_of(f, m, (forge_end){0});
}

static void ten_gigabytes(forge *f)
{
    forge packed = {0};
    forge_member m = forge_deflated("x.npy", &packed, 100, false);
    m.lie_size = UINT64_C(10) << 30;
    m.zip64 = true;
    zip_of(f, m, (forge_end){0});
    forge_clear(&packed);
}

static void bomb(forge *f)
{
    forge packed = {0};
    zip_of(f, forge_deflated("x.npy", &packed, 1 << 22, false), (forge_end){0}); // 1 GiB
    forge_clear(&packed);
}

static void bomb_of_many(forge *f)
{
    forge packed = {0};
    forge_member members[20];
    static char names[20][16];
    members[0] = forge_deflated("x.npy", &packed, 50000, false);
    for (int i = 0; i < 20; i++) {
        members[i] = members[0];
        snprintf(names[i], sizeof names[i], "%d.npy", i);
        members[i].name = names[i];
    }
    forge_zip(f, members, 20, (forge_end){0});
    forge_clear(&packed);
}

// A bomb that hides: promises 1 MB, unpacks to 20.
static void more_than_promised(forge *f)
{
    forge packed = {0};
    forge_member m = forge_deflated("x.npy", &packed, 80000, false);
    m.lie_size = 128 + 1 + 258 * 4000;
    memcpy((unsigned char *)packed.b + 5 + 10,
           "{'descr': '|u1', 'fortran_order': False, "
           "'shape': (1032001,), }       ",
           70);
    zip_of(f, m, (forge_end){0});
    forge_clear(&packed);
}

static void less_than_promised(forge *f)
{
    forge packed = {0};
    forge_member m = forge_deflated("x.npy", &packed, 4000, false);
    forge_put(&packed, NULL, 20000); // so that the promise is not absurd
    m.bytes = packed.b;
    m.packed = packed.n;
    m.lie_size = 128 + 1 + 258 * 80000;
    memcpy((unsigned char *)packed.b + 5 + 10,
           "{'descr': '|u1', 'fortran_order': False, "
           "'shape': (20640001,), }      ",
           70);
    zip_of(f, m, (forge_end){0});
    forge_clear(&packed);
}

static void header_denies_size(forge *f)
{
    forge packed = {0};
    forge_member m = forge_deflated("x.npy", &packed, 80000, false);
    m.lie_size = 1000000;
    zip_of(f, m, (forge_end){0});
    forge_clear(&packed);
}

static void overlapping(forge *f)
{
    // The second directory entry points at the first member: one body, counted twice.
    forge_member members[2] = {forge_stored("x.npy", &payload), forge_stored("y.npy", &payload)};
    members[1].lie_offset = 1;
    members[1].name = "x.npy";
    forge_zip(f, members, 2, (forge_end){0});
}

static void nested(forge *f)
{
    // A stored member that has a second member within, as in the quoted-header bombs.
    forge inner = {0};
    const forge_member y = forge_stored("y.npy", &payload);
    forge_local(&inner, &y);
    forge_member members[2] = {forge_stored("x.npy", &inner), y};
    members[1].lie_offset = 1 + 30 + 5;
    forge_zip(f, members, 2, (forge_end){0});
    forge_clear(&inner);
}

static void inside_directory(forge *f)
{
    forge_member m = forge_stored("x.npy", &payload);
    m.lie_offset = 1 + 200;
    zip_of(f, m, (forge_end){0});
}

static void same_names(forge *f)
{
    const forge_member members[2] = {forge_stored("x.npy", &payload),
                                     forge_stored("x.npy", &payload)};
    forge_zip(f, members, 2, (forge_end){0});
}

static void encrypted(forge *f)
{
    forge_member m = forge_stored("x.npy", &payload);
    m.flags = 1;
    zip_of(f, m, (forge_end){0});
}

static void unknown_method(forge *f)
{
    forge_member m = forge_stored("x.npy", &payload);
    m.method = 99;
    zip_of(f, m, (forge_end){0});
}

static void deflate_garbage(forge *f)
{
    static unsigned char garbage[4000];
    memset(garbage, 0xa5, sizeof garbage);
    zip_of(f,
           (forge_member){.name = "x.npy",
                          .bytes = garbage,
                          .packed = sizeof garbage,
                          .size = 100000,
                          .method = 8},
           (forge_end){0});
}

static void bad_member(forge *f)
{
    forge inner = {0};
    square(&inner);
    zip_of(f, forge_stored("x.npy", &inner), (forge_end){0});
    forge_clear(&inner);
}

static void text_member(forge *f)
{
    forge inner = {0};
    forge_put(&inner, "hello", 5);
    zip_of(f, forge_stored("x.npy", &inner), (forge_end){0});
    forge_clear(&inner);
}

static void no_arrays(forge *f)
{
    zip_of(f, forge_stored("readme.txt", &payload), (forge_end){0});
}

static void empty_zip(forge *f)
{
    forge_zip(f, NULL, 0, (forge_end){0});
}

static void not_a_zip(forge *f)
{
    npy(f, GOOD, 48);
}

static void cut_directory(forge *f)
{
    zip_of(f, forge_stored("x.npy", &payload), (forge_end){0});
    f->n -= 30;
}

static void gap_in_directory(forge *f)
{
    zip_of(f, forge_stored("x.npy", &payload), (forge_end){0});
    const size_t end = f->n - 22;
    memmove(f->b + end - 8, f->b + end, 22);
    f->n -= 8;
}

static void too_many(forge *f)
{
    zip_of(f, forge_stored("x.npy", &payload), (forge_end){.lie_count = 1});
}

static void too_few(forge *f)
{
    const forge_member members[2] = {forge_stored("x.npy", &payload),
                                     forge_stored("y.npy", &payload)};
    forge_zip(f, members, 2, (forge_end){.lie_count = -1});
}

static void far_too_many(forge *f)
{
    zip_of(f, forge_stored("x.npy", &payload),
           (forge_end){.zip64 = true, .lie_count64 = UINT64_C(1) << 40});
}

static void wide_offset(forge *f)
{
    zip_of(f, forge_stored("x.npy", &payload),
           (forge_end){.zip64 = true, .lie_offset64 = UINT64_C(1) << 50});
}

static void wide_pointer(forge *f)
{
    zip_of(f, forge_stored("x.npy", &payload),
           (forge_end){.zip64 = true, .lie_at64 = UINT64_C(0xffffffffffff0000)});
}

static void wide_sizes_missing(forge *f)
{
    forge_member m = forge_stored("x.npy", &payload);
    m.lie_size = m.lie_packed = 0xffffffff;
    zip_of(f, m, (forge_end){0});
}

static void wide_sizes_huge(forge *f)
{
    forge_member m = forge_stored("x.npy", &payload);
    m.zip64 = true;
    m.lie_size = m.lie_packed = UINT64_C(0x7fffffffffffffff);
    zip_of(f, m, (forge_end){0});
}

static void directory_elsewhere(forge *f)
{
    zip_of(f, forge_stored("x.npy", &payload), (forge_end){.lie_offset = 1000000});
}

static void name_with_zero(forge *f)
{
    zip_of(f, forge_stored("x.npy", &payload), (forge_end){0});
    f->b[f->n - 22 - 4] = 0;
}

// ---- .h5 ----

static void from_tree(forge *f, const char *name)
{
    const char *source = getenv("PLUMB_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/io/malformed/%s.h5", source ? source : ".", name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    unsigned char bytes[8192];
    forge_put(f, bytes, fread(bytes, 1, sizeof bytes, in));
    fclose(in);
}

#define H5(name, file)         \
    static void name(forge *f) \
    {                          \
        from_tree(f, file);    \
    }
H5(h5_huge, "huge")
H5(h5_huge_chunked, "huge-chunked")
H5(h5_overflow, "overflow")
H5(h5_external_storage, "external-storage")
H5(h5_external_link, "external-link")
H5(h5_soft_link, "soft-link")
H5(h5_virtual, "virtual")
H5(h5_text, "text")
H5(h5_fixed_text, "fixed-text")
H5(h5_complex, "complex")
H5(h5_records, "records")
H5(h5_enumeration, "enumeration")
H5(h5_ragged, "ragged")
H5(h5_reference, "reference")
H5(h5_lzf, "lzf")
H5(h5_scaleoffset, "scaleoffset")
H5(h5_no_data, "no-data")
H5(h5_no_dataset, "no-dataset")
H5(h5_damaged_gzip, "damaged-gzip")
H5(h5_wrong_sum, "wrong-sum")
H5(h5_loop, "loop")

static void h5_cut(forge *f)
{
    from_tree(f, "honest");
    f->n -= 1;
}

static void h5_cut_short(forge *f)
{
    from_tree(f, "honest");
    f->n = 40;
}

static void h5_garbage(forge *f)
{
    from_tree(f, "honest");
    memset(f->b + 8, 0xa5, 88);
}

static void h5_garbage_inside(forge *f)
{
    from_tree(f, "honest");
    memset(f->b + 96, 0xa5, 700);
}

static void h5_end_lies(forge *f)
{
    from_tree(f, "honest");
    f->b[46] = 1; // the end of the file at 2^48
}

static void h5_narrow(forge *f)
{
    from_tree(f, "honest");
    f->b[13] = 3;
}

static void h5_wide_version(forge *f)
{
    from_tree(f, "honest");
    f->b[8] = 9;
}

static void h5_zeros(forge *f)
{
    forge_put(f, NULL, 5000);
}

// ---- the table ----

// clang-format off
static const lie lies[] = {
    {"empty file",                     ".npy", nothing,               "does not start like"},
    {"one byte",                       ".npy", one_byte,              "does not start like"},
    {"half a prefix",                  ".npy", half_a_prefix,         "inside the header"},
    {"bad magic",                      ".npy", bad_magic,             "does not start like"},
    {"version 4",                      ".npy", version_four,          "version 4.0"},
    {"header beyond the file",         ".npy", header_beyond_file,    "the file ends after"},
    {"header of length 0",             ".npy", header_of_nothing,     "not a dictionary"},
    {"header of blanks",               ".npy", no_header,             "not a dictionary"},
    {"header beyond 64 KiB",           ".npy", long_header,           "at most 65536"},
    {"header of 4 GiB",                ".npy", endless_header,        "at most 65536"},
    {"header without a newline",       ".npy", no_newline,            "newline"},
    {"product overflows",              ".npy", product,               "more than any memory"},
    {"product overflows behind a 0",   ".npy", product_of_zero,       "more than any memory"},
    {"32 GiB in 80 bytes",             ".npy", square,                "(65536, 65536)"},
    {"Python objects",                 ".npy", objects,               "Python objects"},
    {"structured",                     ".npy", structured,            "structured"},
    {"complex",                        ".npy", complexes,             "complex"},
    {"unicode",                        ".npy", unicode,               "95 are there"},
    {"byte strings",                   ".npy", strings,               "47 are there"},
    {"dates",                          ".npy", dates,                 "dates"},
    {"long double",                    ".npy", long_double,           "f16"},
    {"empty dtype",                    ".npy", typeless,              "dtype"},
    {"a number as dtype",              ".npy", number_type,           "descr"},
    {"one byte short",                 ".npy", shorter,               "and 47 are there"},
    {"one byte long",                  ".npy", longer,                "1 bytes more"},
    {"negative axis",                  ".npy", negative,              "shape"},
    {"fractional axis",                ".npy", fraction,              "shape"},
    {"axis beyond int64",              ".npy", beyond_int64,          "shape"},
    {"33 axes",                        ".npy", many_axes,             "more than 32 axes"},
    {"shape is a list",                ".npy", not_a_tuple,           "tuple"},
    {"shape is a number",              ".npy", one_in_brackets,       "tuple"},
    {"missing key",                    ".npy", missing_key,           "lacks \"shape\""},
    {"double key",                     ".npy", double_key,            "twice"},
    {"extra key",                      ".npy", extra_key,             "unknown key"},
    {"unterminated dictionary",        ".npy", unterminated,          "dictionary"},
    {"empty dictionary",               ".npy", empty_dictionary,      "lacks"},
    {"not a dictionary",               ".npy", not_a_dictionary,      "not a dictionary"},
    {"rubbish behind the dictionary",  ".npy", rubbish_behind,        "does not end"},
    {"order neither true nor false",   ".npy", neither_true_nor_false, "fortran_order"},
    {"a bool of 7",                    ".npy", bad_bool,              "neither 0 nor 1"},

    {"wrong checksum",                 ".npz", wrong_crc,             "CRC"},
    {"wrong checksum of 17 MB",        ".npz", wrong_crc_deflated,    "CRC"},
    {"stored sizes differ",            ".npz", stored_sizes_differ,   "said to be 1000"},
    {"member beyond the file",         ".npz", member_beyond_file,    "into the directory"},
    {"10 GiB from 200 bytes",          ".npz", ten_gigabytes,         "more than deflate can do"},
    {"bomb of 1 GiB",                  ".npz", bomb,                  "zip bomb"},
    {"bomb of twenty members",         ".npz", bomb_of_many,          "zip bomb"},
    {"unpacks to more than promised",  ".npz", more_than_promised,    "more bytes than"},
    {"unpacks to less than promised",  ".npz", less_than_promised,    "CRC"},
    {"header denies the size",         ".npz", header_denies_size,    "are there"},
    {"overlapping members",            ".npz", overlapping,           "overlap"},
    {"member within a member",         ".npz", nested,                "overlap"},
    {"member in the directory",        ".npz", inside_directory,      "outside"},
    {"two members of one name",        ".npz", same_names,            "two members called"},
    {"encrypted",                      ".npz", encrypted,             "encrypted"},
    {"unknown method",                 ".npz", unknown_method,        "method 99"},
    {"deflate garbage",                ".npz", deflate_garbage,       ""},
    {"member is a lying npy",          ".npz", bad_member,            "(65536, 65536)"},
    {"member is text",                 ".npz", text_member,           "does not start like"},
    {"no npy inside",                  ".npz", no_arrays,             "no .npy member"},
    {"empty zip",                      ".npz", empty_zip,             "no .npy member"},
    {"not a zip",                      ".npz", not_a_zip,             "not a zip"},
    {"empty file",                     ".npz", nothing,               "not a zip"},
    {"directory is cut",               ".npz", cut_directory,         "not a zip"},
    {"directory has a gap",            ".npz", gap_in_directory,      "directory"},
    {"count one too many",             ".npz", too_many,              ""},
    {"count one too few",              ".npz", too_few,               "goes on after"},
    {"count of 2^40",                  ".npz", far_too_many,          "members"},
    {"zip64 offset outside",           ".npz", wide_offset,           "directory"},
    {"zip64 pointer outside",          ".npz", wide_pointer,          "zip64"},
    {"zip64 sizes missing",            ".npz", wide_sizes_missing,    "zip64"},
    {"zip64 sizes of 2^63",            ".npz", wide_sizes_huge,       "into the directory"},
    {"directory elsewhere",            ".npz", directory_elsewhere,   "directory"},
    {"a zero in the name",             ".npz", name_with_zero,        "name"},

    {"empty file",                     ".h5",  nothing,               "not an HDF5"},
    {"zeros",                          ".h5",  h5_zeros,              "not an HDF5"},
    {"not HDF5",                       ".hdf5", not_a_zip,            "not an HDF5"},
    {"cut by one byte",                ".h5",  h5_cut,                "superblock promises"},
    {"cut in the superblock",          ".h5",  h5_cut_short,          "superblock"},
    {"garbage superblock",             ".h5",  h5_garbage,            "superblock"},
    {"garbage behind the superblock",  ".h5",  h5_garbage_inside,     ""},
    {"end of file lies",               ".h5",  h5_end_lies,           "superblock promises"},
    {"addresses of 3 bytes",           ".h5",  h5_narrow,             "addresses"},
    {"superblock of version 9",        ".h5",  h5_wide_version,       "version 9"},
    {"128 GiB in 1400 bytes",          ".h5",  h5_huge,               "stores 0"},
    {"8 TiB of chunks",                ".h5",  h5_huge_chunked,       "stores 0"},
    {"2^80 numbers",                   ".h5",  h5_overflow,           "any memory"},
    {"external storage",               ".h5",  h5_external_storage,   "other files"},
    {"external link",                  ".h5",  h5_external_link,      "no dataset"},
    {"soft link to itself",            ".h5",  h5_soft_link,          "no dataset"},
    {"virtual",                        ".h5",  h5_virtual,            "virtual"},
    {"text",                           ".h5",  h5_text,               "text"},
    {"fixed text",                     ".h5",  h5_fixed_text,         "text"},
    {"complex",                        ".h5",  h5_complex,            "records"},
    {"records",                        ".h5",  h5_records,            "records"},
    {"enumeration",                    ".h5",  h5_enumeration,        "enumeration"},
    {"ragged",                         ".h5",  h5_ragged,             "different lengths"},
    {"reference",                      ".h5",  h5_reference,          "references"},
    {"packed by lzf",                  ".h5",  h5_lzf,                "lzf"},
    {"packed by scaleoffset",          ".h5",  h5_scaleoffset,        "scaleoffset"},
    {"no data space",                  ".h5",  h5_no_data,            "no shape"},
    {"no dataset",                     ".h5",  h5_no_dataset,         "no dataset"},
    {"groups in a loop",               ".h5",  h5_loop,               "no dataset"},
    {"gzip garbage",                   ".h5",  h5_damaged_gzip,       "cannot be read"},
    {"wrong checksum",                 ".h5",  h5_wrong_sum,          "cannot be read"},
};
// clang-format on
enum { LIES = sizeof lies / sizeof *lies };

#endif
