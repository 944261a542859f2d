// SPDX-License-Identifier: MIT
// The rooms as entries of the table of worlds, and how an item is made: scenes are sampled until
// one is accepted. A tuple is returned only after its splice has been compared byte by byte.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "worlds/rooms/freeform.h"
#include "worlds/rooms/hard.h"
#include "worlds/rooms/probes.h"
#include "worlds/rooms/splice.h"
#include "worlds/world.h"

enum { MAX_ATTEMPTS = 10000, PROBE_CLIPS = 4, POSSIBLE_CLIPS = 2, MIN_IMAGE = 16 };

// ---- options ----

// Rooms have a fixed length and a fixed time between frames, and no phase space.
static plumb_status check_options(const plumb_world *world, int64_t steps,
                                  const plumb_world_options *options)
{
    const char *name = world->info.name;
    if (steps != PLUMB_ROOM_STEPS)
        return fail(PLUMB_EVALUE, "%s: a clip of a room has %d frames", name, PLUMB_ROOM_STEPS);
    if (options->dt != 0.0 || options->stride)
        return fail(PLUMB_EVALUE, "%s: a room has its own time between frames", name);
    if (options->backward)
        return fail(PLUMB_EVALUE, "%s: a room is not followed backward in time", name);
    if (options->colors != PLUMB_WORLD_COLORS_WORLD)
        return fail(PLUMB_EVALUE, "%s: a room has no colours to choose", name);
    if (options->first)
        return fail(PLUMB_EVALUE, "%s: a clip of a room starts at its first frame", name);
    if (options->image < MIN_IMAGE || options->image > RAYTRACE_BOXES_MAX_IMAGE ||
        options->image % 4)
        return fail(PLUMB_EVALUE, "%s: image is %lld; wanted a multiple of 4 from %d to %d", name,
                    (long long)options->image, MIN_IMAGE, RAYTRACE_BOXES_MAX_IMAGE);
    return PLUMB_OK;
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

// Allocates the scenes and images of one item.
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
    if (probe->hard) hard_change_scenes(renderer->scenes[0], renderer->scenes[1], random);
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

// What to make: clips `first_clip` to `first_clip + clips - 1` of an item.
typedef struct room_request {
    const plumb_world *world; // gives the random stream and the probe
    uint64_t seed;
    int64_t item, image, first_clip, clips;
} room_request;

// Copies what the caller wants.
static void write_item(const plumb_world_item *out, const room_request *request,
                       const room_renderer *renderer, const int64_t *cut,
                       const uint8_t *event_counts)
{
    const bool probe = request->world->model;
    const int64_t clip_size = ROOM_SCENE_STEPS * renderer->frame_size;
    const int64_t skipped = request->first_clip * clip_size, bytes = request->clips * clip_size;
    const uint8_t *frames = probe ? renderer->all_frames : renderer->frames[0];
    const uint8_t *masks = probe ? renderer->all_masks : renderer->masks[0];
    if (out->frames) memcpy(out->frames, frames + 3 * skipped, (size_t)(3 * bytes));
    if (out->mask) memcpy(out->mask, masks + skipped, (size_t)bytes);
    if (out->cut) memcpy(out->cut, cut, PLUMB_ROOM_CUTS * sizeof *cut);
    if (out->event_counts) memcpy(out->event_counts, event_counts, PLUMB_ROOM_EVENTS);
    for (int64_t t = 0; out->time && t < ROOM_SCENE_STEPS; t++)
        out->time[t] = ROOM_SCENE_DT * (double)t;
    if (!out->objects && !out->camera) return;
    for (int64_t clip = 0; clip < request->clips; clip++)
        for (int64_t t = 0; t < ROOM_SCENE_STEPS; t++) {
            const int64_t at = clip * ROOM_SCENE_STEPS + t;
            const int source = room_splice_source(request->first_clip + clip, cut, t);
            double objects[PLUMB_ROOM_OBJECTS * PLUMB_ROOM_OBJECT_SIZE];
            float camera[6];
            room_scene_write(objects, camera, renderer->scenes[source], t);
            if (out->objects)
                memcpy(out->objects + at * PLUMB_ROOM_OBJECTS * PLUMB_ROOM_OBJECT_SIZE, objects,
                       sizeof objects);
            if (out->camera) memcpy(out->camera + at * 6, camera, sizeof camera);
        }
}

// Samples scenes from the stream of the item until one is accepted.
static plumb_status make_item(const plumb_world_item *out, const room_request *request)
{
    const plumb_world *world = request->world;
    const room_probe *probe = world->model;
    room_renderer renderer;
    int64_t cut[PLUMB_ROOM_CUTS] = {-1, -1};
    uint8_t event_counts[PLUMB_ROOM_EVENTS] = {0};
    bool done = false;
    plumb_status st = init_renderer(&renderer, request->image, probe);
    rng random = rng_at(request->seed, (uint64_t)world->id << 56 | (uint64_t)request->item);
    for (int i = 0; i < MAX_ATTEMPTS && !st && !done; i++)
        done = probe ? try_probe(cut, &renderer, probe, &random)
                     : try_free(event_counts, &renderer, &random);
    if (!st && !done)
        st = fail(PLUMB_EVALUE,
                  "%s: in %d scenes of %lld x %lld pixels there was none that shows what it must",
                  world->info.name, MAX_ATTEMPTS, (long long)request->image,
                  (long long)request->image);
    if (!st) write_item(out, request, &renderer, cut, event_counts);
    arena_clear(&renderer.mem);
    return st;
}

// ---- entries of the table of worlds ----

static plumb_status simulate_item(const plumb_world_item *out, const plumb_world *world,
                                  const world_plan *plan, uint64_t seed, int64_t item)
{
    const room_request request = {.world = world,
                                  .seed = seed,
                                  .item = item,
                                  .image = plan->image,
                                  .clips = world->info.clips};
    return make_item(out, &request);
}

// Item i is the impossible clips of tuple i / 5 of concept i % 5.
static plumb_status simulate_impossible(const plumb_world_item *out, const plumb_world *world,
                                        const world_plan *plan, uint64_t seed, int64_t item)
{
    static const plumb_world *const concepts[ROOM_CONCEPTS] = {
        &room_continuity, &room_inertia, &room_persistence, &room_solidity, &room_unchangeableness};
    const room_request request = {.world = concepts[item % ROOM_CONCEPTS],
                                  .seed = seed,
                                  .item = item / ROOM_CONCEPTS,
                                  .image = plan->image,
                                  .first_clip = POSSIBLE_CLIPS,
                                  .clips = world->info.clips};
    return make_item(out, &request);
}

// clang-format off
#define ENTRY(variable, number, title, line, item_kind, clip_count, about, events, probe, fill) \
    const plumb_world variable = {                                                              \
        .info = {.name = "rooms/" title, .summary = line, .dt = ROOM_SCENE_DT, .height = 64,    \
                 .width = 64, .channels = 3, .upright = true, .kind = item_kind,                \
                 .clips = clip_count, .steps = PLUMB_ROOM_STEPS, .concept_name = about,         \
                 .event_names = events},                                                        \
        .id = number, .model = probe, .check_options = check_options, .simulate_item = fill,    \
    }
#define PROBE(variable, number, title, line, about, probe)                                   \
    ENTRY(variable, number, title, line, PLUMB_WORLD_PROBE, PROBE_CLIPS, about, NULL, probe, \
          simulate_item)

ENTRY(room_freeform, 64, "freeform", "things that fall, roll, collide and hide, to train on",
      PLUMB_WORLD_ROOM, 1, NULL, freeform_event_names, NULL, simulate_item);
PROBE(room_continuity, 65, "continuity",
      "probes: a ball that rolls behind two pillars is also between them",
      "continuity", &probes_continuity);
PROBE(room_inertia, 66, "directional-inertia",
      "probes: a ball that hits a block is thrown back like light",
      "directional_inertia", &probes_inertia);
PROBE(room_persistence, 67, "object-persistence",
      "probes: a plank does not fall flat on what is under it",
      "object_persistence", &probes_persistence);
PROBE(room_solidity, 68, "solidity",
      "probes: a tall block does not sink into a container's floor",
      "solidity", &probes_solidity);
PROBE(room_unchangeableness, 69, "unchangeableness",
      "probes: what is behind a curtain stays what it is",
      "unchangeableness", &probes_unchangeableness);
PROBE(room_support, 70, "support",
      "probes: a ball that leaves a table falls, unless a bridge carries it",
      "support", &probes_support);
PROBE(room_collision, 71, "collision",
      "probes: of two equal balls the one that is hit moves on and the other stops",
      "collision", &probes_collision);
#define HARD(variable, number, title, about, probe)                                             \
    PROBE(variable, number, title "-hard", "probes as in rooms/" title ", in harder scenes", about, \
          probe)
HARD(room_hard_continuity, 72, "continuity", "continuity_hard", &probes_hard_continuity);
HARD(room_hard_inertia, 73, "directional-inertia", "directional_inertia_hard", &probes_hard_inertia);
HARD(room_hard_persistence, 74, "object-persistence", "object_persistence_hard",
     &probes_hard_persistence);
HARD(room_hard_solidity, 75, "solidity", "solidity_hard", &probes_hard_solidity);
HARD(room_hard_unchangeableness, 76, "unchangeableness", "unchangeableness_hard",
     &probes_hard_unchangeableness);
// It uses the random streams of the probes, so it has no number of its own.
ENTRY(room_impossible, 0, "impossible", "the impossible clips of all probes, to train on",
      PLUMB_WORLD_PROBE, PROBE_CLIPS - POSSIBLE_CLIPS, NULL, NULL, NULL, simulate_impossible);
// clang-format on
