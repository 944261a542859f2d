// SPDX-License-Identifier: MIT
// Probes hold what they promise, over thousands of tuples byte by byte; what is possible obeys
// mechanics; and an item is the same whoever asks for it.
#include <stdlib.h>
#include <string.h>

#include "base/parallel_for.h"
#include "math/rng.h"
#include "support/simulate.h"
#include "support/test.h"
#include "worlds/rooms/freeform.h"
#include "worlds/rooms/hard.h"
#include "worlds/rooms/probes.h"
#include "worlds/rooms/rigid.h"
#include "worlds/rooms/splice.h"

enum { STEPS = PLUMB_ROOM_STEPS, ROW = PLUMB_ROOM_OBJECT_SIZE, PLACES = PLUMB_ROOM_OBJECTS };

enum { ROOM_COUNT = 6 };

// Rooms come after the worlds with trajectories.
static const plumb_world *room_at(int64_t index)
{
    return plumb_world_at(plumb_world_count() - ROOM_COUNT + index);
}

// Rooms that are found by name and not counted.
static const char *const other_rooms[] = {"rooms/support",
                                          "rooms/collision",
                                          "rooms/continuity-hard",
                                          "rooms/directional-inertia-hard",
                                          "rooms/object-persistence-hard",
                                          "rooms/solidity-hard",
                                          "rooms/unchangeableness-hard"};

enum { ALL_ROOMS = ROOM_COUNT + (int)(sizeof other_rooms / sizeof *other_rooms) };

static const plumb_world *any_room_at(int64_t index)
{
    if (index < ROOM_COUNT) return room_at(index);
    const plumb_world *room;
    if (plumb_world_find(&room, other_rooms[index - ROOM_COUNT])) abort();
    return room;
}

typedef struct made {
    plumb_world_item item;
    int64_t cut[PLUMB_ROOM_CUTS];
    uint8_t event_counts[PLUMB_ROOM_EVENTS];
} made;

static made *make(const plumb_world *room, uint64_t seed, int64_t item, int64_t image)
{
    const size_t clips = (size_t)plumb_world_get_info(room)->clips, n = (size_t)image;
    made *m = calloc(1, sizeof *m);
    m->item = (plumb_world_item){.frames = malloc(clips * STEPS * n * n * 3),
                                 .mask = malloc(clips * STEPS * n * n),
                                 .camera = malloc(clips * STEPS * 6 * sizeof(float)),
                                 .objects = malloc(clips * STEPS * PLACES * ROW * sizeof(double)),
                                 .cut = m->cut,
                                 .event_counts = m->event_counts};
    if (simulate_room(&m->item, room, seed, item, image)) abort();
    return m;
}

static void drop(made *m)
{
    free(m->item.frames);
    free(m->item.mask);
    free(m->item.camera);
    free(m->item.objects);
    free(m);
}

static const double *object(const made *m, int64_t clip, int64_t t, int64_t which)
{
    return m->item.objects + ((clip * STEPS + t) * PLACES + which) * ROW;
}

// ---- probes ----

typedef struct sweep {
    const plumb_world *room;
    int64_t image;
    int *faults; // a tuple each
} sweep;

// Pictures, masks, cameras and objects of a tuple; what is wrong is counted.
static plumb_status check_tuple(void *context, int64_t item, int worker)
{
    (void)worker;
    const sweep *s = context;
    const int64_t frame = s->image * s->image;
    made *m = make(s->room, 5, item, s->image);
    int faults = room_find_splice_error(m->item.frames, STEPS, 3 * frame, true) >= 0;
    faults += room_find_splice_error(m->item.frames, STEPS, 3 * frame, false) >= 0;
    faults += room_find_splice_error(m->item.mask, STEPS, frame, true) >= 0;
    faults += room_find_splice_error(m->item.camera, STEPS, 6 * sizeof(float), true) >= 0;
    const size_t clip = (size_t)(STEPS * 3 * frame);
    const uint8_t *f = m->item.frames;
    // The impossible clips begin as the possible ones, and are others.
    for (int k = 0; k < 2; k++) {
        const size_t before = (size_t)(m->cut[0] + 1) * 3 * (size_t)frame;
        faults += memcmp(f + (size_t)k * clip, f + (size_t)(k + 2) * clip, before) != 0;
        for (int j = 0; j < 2; j++)
            faults += !memcmp(f + (size_t)j * clip, f + (size_t)(k + 2) * clip, clip);
    }
    // At a cut both possible clips show the same.
    for (int k = 0; k < PLUMB_ROOM_CUTS; k++) {
        if (m->cut[k] < 0) continue;
        const size_t at = (size_t)m->cut[k] * 3 * (size_t)frame;
        faults += memcmp(f + at, f + clip + at, (size_t)(3 * frame)) != 0;
    }
    s->faults[item] = faults;
    drop(m);
    return PLUMB_OK;
}

static void check_probes(int64_t count, int64_t image)
{
    const int64_t all = count;
    for (int64_t i = 0; i < ALL_ROOMS; i++) {
        // Fewer of the rooms that are not counted, which share all code but that of their scenes.
        count = i < ROOM_COUNT ? all : all / 4;
        sweep s = {any_room_at(i), image, calloc((size_t)count, sizeof *s.faults)};
        if (plumb_world_get_info(s.room)->concept_name)
            CHECK_OK(parallel_for(count, 2, check_tuple, &s));
        for (int64_t k = 0; k < count; k++) CHECK_EQUAL(s.faults[k], 0);
        free(s.faults);
    }
}

TEST(four_hundred_tuples_are_spliced_byte_for_byte)
{
    check_probes(60, 64);
}

TEST(thousands_of_small_tuples_are_spliced_byte_for_byte)
{
    check_probes(400, 32);
}

TEST(a_splice_that_is_broken_is_caught)
{
    const plumb_world *room;
    CHECK_OK(plumb_world_find(&room, "rooms/continuity"));
    made *m = make(room, 1, 0, 32);
    const int64_t frame = 3 * 32 * 32;
    CHECK_EQUAL(room_find_splice_error(m->item.frames, STEPS, frame, true), -1);
    // One level in one pixel of one frame of one clip.
    m->item.frames[(2 * STEPS + 6) * frame + 100] ^= 1;
    CHECK_EQUAL(room_find_splice_error(m->item.frames, STEPS, frame, false), 6);
    CHECK_EQUAL(room_find_splice_error(m->item.frames, STEPS, frame, true), 6);
    m->item.frames[(2 * STEPS + 6) * frame + 100] ^= 1;
    // Impossible clips that change over where the pictures differ: frames balance, pairs do not.
    uint8_t *f = m->item.frames, *copy = malloc((size_t)(STEPS * frame));
    for (int64_t t = 0; t < 8; t++)
        for (int k = 0; k < 2; k++)
            memcpy(f + ((k + 2) * STEPS + t) * frame, f + (k * STEPS + t) * frame, (size_t)frame);
    for (int64_t t = 8; t < STEPS; t++)
        for (int k = 0; k < 2; k++)
            memcpy(f + ((k + 2) * STEPS + t) * frame, f + ((1 - k) * STEPS + t) * frame,
                   (size_t)frame);
    CHECK_EQUAL(room_find_splice_error(f, STEPS, frame, false), -1);
    CHECK_EQUAL(room_find_splice_error(f, STEPS, frame, true), 8);
    free(copy);
    drop(m);
}

// ---- what is possible ----

static bool same_thing(const double *a, const double *b)
{
    return !memcmp(a, b, PLUMB_ROOM_COLUMN_POSITION * sizeof *a);
}

TEST(objects_of_possible_clips_do_not_change)
{
    for (int64_t i = 0; i < ALL_ROOMS; i++) {
        const plumb_world *room = any_room_at(i);
        const int64_t possible = plumb_world_get_info(room)->clips == 4 ? 2 : 1;
        for (int64_t item = 0; item < 20; item++) {
            made *m = make(room, 7, item, 32);
            for (int64_t c = 0; c < possible; c++)
                for (int64_t t = 0; t < STEPS; t++)
                    for (int64_t k = 0; k < PLACES; k++) {
                        const double *now = object(m, c, t, k);
                        CHECK(same_thing(now, object(m, c, 0, k)));
                        if (now[PLUMB_ROOM_COLUMN_SHAPE] == PLUMB_ROOM_SHAPE_NONE) continue;
                        double length = 0.0;
                        for (int j = 0; j < 4; j++)
                            length += pow(now[PLUMB_ROOM_COLUMN_ORIENTATION + j], 2.0);
                        CHECK_NEAR(length, 1.0, 1e-12);
                        for (int j = 0; j < ROW; j++) CHECK(isfinite(now[j]));
                    }
            drop(m);
        }
    }
}

// Height and motion together, of what can move.
static double energy_of(const room_scene *s, int t)
{
    double sum = 0.0;
    for (int i = 0; i < ROOM_SCENE_BODIES; i++) sum += body_energy(&s->bodies[t][i]);
    return sum;
}

// The plank of the probes falls as a thin rod on a hinge; its thickness is only drawn.
static double probe_energy(const room_scene *s, int t, bool rod)
{
    const rigid_body *b = &s->bodies[t][0];
    const double length = 2.0 * b->half[1], angle = -2.0 * atan2(b->q[1], b->q[0]);
    if (!rod) return energy_of(s, t);
    return b->mass * (9.81 * 0.5 * length * sin(angle) + length * length * b->w[0] * b->w[0] / 6.0);
}

static bool overlap(const room_scene *s, int t, double depth)
{
    rigid_world r = {.count = ROOM_SCENE_BODIES};
    memcpy(r.bodies, s->bodies[t], sizeof r.bodies);
    for (int i = 0; i < ROOM_SCENE_BODIES; i++)
        if (r.bodies[i].shape == PLUMB_ROOM_SHAPE_NONE) r.bodies[i].intangible = true;
    return rigid_overlaps(&r, depth);
}

TEST(possible_probes_lose_energy_and_do_not_overlap)
{
    static room_scene s[2];
    const room_probe *const probes[] = {
        &probes_continuity, &probes_solidity, &probes_persistence, &probes_unchangeableness,
        &probes_inertia,    &probes_support,  &probes_collision};
    for (int k = 0; k < 7; k++) {
        rng r = rng_at(9, (uint64_t)k);
        for (int trial = 0; trial < 200; trial++) {
            room_scene_init(&s[0], &r);
            s[1] = s[0];
            if (!probes[k]->pose(&s[0], &s[1], &r)) continue;
            for (int c = 0; c < 2; c++) {
                bool pushed = false;
                for (int t = 0; t < STEPS; t++) {
                    CHECK(!overlap(&s[c], t, 1e-9));
                    if (!t) continue;
                    // The plank is pushed once, when it is let go.
                    const double gain =
                        probe_energy(&s[c], t, k == 2) - probe_energy(&s[c], t - 1, k == 2);
                    const bool starts = k == 2 && !pushed && s[c].bodies[t][0].w[0] != 0.0;
                    if (!starts) CHECK(gain <= 1e-6 * energy_of(&s[c], 0) + 1e-9);
                    pushed |= s[c].bodies[t][0].w[0] != 0.0;
                }
            }
        }
    }
}

// What makes a scene harder stands still, touches nothing and is the same in A and B.
TEST(harder_scenes_add_bodies_that_nothing_touches)
{
    static room_scene s[2], before[2];
    const room_probe *const probes[] = {&probes_hard_continuity, &probes_hard_solidity,
                                        &probes_hard_persistence, &probes_hard_unchangeableness,
                                        &probes_hard_inertia};
    int added = 0, squares = 0, moved = 0;
    for (int k = 0; k < 5; k++) {
        rng r = rng_at(10, (uint64_t)k);
        for (int trial = 0; trial < 60; trial++) {
            room_scene_init(&s[0], &r);
            s[1] = s[0];
            CHECK(probes[k]->hard);
            if (!probes[k]->pose(&s[0], &s[1], &r)) continue;
            memcpy(before, s, sizeof before);
            hard_change_scenes(&s[0], &s[1], &r);
            moved += s[0].camera[0].azimuth != s[0].camera[7].azimuth;
            for (int t = 0; t < STEPS; t++) {
                CHECK(!memcmp(&s[0].camera[t], &s[1].camera[t], sizeof s[0].camera[t]));
                // Played backward the camera is the same.
                CHECK(!memcmp(&s[0].camera[t], &s[0].camera[STEPS - 1 - t], sizeof s[0].camera[t]));
                for (int c = 0; c < 2; c++) CHECK(!overlap(&s[c], t, 1e-9));
                for (int i = 0; i < ROOM_SCENE_BODIES; i++) {
                    const rigid_body *now = &s[0].bodies[t][i];
                    const bool is_new = now->shape != PLUMB_ROOM_SHAPE_NONE &&
                                        before[0].bodies[t][i].shape == PLUMB_ROOM_SHAPE_NONE;
                    squares += !t && now->square_side > 0.0;
                    added += !t && is_new;
                    if (is_new) {
                        CHECK(!memcmp(now, &s[1].bodies[t][i], sizeof *now));
                        CHECK(!memcmp(now, &s[0].bodies[0][i], sizeof *now));
                    }
                }
            }
        }
    }
    CHECK(added > 300 && squares > 50 && moved > 200);
}

TEST(free_scenes_lose_energy_and_do_not_overlap)
{
    static room_scene s;
    uint8_t event_counts[PLUMB_ROOM_EVENTS];
    rng r = rng_at(11, 0);
    int scenes = 0;
    for (int trial = 0; trial < 300; trial++) {
        room_scene_init(&s, &r);
        if (!freeform_sample(&s, event_counts, &r)) continue;
        scenes++;
        for (int t = 0; t < STEPS; t++) {
            CHECK(!overlap(&s, t, 2e-3));
            if (t)
                CHECK(energy_of(&s, t) <= energy_of(&s, t - 1) + 2e-6 * (1.0 + energy_of(&s, 0)));
        }
    }
    CHECK(scenes > 150);
}

// By points: none of a box's corners, and no ball's centre, is inside another thing's box. Knows
// nothing of contacts.
static bool inside(const rigid_body *b, const double x[3], double depth)
{
    double axis[3][3];
    body_axes(axis, b->q);
    for (int i = 0; i < b->part_count; i++) {
        const body_part *p = &b->part[i];
        double local[3] = {0.0, 0.0, 0.0}, square = 0.0;
        bool in = true;
        for (int a = 0; a < 3; a++) {
            for (int k = 0; k < 3; k++) local[a] += axis[a][k] * (x[k] - b->x[k]);
            local[a] -= p->offset[a];
            in &= fabs(local[a]) < p->half[a] - depth;
            square += local[a] * local[a];
        }
        if (p->ball ? square < (p->half[0] - depth) * (p->half[0] - depth) : in) return true;
    }
    return false;
}

static bool pokes(const rigid_body *a, const rigid_body *b, double depth)
{
    double axis[3][3];
    body_axes(axis, a->q);
    for (int i = 0; i < a->part_count; i++)
        for (int corner = 0; corner < 8; corner++) {
            const body_part *p = &a->part[i];
            double x[3];
            memcpy(x, a->x, sizeof x);
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++)
                    x[k] += axis[j][k] * (p->offset[j] + (p->ball           ? 0.0
                                                          : corner >> j & 1 ? p->half[j]
                                                                            : -p->half[j]));
            if (inside(b, x, depth) || (!p->ball && x[2] < -depth)) return true;
        }
    return false;
}

TEST(no_corner_is_inside_another_thing)
{
    static room_scene s;
    uint8_t event_counts[PLUMB_ROOM_EVENTS];
    rng r = rng_at(12, 0);
    for (int trial = 0; trial < 200; trial++) {
        room_scene_init(&s, &r);
        if (!freeform_sample(&s, event_counts, &r)) continue;
        for (int t = 0; t < STEPS; t++)
            for (int i = 0; i < ROOM_SCENE_BODIES; i++)
                for (int j = 0; j < ROOM_SCENE_BODIES; j++) {
                    const rigid_body *a = &s.bodies[t][i], *b = &s.bodies[t][j];
                    if (i != j && !a->intangible) CHECK(!pokes(a, b, 3e-3));
                }
    }
}

// ---- items ----

static plumb_status make_into(void *context, int64_t item, int worker)
{
    (void)worker;
    made **out = context;
    out[item] = make(room_at(item % ROOM_COUNT), 3, item / 6, 32);
    return PLUMB_OK;
}

TEST(an_item_is_the_same_whoever_asks)
{
    enum { ITEMS = 24 };
    made *one[ITEMS], *many[ITEMS];
    CHECK_OK(parallel_for(ITEMS, 4, make_into, many));
    for (int64_t i = ITEMS - 1; i >= 0; i--) CHECK_OK(make_into(one, i, 0));
    for (int64_t i = 0; i < ITEMS; i++) {
        const size_t clips = (size_t)plumb_world_get_info(room_at(i % 6))->clips;
        const plumb_world_item *a = &one[i]->item, *b = &many[i]->item;
        CHECK(!memcmp(a->frames, b->frames, clips * STEPS * 32 * 32 * 3));
        CHECK(!memcmp(a->mask, b->mask, clips * STEPS * 32 * 32));
        CHECK(!memcmp(a->objects, b->objects, clips * STEPS * PLACES * ROW * sizeof(double)));
        drop(one[i]);
        drop(many[i]);
    }
}

TEST(seeds_and_items_differ)
{
    made *a = make(room_at(0), 1, 0, 32), *b = make(room_at(0), 1, 1, 32),
         *c = make(room_at(0), 2, 0, 32);
    const size_t bytes = STEPS * 32 * 32 * 3;
    CHECK(memcmp(a->item.frames, b->item.frames, bytes));
    CHECK(memcmp(a->item.frames, c->item.frames, bytes));
    drop(a);
    drop(b);
    drop(c);
}

// All twelve kinds of event come up, each in at least a twentieth of the scenes; about half of the
// cameras move; masks name what is there.
TEST(free_scenes_are_varied)
{
    enum { SCENES = 150 };
    int share[PLUMB_ROOM_EVENTS] = {0}, moving = 0;
    for (int64_t i = 0; i < SCENES; i++) {
        made *m = make(room_at(0), 1, i, 16);
        int events = 0;
        for (int k = 0; k < PLUMB_ROOM_EVENTS; k++) {
            share[k] += m->event_counts[k] > 0;
            events += m->event_counts[k];
        }
        CHECK(events >= 2 && events <= 4);
        moving += memcmp(m->item.camera, m->item.camera + 6 * 14, 6 * sizeof(float)) != 0;
        for (int64_t t = 0; t < STEPS; t++)
            for (int p = 0; p < 256; p++) {
                const int id = m->item.mask[t * 256 + p];
                if (id)
                    CHECK(object(m, 0, t, id - 1)[PLUMB_ROOM_COLUMN_SHAPE] !=
                          PLUMB_ROOM_SHAPE_NONE);
            }
        drop(m);
    }
    for (int k = 0; k < PLUMB_ROOM_EVENTS; k++) CHECK(share[k] >= SCENES / 20);
    CHECK(moving > SCENES / 3 && moving < 2 * SCENES / 3);
}

TEST(what_cannot_be_is_refused)
{
    const plumb_world *room = room_at(0);
    const plumb_world_item none = {0};
    CHECK_FAILS(plumb_world_find(&room, "rooms/none"), PLUMB_EVALUE, "rooms/solidity");
    CHECK_FAILS(simulate_room(&none, room, 1, -1, 64), PLUMB_EVALUE, "item is -1");
    CHECK_FAILS(simulate_room(&none, room, 1, (int64_t)1 << 48, 64), PLUMB_EVALUE, "2^48");
    CHECK_FAILS(simulate_room(&none, room, 1, 0, 63), PLUMB_EVALUE, "multiple of 4");
    CHECK_FAILS(simulate_room(&none, room, 1, 0, 260), PLUMB_EVALUE, "16 to 256");
    CHECK_OK(simulate_room(&none, room, 1, 0, 0));
    CHECK_TEXT(plumb_world_get_info(room)->event_names[5], "curtain");
    plumb_world_options options = plumb_world_defaults();
    CHECK_FAILS(plumb_world_check_options(room, 14, NULL), PLUMB_EVALUE, "15 frames");
    CHECK_FAILS(plumb_world_simulate(&none, room, 1, 0, 16, NULL), PLUMB_EVALUE, "15 frames");
    options.dt = 0.1;
    CHECK_FAILS(plumb_world_check_options(room, 15, &options), PLUMB_EVALUE, "time between");
    options = plumb_world_defaults();
    options.stride = 2;
    CHECK_FAILS(plumb_world_check_options(room, 15, &options), PLUMB_EVALUE, "time between");
    options = plumb_world_defaults();
    options.backward = true;
    CHECK_FAILS(plumb_world_check_options(room, 15, &options), PLUMB_EVALUE, "backward");
    options = plumb_world_defaults();
    options.colors = PLUMB_WORLD_COLORS_SIX;
    CHECK_FAILS(plumb_world_check_options(room, 15, &options), PLUMB_EVALUE, "colours");
    options = plumb_world_defaults();
    options.first = 1;
    CHECK_FAILS(plumb_world_check_options(room, 15, &options), PLUMB_EVALUE, "first frame");
    CHECK_OK(plumb_world_check_options(room, 15, NULL));
    CHECK_FAILS(plumb_world_simulate_from(&none, room, (double[]){0.0}, NULL, 15, NULL),
                PLUMB_EVALUE, "no state");
}

TEST(rooms_are_entries_of_the_table_of_worlds)
{
    for (int64_t i = 0; i < ROOM_COUNT; i++) {
        const plumb_world_info *info = plumb_world_get_info(room_at(i));
        const plumb_world *found;
        CHECK_OK(plumb_world_find(&found, info->name));
        CHECK(found == room_at(i));
        CHECK(info->kind == (i ? PLUMB_WORLD_PROBE : PLUMB_WORLD_ROOM));
        CHECK(info->clips == (i ? 4 : 1) && info->steps == STEPS && info->n == 0);
        CHECK(!info->concept_name == !i && !info->event_names == (i > 0));
        CHECK(info->height == 64 && info->width == 64 && info->channels == 3 && info->upright);
    }
}

// Found by name and not counted; item i is the impossible clips of tuple i / 5 of concept i % 5.
TEST(the_impossible_clips_of_all_concepts_are_a_world)
{
    const plumb_world *impossible;
    CHECK_OK(plumb_world_find(&impossible, "rooms/impossible"));
    CHECK_EQUAL(plumb_world_get_info(impossible)->clips, 2);
    for (int64_t i = 0; i < plumb_world_count(); i++) CHECK(plumb_world_at(i) != impossible);
    const size_t clip = STEPS * 16 * 16;
    for (int64_t item = 0; item < 12; item++) {
        made *pair = make(impossible, 3, item, 16),
             *tuple = make(room_at(1 + item % 5), 3, item / 5, 16);
        CHECK(!memcmp(pair->item.frames, tuple->item.frames + 2 * clip * 3, 2 * clip * 3));
        CHECK(!memcmp(pair->item.mask, tuple->item.mask + 2 * clip, 2 * clip));
        CHECK(!memcmp(pair->item.camera, tuple->item.camera + 2 * STEPS * 6,
                      2 * STEPS * 6 * sizeof(float)));
        CHECK(!memcmp(pair->item.objects, tuple->item.objects + 2 * STEPS * PLACES * ROW,
                      2 * STEPS * PLACES * ROW * sizeof(double)));
        CHECK(!memcmp(pair->cut, tuple->cut, sizeof pair->cut));
        drop(pair);
        drop(tuple);
    }
}
