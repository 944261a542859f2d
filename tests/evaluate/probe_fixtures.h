// SPDX-License-Identifier: MIT
// Probes in memory and in a file, for tests that break them.
#ifndef TESTS_EVALUATE_PROBE_FIXTURES_H
#define TESTS_EVALUATE_PROBE_FIXTURES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plumb/plumb.h"
#include "support/simulate.h"
#include "support/test.h"

enum { PROBES_IMAGE = 32, PROBES_STEPS = PLUMB_ROOM_STEPS };
#define PROBES_FRAME ((int64_t)3 * PROBES_IMAGE * PROBES_IMAGE)

typedef struct probes {
    int64_t tuples;
    uint8_t *frames; // (tuples, 4, 15, 32, 32, 3)
    int64_t *cut;    // (tuples, 2)
} probes;

static inline probes probes_make(const char *name, int64_t tuples)
{
    const plumb_world *room = NULL;
    CHECK_OK(plumb_world_find(&room, name));
    probes p = {tuples, malloc((size_t)(tuples * 4 * PROBES_STEPS * PROBES_FRAME)),
                malloc((size_t)tuples * 2 * sizeof(int64_t))};
    for (int64_t i = 0; i < tuples; i++) {
        const plumb_world_item item = {.frames = p.frames + i * 4 * PROBES_STEPS * PROBES_FRAME,
                                       .cut = p.cut + 2 * i};
        CHECK_OK(simulate_room(&item, room, 21, i, PROBES_IMAGE));
    }
    return p;
}

static inline void probes_free(probes *p)
{
    free(p->frames);
    free(p->cut);
}

static inline uint8_t *probes_at(const probes *p, int64_t tuple, int64_t clip, int64_t t)
{
    return p->frames + ((tuple * 4 + clip) * PROBES_STEPS + t) * PROBES_FRAME;
}

static inline plumb_array probes_array(const probes *p)
{
    return plumb_array_view(p->frames, PLUMB_UINT8, 6,
                            (int64_t[]){p->tuples, 4, PROBES_STEPS, PROBES_IMAGE, PROBES_IMAGE, 3});
}

#endif
