// SPDX-License-Identifier: MIT
// The table of rooms, and how an item is made: scenes are sampled until one is accepted. A tuple is
// returned only after its splice has been compared byte by byte.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "worlds/rooms/freeform.h"
#include "worlds/rooms/probes.h"
#include "worlds/rooms/splice.h"

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
static const plumb_room room_table[] = {
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

enum {
    ROOM_COUNT = (int)(sizeof room_table / sizeof *room_table),
    MAX_ATTEMPTS = 10000,
    PROBE_CLIPS = 4
};

int64_t plumb_room_count(void)
{
    return ROOM_COUNT;
}

const plumb_room *plumb_room_at(int64_t index)
{
    assert(index >= 0 && index < ROOM_COUNT);
    return &room_table[index];
}

plumb_status plumb_room_find(const plumb_room **out, const char *name)
{
    char list[256] = "";
    for (int i = 0; i < ROOM_COUNT; i++) {
        if (!strcmp(room_table[i].facts.name, name)) {
            *out = &room_table[i];
            return PLUMB_OK;
        }
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", room_table[i].facts.name);
    }
    return fail(PLUMB_EVALUE, "no room \"%.64s\"; there are %s", name, list);
}

const plumb_room_facts *plumb_room_describe(const plumb_room *room)
{
    return &room->facts;
}

const char *plumb_room_block(int64_t block)
{
    return block >= 0 && block < PLUMB_ROOM_EVENTS ? freeform_event_names[block] : "";
}

// ---- one item ----

// Memory and state for making one item.
typedef struct room_renderer {
    arena mem;
    int64_t image;      // height and width in pixels
    int64_t frame_size; // bytes of a mask; an image has three times as many
    raytrace_view view;
    room_scene *scenes[2];           // possible clips A and B
    uint8_t *frames[2], *masks[2];   // of A and B
    uint8_t *all_frames, *all_masks; // probes: of all four clips
} room_renderer;

static plumb_status init_renderer(room_renderer *renderer, int64_t image, bool probe)
{
    *renderer = (room_renderer){.image = image, .frame_size = image * image};
    const int64_t clip = ROOM_SCENE_STEPS * renderer->frame_size;
    void *memory = arena_alloc(&renderer->mem, raytrace_boxes_view_size(image), 1);
    bool complete = memory;
    for (int i = 0; i < 1 + probe && complete; i++) {
        renderer->scenes[i] = ARENA_ALLOC(&renderer->mem, room_scene, 1);
        renderer->frames[i] = arena_alloc(&renderer->mem, clip, 3);
        renderer->masks[i] = arena_alloc(&renderer->mem, clip, 1);
        complete = renderer->scenes[i] && renderer->frames[i] && renderer->masks[i];
    }
    if (probe && complete) {
        renderer->all_frames = arena_alloc(&renderer->mem, PROBE_CLIPS * clip, 3);
        renderer->all_masks = arena_alloc(&renderer->mem, PROBE_CLIPS * clip, 1);
        complete = renderer->all_frames && renderer->all_masks;
    }
    if (!complete) return PLUMB_EMEMORY;
    raytrace_boxes_view_init(&renderer->view, memory, image);
    return PLUMB_OK;
}

// Renders all frames of clip A (0) or B (1).
static void render_clip(room_renderer *renderer, int which)
{
    for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++)
        room_scene_draw(renderer->frames[which] + 3 * t * renderer->frame_size,
                        renderer->masks[which] + t * renderer->frame_size, &renderer->view,
                        renderer->scenes[which], t);
}

// Clip B as clip A played backward.
static void reverse_clip(room_renderer *renderer)
{
    for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++) {
        const int64_t from = ROOM_SCENE_STEPS - 1 - t;
        memcpy(renderer->frames[1] + 3 * t * renderer->frame_size,
               renderer->frames[0] + 3 * from * renderer->frame_size,
               (size_t)(3 * renderer->frame_size));
        memcpy(renderer->masks[1] + t * renderer->frame_size,
               renderer->masks[0] + from * renderer->frame_size, (size_t)renderer->frame_size);
    }
}

// True if A and B show the same at this time: image, mask and camera.
static bool is_same_frame(const room_renderer *renderer, int64_t t)
{
    return !memcmp(renderer->frames[0] + 3 * t * renderer->frame_size,
                   renderer->frames[1] + 3 * t * renderer->frame_size,
                   (size_t)(3 * renderer->frame_size)) &&
           !memcmp(renderer->masks[0] + t * renderer->frame_size,
                   renderer->masks[1] + t * renderer->frame_size, (size_t)renderer->frame_size) &&
           !memcmp(&renderer->scenes[0]->camera[t], &renderer->scenes[1]->camera[t],
                   sizeof(raytrace_camera));
}

// Chooses the cuts. False if A and B differ at one of them.
static bool find_cuts(int64_t cut[PLUMB_ROOM_CUTS], const room_renderer *renderer,
                      const room_probe *probe)
{
    memcpy(cut, probe->cut, sizeof probe->cut);
    if (probe->search) {
        int64_t same[3], count = 0;
        for (int64_t t = 6; t <= 8; t++)
            if (is_same_frame(renderer, t)) same[count++] = t;
        cut[0] = count ? same[count / 2] : 7;
    }
    for (int i = 0; i < PLUMB_ROOM_CUTS; i++)
        if (cut[i] >= 0 && !is_same_frame(renderer, cut[i])) return false;
    return true;
}

// Joins the four clips of a tuple and checks every frame.
static bool splice_clips(room_renderer *renderer, const int64_t cut[PLUMB_ROOM_CUTS])
{
    for (int64_t clip = 0; clip < PROBE_CLIPS; clip++)
        for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++) {
            const int from = room_splice_source(clip, cut, t);
            const int64_t to = clip * ROOM_SCENE_STEPS + t;
            memcpy(renderer->all_frames + 3 * to * renderer->frame_size,
                   renderer->frames[from] + 3 * t * renderer->frame_size,
                   (size_t)(3 * renderer->frame_size));
            memcpy(renderer->all_masks + to * renderer->frame_size,
                   renderer->masks[from] + t * renderer->frame_size, (size_t)renderer->frame_size);
        }
    return room_find_splice_error(renderer->all_frames, ROOM_SCENE_STEPS, 3 * renderer->frame_size,
                                  true) < 0 &&
           room_find_splice_error(renderer->all_masks, ROOM_SCENE_STEPS, renderer->frame_size,
                                  true) < 0;
}

// Samples, renders and checks one tuple. False if it must be sampled again.
static bool try_probe(int64_t cut[PLUMB_ROOM_CUTS], room_renderer *renderer,
                      const room_probe *probe, rng *random)
{
    room_scene_init(renderer->scenes[0], random);
    *renderer->scenes[1] = *renderer->scenes[0];
    if (!probe->pose(renderer->scenes[0], renderer->scenes[1], random)) return false;
    render_clip(renderer, 0);
    if (probe->reversed) reverse_clip(renderer);
    else render_clip(renderer, 1);
    return probe->accept(renderer->masks[0], renderer->masks[1], renderer->image) &&
           find_cuts(cut, renderer, probe) && splice_clips(renderer, cut);
}

// Samples, simulates, renders and checks one free scene.
static bool try_free(uint8_t event_counts[PLUMB_ROOM_EVENTS], room_renderer *renderer, rng *random)
{
    room_scene_init(renderer->scenes[0], random);
    if (!freeform_sample(renderer->scenes[0], event_counts, random)) return false;
    render_clip(renderer, 0);
    return freeform_accept(renderer->scenes[0], renderer->masks[0], renderer->image);
}

// Copies what the caller wants.
static void write_item(const plumb_room_item *out, const room_renderer *renderer,
                       const int64_t *cut, const uint8_t *event_counts, bool probe)
{
    const int64_t clips = probe ? PROBE_CLIPS : 1,
                  bytes = clips * ROOM_SCENE_STEPS * renderer->frame_size;
    if (out->frames)
        memcpy(out->frames, probe ? renderer->all_frames : renderer->frames[0],
               (size_t)(3 * bytes));
    if (out->mask)
        memcpy(out->mask, probe ? renderer->all_masks : renderer->masks[0], (size_t)bytes);
    if (out->cut) memcpy(out->cut, cut, PLUMB_ROOM_CUTS * sizeof *cut);
    if (out->blocks) memcpy(out->blocks, event_counts, PLUMB_ROOM_EVENTS);
    if (!out->objects && !out->camera) return;
    for (int64_t clip = 0; clip < clips; clip++)
        for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++) {
            const int64_t at = clip * ROOM_SCENE_STEPS + t;
            double objects[PLUMB_ROOM_OBJECTS * PLUMB_ROOM_OBJECT_SIZE];
            float camera[6];
            room_scene_write(objects, camera, renderer->scenes[room_splice_source(clip, cut, t)],
                             t);
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
    room_renderer renderer;
    int64_t cut[PLUMB_ROOM_CUTS] = {-1, -1};
    uint8_t event_counts[PLUMB_ROOM_EVENTS] = {0};
    bool done = false;
    plumb_status st = init_renderer(&renderer, image, room->probe);
    rng random = rng_at(seed, (uint64_t)room->id << 56 | (uint64_t)item);
    for (int i = 0; i < MAX_ATTEMPTS && !st && !done; i++)
        done = room->probe ? try_probe(cut, &renderer, room->probe, &random)
                           : try_free(event_counts, &renderer, &random);
    if (!st && !done)
        st = fail(PLUMB_EVALUE,
                  "%s: in %d scenes of %lld x %lld pixels there was none that shows "
                  "what it must",
                  name, MAX_ATTEMPTS, (long long)image, (long long)image);
    if (!st) write_item(out, &renderer, cut, event_counts, room->probe);
    arena_clear(&renderer.mem);
    return st;
}
