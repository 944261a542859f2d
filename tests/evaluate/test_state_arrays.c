// SPDX-License-Identifier: MIT
#include "evaluate/state_arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static bool same_bytes(const plumb_array *a, const plumb_array *b)
{
    const size_t bytes = (size_t)plumb_array_count(a) * plumb_dtype_size(a->dtype);
    return a->ndim == b->ndim && plumb_array_count(a) == plumb_array_count(b) &&
           !memcmp(a->data, b->data, bytes);
}

TEST(pieces_have_the_bits_of_the_whole)
{
    enum { COUNT = 2300, STEPS = 20 };
    trained_model trained;
    char run[4096];
    const char *source = getenv("PLUMB_SOURCE");
    CHECK(source != NULL);
    snprintf(run, sizeof run, "%s/zoo/bodies-mass-spring", source);
    CHECK_OK(trained_model_open_dynamics(&trained, run, NULL));
    const test_videos_request request = {.use = TEST_VIDEOS_MEASURE,
                                         .first = 7,
                                         .count = COUNT,
                                         .steps = STEPS,
                                         .rendered_steps = trained.model.dynamics->window};
    state_arrays pieces, whole;
    test_videos test;
    CHECK_OK(state_arrays_make(&pieces, &trained, &request));
    const size_t lean = arena_size(&trained.mem);
    CHECK_OK(test_videos_get(&test, &trained, &request));
    CHECK_OK(state_arrays_infer(&whole, &trained, &test, STEPS, 0));
    CHECK(same_bytes(&pieces.latent, &whole.latent));
    CHECK(same_bytes(&pieces.variance, &whole.variance));
    CHECK(same_bytes(&pieces.truth, &whole.truth));
    CHECK_EQUAL(pieces.truth.shape[0], COUNT);
    // The frames of the whole are what takes memory.
    CHECK(arena_size(&trained.mem) - lean > lean / 2);
    trained_model_close(&trained);
}
