// SPDX-License-Identifier: MIT
// Arrays: a pointer, a type and a shape. plumb never takes ownership of an array of the caller.
#ifndef PLUMB_ARRAY_H
#define PLUMB_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PLUMB_MAX_DIMS = 32 }; ///< Maximum number of axes, as in NumPy 1.

// One list makes the enum, the sizes and the NumPy letters: name, NumPy's name, bytes, kind as
// NumPy writes it.
// clang-format off
#define PLUMB_DTYPE_LIST(X)  \
    X(FLOAT64, "f8", 8, 'f') \
    X(FLOAT32, "f4", 4, 'f') \
    X(FLOAT16, "f2", 2, 'f') \
    X(INT64, "i8", 8, 'i')   \
    X(INT32, "i4", 4, 'i')   \
    X(INT16, "i2", 2, 'i')   \
    X(INT8, "i1", 1, 'i')    \
    X(UINT64, "u8", 8, 'u')  \
    X(UINT32, "u4", 4, 'u')  \
    X(UINT16, "u2", 2, 'u')  \
    X(UINT8, "u1", 1, 'u')   \
    X(BOOL, "bool", 1, 'b')
// clang-format on

/// The type of one element. FLOAT16 is IEEE binary16; BOOL is one byte, 0 or 1.
typedef enum plumb_dtype {
#define PLUMB_DTYPE_ENUM(name, text, bytes, kind) PLUMB_##name,
    PLUMB_DTYPE_LIST(PLUMB_DTYPE_ENUM)
#undef PLUMB_DTYPE_ENUM
} plumb_dtype;

/// A view of numbers in memory: native byte order, row-major (C order), no gaps.
/// A scalar has ndim 0.
typedef struct plumb_array {
    void *data;                    ///< First element. May be NULL if the array is empty.
    plumb_dtype dtype;             ///< Type of the elements.
    int ndim;                      ///< Number of axes, 0 to PLUMB_MAX_DIMS.
    int64_t shape[PLUMB_MAX_DIMS]; ///< Length of each axis, at least 0.
} plumb_array;

/// Number of bytes of one element.
PLUMB_API size_t plumb_dtype_size(plumb_dtype dtype);

/// The name of NumPy: "f8", "u1", "bool".
PLUMB_API const char *plumb_dtype_name(plumb_dtype dtype);

/// Number of elements; 1 for a scalar, 0 if an axis is empty.
PLUMB_API int64_t plumb_array_count(const plumb_array *array);

/// Makes an array of `ndim` axes over memory of the caller.
PLUMB_API plumb_array plumb_array_view(void *data, plumb_dtype dtype, int ndim,
                                       const int64_t *shape);

/// Converts the elements first .. first + count - 1, in memory order, to double. Integers beyond
/// 2^53 are rounded. The range must be inside the array.
PLUMB_API void plumb_array_to_double(double *out, const plumb_array *array, int64_t first,
                                     int64_t count);

/// Writes the shape, "(64, 60, 8)", to `text` and returns it; it is cut if `size` is too small.
PLUMB_API const char *plumb_array_shape_string(char *text, size_t size, const plumb_array *array);

#ifdef __cplusplus
}
#endif
#endif
