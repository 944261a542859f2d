// SPDX-License-Identifier: MIT
// The .npy reader and writer alone, on bytes in memory.
#include "io/npy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/fixtures.h"
#include "io/reorder.h"
#include "support/test.h"

static plumb_status from_bytes(void *context, void *out, size_t bytes)
{
    memcpy(out, context, bytes);
    return PLUMB_OK;
}

static plumb_status read_bytes(plumb_array *out, arena *mem, const forge *f)
{
    npy_header header;
    const plumb_status st = npy_parse(&header, f->b, f->n, f->n, "bytes");
    return st ? st : npy_load(out, mem, &header, from_bytes, f->b + header.offset, "bytes");
}

#define HEADER(type, fortran, shape) \
    "{'descr': '" type "', 'fortran_order': " fortran ", 'shape': " shape ", }\n"

TEST(all_three_versions_are_read)
{
    for (int version = 1; version <= 3; version++) {
        forge f = {0};
        arena mem = {0};
        plumb_array a;
        forge_npy(&f, version, HEADER("<f8", "False", "(2, 3)"), 48);
        CHECK_OK(read_bytes(&a, &mem, &f));
        CHECK_EQUAL(a.ndim, 2);
        CHECK_EQUAL(a.shape[1], 3);
        arena_clear(&mem);
        forge_clear(&f);
    }
}

TEST(keys_come_in_any_order_and_spacing)
{
    static const char *const headers[] = {
        "{'shape': (2, 3), 'fortran_order': False, 'descr': '<f8'}\n",
        "{\"descr\":\"<f8\",\"shape\":(2,3),\"fortran_order\":False,}\n",
        "  {'descr' : '<f8' , 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , }      \n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }\n",
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        forge f = {0};
        arena mem = {0};
        plumb_array a;
        forge_npy(&f, 1, headers[i], 48);
        CHECK_OK(read_bytes(&a, &mem, &f));
        CHECK_EQUAL(a.shape[0] * 10 + a.shape[1], 23);
        arena_clear(&mem);
        forge_clear(&f);
    }
}

TEST(a_scalar_has_no_axes_and_an_empty_array_no_bytes)
{
    forge f = {0};
    arena mem = {0};
    plumb_array a;
    forge_npy(&f, 1, HEADER("<f4", "False", "()"), 4);
    CHECK_OK(read_bytes(&a, &mem, &f));
    CHECK_EQUAL(a.ndim, 0);
    CHECK_EQUAL(plumb_array_count(&a), 1);
    f.n = 0;
    forge_npy(&f, 1, HEADER("<f4", "True", "(3, 0, 5)"), 0);
    CHECK_OK(read_bytes(&a, &mem, &f));
    CHECK_EQUAL(plumb_array_count(&a), 0);
    arena_clear(&mem);
    forge_clear(&f);
}

TEST(the_other_byte_order_is_turned)
{
    forge f = {0};
    arena mem = {0};
    plumb_array a;
    forge_npy(&f, 1, HEADER(">i4", "False", "(2,)"), 8);
    f.b[f.n - 1] = 5;
    f.b[f.n - 8] = 1;
    CHECK_OK(read_bytes(&a, &mem, &f));
    const int32_t *x = a.data;
    CHECK_EQUAL(x[0], 1 << 24);
    CHECK_EQUAL(x[1], 5);
    arena_clear(&mem);
    forge_clear(&f);
}

TEST(fortran_order_becomes_row_major_at_any_number_of_axes)
{
    static const int64_t shapes[][5] = {
        {1, 1, 1, 1, 1}, {2, 3, 4, 5, 6}, {17, 1, 2, 1, 33}, {3, 40, 1, 1, 2}, {40, 1, 1, 1, 40}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int ndim = 1; ndim <= 5; ndim++)
            for (size_t size = 1; size <= 8; size *= 2) {
                const int64_t *shape = shapes[s];
                int64_t count = 1;
                for (int d = 0; d < ndim; d++) count *= shape[d];
                unsigned char *in = malloc((size_t)count * size);
                unsigned char *out = malloc((size_t)count * size);
                // Every element's bytes are its place in row-major order, modulo 251.
                for (int64_t i = 0; i < count; i++) {
                    int64_t rest = i, place = 0, index[5];
                    for (int d = 0; d < ndim; d++) { // first axis fastest
                        index[d] = rest % shape[d];
                        rest /= shape[d];
                    }
                    for (int d = 0; d < ndim; d++) place = place * shape[d] + index[d];
                    memset(in + (size_t)i * size, (int)(place % 251), size);
                }
                reorder_to_rows(out, in, size, ndim, shape);
                bool right = true;
                for (int64_t i = 0; i < count * (int64_t)size; i++)
                    right &= out[i] == i / (int64_t)size % 251;
                CHECK(right);
                free(in);
                free(out);
            }
}

TEST(what_is_written_is_what_numpy_writes)
{
    const int64_t shape[] = {3, 4};
    const plumb_array a = plumb_array_view(NULL, PLUMB_FLOAT64, 2, shape);
    unsigned char text[NPY_MAX_WRITTEN];
    CHECK_EQUAL(npy_format_header(text, &a), 128);
    // NumPy, too, writes in the byte order of the machine.
    char want[] = "\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }";
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) *strchr(want + 10, '<') = '>';
    CHECK(memcmp(text, want, sizeof want - 1) == 0);
    CHECK_EQUAL(text[127], '\n');
    CHECK_EQUAL(text[126], ' ');
}

TEST(every_header_that_is_written_can_be_read)
{
    int64_t shape[PLUMB_MAX_DIMS];
    for (int ndim = 0; ndim <= PLUMB_MAX_DIMS; ndim++)
        for (int type = 0; type <= PLUMB_BOOL; type++) {
            for (int d = 0; d < ndim; d++) shape[d] = d == 0 ? 0 : 1;
            if (ndim > 1) shape[1] = INT64_MAX / 8;
            const plumb_array a = plumb_array_view(NULL, (plumb_dtype)type, ndim, shape);
            unsigned char text[NPY_MAX_WRITTEN];
            const size_t size = npy_format_header(text, &a);
            CHECK_EQUAL(size % 64, 0);
            npy_header h;
            const size_t total = size + (ndim ? 0 : plumb_dtype_size(a.dtype));
            CHECK_OK(npy_parse(&h, text, size, total, "text"));
            CHECK_EQUAL(h.dtype, a.dtype);
            CHECK_EQUAL(h.ndim, ndim);
            CHECK(memcmp(h.shape, shape, (size_t)ndim * sizeof *shape) == 0);
            CHECK(!h.swapped && !h.fortran);
        }
}

TEST(a_header_cut_anywhere_is_refused)
{
    forge f = {0};
    forge_npy(&f, 2, HEADER("<f8", "False", "(2, 3)"), 48);
    for (size_t n = 0; n < f.n; n++) {
        npy_header h;
        CHECK_FAILS(npy_parse(&h, f.b, n, n, "cut"), PLUMB_EFORMAT, "cut: ");
    }
    forge_clear(&f);
}
