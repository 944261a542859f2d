// SPDX-License-Identifier: MIT
// Any bytes as a record of Physical Concepts; what is read must have the size that its shape has.
#include <stdlib.h>

#include "dataset/physical_concepts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as(const physical_concepts_layout *p, const uint8_t *data, size_t size)
{
    buffer out = {0};
    for (int k = 0; k < PHYSICAL_CONCEPTS_FIELDS; k++) {
        const plumb_array a = physical_concepts_array(p, k);
        if (physical_concepts_read(&out, p, k, data, size, "x")) continue;
        if (out.size != (size_t)plumb_array_count(&a) * plumb_dtype_size(a.dtype)) abort();
    }
    buffer_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    physical_concepts_layout p = {0};
    bool is = false;
    if (!physical_concepts_detect(&p, &is, data, size, "x") && is) {
        if (p.steps < 1 || p.size < 1) abort();
        read_as(&p, data, size);
    }
    // As if another record had come first.
    const physical_concepts_layout clip = {.steps = 1, .size = 2},
                                   probe = {.probe = true, .steps = 2, .size = 1};
    read_as(&clip, data, size);
    read_as(&probe, data, size);
    return 0;
}
