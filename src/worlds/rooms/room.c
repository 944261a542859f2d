// SPDX-License-Identifier: MIT
// The table of rooms, and the making of an item: scenes are drawn until one is good, and a tuple is
// only given away after its splice has been compared byte by byte.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "worlds/rooms/scene.h"

struct plumb_room {
    plumb_room_facts facts;
    uint8_t id;              // in the random streams, beyond those of the worlds: never changed
    const room_probe *probe; // NULL: free scenes
};

#define ROW(number, title, line, about, how) \
    {                                        \
        .facts = {.name = "rooms/" title,    \
                  .summary = line,           \
                  .concept = about,          \
                  .clips = (about) ? 4 : 1,  \
                  .dt = ROOM_SCENE_DT},      \
        .id = number, .probe = how,          \
    }
// clang-format off
static const plumb_room table[] = {
    ROW(64, "freeform", "things that fall, roll, collide and hide, to train on", NULL, NULL),
    ROW(65, "continuity", "probes: a ball that rolls behind two pillars is also between them",
        "continuity", &probes_continuity),
    ROW(66, "directional-inertia", "probes: a ball that hits a block is thrown back like light",
        "directional_inertia", &probes_inertia),
    ROW(67, "object-persistence", "probes: a plank does not fall flat on what is under it",
        "object_persistence", &probes_persistence),
    ROW(68, "solidity", "probes: a tall block does not sink into a container's floor",
        "solidity", &probes_solidity),
    ROW(69, "unchangeableness", "probes: what is behind a curtain stays what it is",
        "unchangeableness", &probes_unchangeableness),
};
// clang-format on
#undef ROW

enum { ROOMS = (int)(sizeof table / sizeof *table), ATTEMPTS = 10000, CLIPS = 4 };

int64_t plumb_room_count(void)
{
    return ROOMS;
}

const plumb_room *plumb_room_at(int64_t index)
{
    assert(index >= 0 && index < ROOMS);
    return &table[index];
}

plumb_status plumb_room_find(const plumb_room **out, const char *name)
{
    char list[256] = "";
    for (int i = 0; i < ROOMS; i++) {
        if (!strcmp(table[i].facts.name, name)) {
            *out = &table[i];
            return PLUMB_OK;
        }
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", table[i].facts.name);
    }
    return fail(PLUMB_EVALUE, "no room \"%.64s\"; there are %s", name, list);
}

const plumb_room_facts *plumb_room_describe(const plumb_room *room)
{
    return &room->facts;
}

const char *plumb_room_block(int64_t block)
{
    return freeform_event_name(block);
}

// ---- splicing ----

int64_t plumb_room_splice(const void *clips, int64_t steps, int64_t bytes, bool pairs)
{
    const uint8_t *at = clips;
    const size_t clip = (size_t)steps * (size_t)bytes;
    const int64_t before = pairs && steps > 1; // one frame, or this one and the one before
    for (int64_t t = before; t < steps; t++) {
        const uint8_t *x = at + (t - before) * bytes;
        const size_t n = (size_t)bytes * (size_t)(1 + before);
        const bool straight = !memcmp(x, x + 2 * clip, n) && !memcmp(x + clip, x + 3 * clip, n);
        const bool crossed = !memcmp(x, x + 3 * clip, n) && !memcmp(x + clip, x + 2 * clip, n);
        if (!straight && !crossed) return t;
    }
    return -1;
}

// ---- one item ----

typedef struct room_renderer {
    arena mem;
    int64_t image, frame; // bytes of a mask; thrice that of a picture
    raytrace_view view;
    room_scene *stage[2];       // A and B
    uint8_t *film[2], *mask[2]; // of each
    uint8_t *all_film, *all_mask;
} room_renderer;

static plumb_status studio_open(room_renderer *s, int64_t image, bool probe)
{
    *s = (room_renderer){.image = image, .frame = image * image};
    const int64_t clip = ROOM_SCENE_STEPS * s->frame;
    void *memory = arena_alloc(&s->mem, raytrace_boxes_view_size(image), 1);
    bool whole = memory;
    for (int i = 0; i < 1 + probe && whole; i++) {
        s->stage[i] = ARENA_ALLOC(&s->mem, room_scene, 1);
        s->film[i] = arena_alloc(&s->mem, clip, 3);
        s->mask[i] = arena_alloc(&s->mem, clip, 1);
        whole = s->stage[i] && s->film[i] && s->mask[i];
    }
    if (probe && whole) {
        s->all_film = arena_alloc(&s->mem, CLIPS * clip, 3);
        s->all_mask = arena_alloc(&s->mem, CLIPS * clip, 1);
        whole = s->all_film && s->all_mask;
    }
    if (!whole) return PLUMB_EMEMORY;
    raytrace_boxes_view_init(&s->view, memory, image);
    return PLUMB_OK;
}

static void shoot(room_renderer *s, int which)
{
    for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++)
        room_scene_draw(s->film[which] + 3 * t * s->frame, s->mask[which] + t * s->frame, &s->view,
                        s->stage[which], t);
}

static void shoot_reversed(room_renderer *s)
{
    for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++) {
        const int64_t from = ROOM_SCENE_STEPS - 1 - t;
        memcpy(s->film[1] + 3 * t * s->frame, s->film[0] + 3 * from * s->frame,
               (size_t)(3 * s->frame));
        memcpy(s->mask[1] + t * s->frame, s->mask[0] + from * s->frame, (size_t)s->frame);
    }
}

// Do A and B show the same at this time, picture, mask and camera?
static bool agree(const room_renderer *s, int64_t t)
{
    return !memcmp(s->film[0] + 3 * t * s->frame, s->film[1] + 3 * t * s->frame,
                   (size_t)(3 * s->frame)) &&
           !memcmp(s->mask[0] + t * s->frame, s->mask[1] + t * s->frame, (size_t)s->frame) &&
           !memcmp(&s->stage[0]->camera[t], &s->stage[1]->camera[t], sizeof(raytrace_camera));
}

static bool find_cuts(int64_t cut[PLUMB_ROOM_CUTS], const room_renderer *s, const room_probe *p)
{
    memcpy(cut, p->cut, sizeof p->cut);
    if (p->search) {
        int64_t same[3], count = 0;
        for (int64_t t = 6; t <= 8; t++)
            if (agree(s, t)) same[count++] = t;
        cut[0] = count ? same[count / 2] : 7;
    }
    for (int i = 0; i < PLUMB_ROOM_CUTS; i++)
        if (cut[i] >= 0 && !agree(s, cut[i])) return false;
    return true;
}

// Which of A and B clip `clip` shows at time t: 2 begins as A, 3 as B, and they change after a cut.
static int source(int clip, const int64_t cut[PLUMB_ROOM_CUTS], int64_t t)
{
    int which = clip & 1;
    for (int i = 0; i < PLUMB_ROOM_CUTS && clip >= 2; i++) which ^= cut[i] >= 0 && t > cut[i];
    return which;
}

static bool splice(room_renderer *s, const int64_t cut[PLUMB_ROOM_CUTS])
{
    for (int64_t clip = 0; clip < CLIPS; clip++)
        for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++) {
            const int from = source((int)clip, cut, t);
            const int64_t to = clip * ROOM_SCENE_STEPS + t;
            memcpy(s->all_film + 3 * to * s->frame, s->film[from] + 3 * t * s->frame,
                   (size_t)(3 * s->frame));
            memcpy(s->all_mask + to * s->frame, s->mask[from] + t * s->frame, (size_t)s->frame);
        }
    return plumb_room_splice(s->all_film, ROOM_SCENE_STEPS, 3 * s->frame, true) < 0 &&
           plumb_room_splice(s->all_mask, ROOM_SCENE_STEPS, s->frame, true) < 0;
}

static bool try_probe(int64_t cut[PLUMB_ROOM_CUTS], room_renderer *s, const room_probe *p, rng *r)
{
    room_scene_init(s->stage[0], r);
    *s->stage[1] = *s->stage[0];
    if (!p->pose(s->stage[0], s->stage[1], r)) return false;
    shoot(s, 0);
    if (p->reversed) shoot_reversed(s);
    else shoot(s, 1);
    return p->accept(s->mask[0], s->mask[1], s->image) && find_cuts(cut, s, p) && splice(s, cut);
}

static bool try_free(uint8_t blocks[PLUMB_ROOM_EVENTS], room_renderer *s, rng *r)
{
    room_scene_init(s->stage[0], r);
    if (!freeform_sample(s->stage[0], blocks, r)) return false;
    shoot(s, 0);
    return freeform_accept(s->stage[0], s->mask[0], s->image);
}

static void give(const plumb_room_item *out, const room_renderer *s, const int64_t *cut,
                 const uint8_t *blocks, bool probe)
{
    const int64_t clips = probe ? CLIPS : 1, bytes = clips * ROOM_SCENE_STEPS * s->frame;
    if (out->frames) memcpy(out->frames, probe ? s->all_film : s->film[0], (size_t)(3 * bytes));
    if (out->mask) memcpy(out->mask, probe ? s->all_mask : s->mask[0], (size_t)bytes);
    if (out->cut) memcpy(out->cut, cut, PLUMB_ROOM_CUTS * sizeof *cut);
    if (out->blocks) memcpy(out->blocks, blocks, PLUMB_ROOM_EVENTS);
    if (!out->objects && !out->camera) return;
    for (int64_t clip = 0; clip < clips; clip++)
        for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++) {
            const int64_t at = clip * ROOM_SCENE_STEPS + t;
            double objects[PLUMB_ROOM_OBJECTS * PLUMB_ROOM_OBJECT_SIZE];
            float camera[6];
            room_scene_write(objects, camera, s->stage[source((int)clip, cut, t)], t);
            if (out->objects)
                memcpy(out->objects + at * PLUMB_ROOM_OBJECTS * PLUMB_ROOM_OBJECT_SIZE, objects,
                       sizeof objects);
            if (out->camera) memcpy(out->camera + at * 6, camera, sizeof camera);
        }
}

plumb_status plumb_room_make(const plumb_room_item *out, const plumb_room *room, uint64_t seed,
                             int64_t item, int64_t image)
{
    const char *name = room->facts.name;
    if (!image) image = 64;
    if (image < 16 || image > RAYTRACE_BOXES_MAX_IMAGE || image % 4)
        return fail(PLUMB_EVALUE, "%s: image is %lld; wanted a multiple of 4 from 16 to %d", name,
                    (long long)image, RAYTRACE_BOXES_MAX_IMAGE);
    if (item < 0 || item >> 48)
        return fail(PLUMB_EVALUE, "%s: item is %lld; wanted 0 to 2^48 - 1", name, (long long)item);
    room_renderer s;
    int64_t cut[PLUMB_ROOM_CUTS] = {-1, -1};
    uint8_t blocks[PLUMB_ROOM_EVENTS] = {0};
    bool done = false;
    plumb_status st = studio_open(&s, image, room->probe);
    rng r = rng_at(seed, (uint64_t)room->id << 56 | (uint64_t)item);
    for (int i = 0; i < ATTEMPTS && !st && !done; i++)
        done = room->probe ? try_probe(cut, &s, room->probe, &r) : try_free(blocks, &s, &r);
    if (!st && !done)
        st = fail(PLUMB_EVALUE,
                  "%s: in %d scenes of %lld x %lld pixels there was none that shows "
                  "what it must",
                  name, ATTEMPTS, (long long)image, (long long)image);
    if (!st) give(out, &s, cut, blocks, room->probe);
    arena_clear(&s.mem);
    return st;
}
