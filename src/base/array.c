// SPDX-License-Identifier: MIT
// Public arrays: element types, views, and conversion to double.
#include "base/array.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

size_t plumb_dtype_size(plumb_dtype dtype)
{
    // In the order of plumb_dtype.
    static const size_t sizes[] = {
#define SIZE(name, text, bytes, kind) bytes,
        PLUMB_DTYPE_LIST(SIZE)
#undef SIZE
    };
    return sizes[dtype];
}

const char *plumb_dtype_name(plumb_dtype dtype)
{
    static const char *const names[] = {"f8", "f4", "f2", "i8", "i4", "i2",
                                        "i1", "u8", "u4", "u2", "u1", "bool"};
    return names[dtype];
}

int64_t plumb_array_count(const plumb_array *array)
{
    if (!array) return 0;
    int64_t count = 1;
    for (int i = 0; i < array->ndim; i++) count *= array->shape[i];
    return count;
}

plumb_array plumb_array_view(void *data, plumb_dtype dtype, int ndim, const int64_t *shape)
{
    // A wrong shape gives a view of one element, not a crash.
    if (!shape || ndim < 0 || ndim > PLUMB_MAX_DIMS) ndim = 0;
    plumb_array view = {.data = data, .dtype = dtype, .ndim = ndim};
    for (int i = 0; i < ndim; i++) view.shape[i] = shape[i];
    return view;
}

// IEEE binary16. Subnormals are exact in double, so one multiplication rebuilds them.
static double half_to_double(uint16_t half)
{
    const int exponent = (half >> 10) & 31;
    const int fraction = half & 1023;
    double value;
    if (exponent == 31) value = fraction ? __builtin_nan("") : __builtin_inf();
    else if (exponent == 0) value = fraction * 0x1p-24;
    else value = __builtin_ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -value : value;
}

// One loop per element type.
void plumb_array_to_double(double *out, const plumb_array *array, int64_t first, int64_t count)
{
    if (!out || !array) return;
#define WIDEN(type)                                                 \
    do {                                                            \
        const type *in = (const type *)array->data + first;         \
        for (int64_t i = 0; i < count; i++) out[i] = (double)in[i]; \
    } while (0)
    switch (array->dtype) {
    case PLUMB_FLOAT64:
        memcpy(out, (const double *)array->data + first, (size_t)count * sizeof *out);
        break;
    case PLUMB_FLOAT32: WIDEN(float); break;
    case PLUMB_FLOAT16: {
        const uint16_t *in = (const uint16_t *)array->data + first;
        for (int64_t i = 0; i < count; i++) out[i] = half_to_double(in[i]);
        break;
    }
    case PLUMB_INT64: WIDEN(int64_t); break;
    case PLUMB_INT32: WIDEN(int32_t); break;
    case PLUMB_INT16: WIDEN(int16_t); break;
    case PLUMB_INT8: WIDEN(int8_t); break;
    case PLUMB_UINT64: WIDEN(uint64_t); break;
    case PLUMB_UINT32: WIDEN(uint32_t); break;
    case PLUMB_UINT16: WIDEN(uint16_t); break;
    case PLUMB_UINT8:
    case PLUMB_BOOL: WIDEN(uint8_t); break;
    }
#undef WIDEN
}

const char *plumb_array_shape_string(char *text, size_t size, const plumb_array *array)
{
    if (!text || !size) return "";
    if (!array) {
        text[0] = 0;
        return text;
    }
    size_t used = (size_t)snprintf(text, size, "(");
    for (int i = 0; i < array->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? ", " : "",
                                 (long long)array->shape[i]);
    // A shape of one axis is printed as Python does: (3,).
    if (used < size) snprintf(text + used, size - used, array->ndim == 1 ? ",)" : ")");
    return text;
}

bool array_count_checked(int64_t *count, const int64_t *shape, int ndim, size_t item_size)
{
    // An empty axis makes the product 0. So overflow is checked over the other axes: the shape
    // (0, 2^62, 2^62) is as invalid as (2^62, 2^62).
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) return false;
        if (shape[i] == 0) empty = true;
        else if (__builtin_mul_overflow(product, shape[i], &product)) return false;
    }
    int64_t bytes;
    if (__builtin_mul_overflow(product, (int64_t)item_size, &bytes)) return false;
    *count = empty ? 0 : product;
    return true;
}

plumb_status array_create(plumb_array *out, arena *mem, plumb_dtype dtype, int ndim,
                          const int64_t *shape)
{
    int64_t count;
    if (!array_count_checked(&count, shape, ndim, plumb_dtype_size(dtype)))
        return fail(PLUMB_EMEMORY, "an array of this shape is more than memory can hold");
    void *data = arena_alloc(mem, count, plumb_dtype_size(dtype));
    if (!data) return PLUMB_EMEMORY;
    *out = plumb_array_view(data, dtype, ndim, shape);
    return PLUMB_OK;
}

plumb_status array_reject_nonfinite(const plumb_array *array, const char *name, int64_t count,
                                    int64_t first, const char *advice)
{
    double value;
    plumb_array_to_double(&value, array, first, 1);
    plumb_array at = *array; // its shape becomes the index, to be printed like one
    for (int i = array->ndim - 1; i >= 0; i--) {
        at.shape[i] = first % array->shape[i];
        first /= array->shape[i];
    }
    char where[256];
    return fail(PLUMB_ENUMERIC, "%s has %lld value%s that %s not finite, the first %s at %s%s",
                name, (long long)count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
                value != value ? "a NaN" : "an infinity",
                plumb_array_shape_string(where, sizeof where, &at), advice);
}

plumb_status array_copy_steps(plumb_array *out, arena *mem, const plumb_array *array, int64_t first,
                              int64_t count)
{
    const int64_t trajectories = array->shape[0], steps = array->shape[1];
    int64_t shape[PLUMB_MAX_DIMS];
    size_t step = plumb_dtype_size(array->dtype);
    for (int k = 0; k < array->ndim; k++) shape[k] = array->shape[k];
    for (int k = 2; k < array->ndim; k++) step *= (size_t)array->shape[k];
    shape[1] = count;
    char *copy = ARENA_ALLOC(mem, char, trajectories *count *(int64_t)step + 1);
    if (!copy) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < trajectories; i++)
        memcpy(copy + (size_t)(i * count) * step,
               (const char *)array->data + (size_t)(i * steps + first) * step,
               (size_t)count * step);
    *out = plumb_array_view(copy, array->dtype, array->ndim, shape);
    return PLUMB_OK;
}

const double *array_as_doubles(arena *mem, const plumb_array *array)
{
    // Doubles are not copied: the result points to the data of the array.
    if (array->dtype == PLUMB_FLOAT64) return array->data;
    const int64_t count = plumb_array_count(array);
    double *copy = ARENA_ALLOC(mem, double, count);
    if (copy) plumb_array_to_double(copy, array, 0, count);
    return copy;
}

double array_white_level(plumb_dtype dtype)
{
    // Images are u1, u2, floats or bool; other integers have no white.
    if (dtype == PLUMB_UINT8) return 255.0;
    if (dtype == PLUMB_UINT16) return 65535.0;
    return dtype == PLUMB_FLOAT64 || dtype == PLUMB_FLOAT32 || dtype == PLUMB_FLOAT16 ||
                   dtype == PLUMB_BOOL
               ? 1.0
               : 0.0;
}
