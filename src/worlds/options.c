// SPDX-License-Identifier: MIT
// Options of a simulation: the table of their members, their defaults and their ranges. What a
// single world allows is checked in world.c.
#include "worlds/options.h"

#include "base/options_struct.h"
#include "worlds/world.h"

static const char *const color_words[] = {"world", "fixed", "six", "white", NULL};
static const char *const background_words[] = {"plain", "texture", NULL};
static const char *const profile_words[] = {"disc", "ring", "blob", NULL};

// clang-format off
#define MEMBER(member) .name = #member, .offset = offsetof(plumb_world_options, member)
static const option_spec specs[] = {
    {MEMBER(dt), .kind = OPTION_DOUBLE, .low = 0, .high = 1e6,
     .help = "time between frames; 0: that of the world"},
    {MEMBER(stride), .kind = OPTION_INT64, .low = 0, .high = 1000000,
     .help = "keep every K-th frame (md: integration steps per frame); 0: that of the world"},
    {MEMBER(image), .kind = OPTION_INT64, .low = 0, .high = WORLD_MAX_IMAGE,
     .help = "height and width of a frame, a multiple of 4; 0: that of the world"},
    {MEMBER(backward), .kind = OPTION_BOOL, .help = "run time backward from the initial state"},
    {MEMBER(colors), .kind = OPTION_ENUM, .words = color_words,
     .help = "as the world draws them, particle k always colour k, one of six as in +c, or all white"},
    {MEMBER(reject_steps), .kind = OPTION_INT64, .low = 0, .high = 1e9,
     .help = "two-body+c rejects orbits that leave the canvas within this many frames; 0: first "
             "plus steps"},
    {MEMBER(first), .kind = OPTION_INT64, .low = 0, .high = 1e9,
     .help = "frames to skip at the start"},
    {MEMBER(background), .kind = OPTION_ENUM, .words = background_words,
     .help = "behind discs: one colour, or a texture that is the same in all frames"},
    {MEMBER(profile), .kind = OPTION_ENUM, .words = profile_words,
     .help = "discs with a soft edge, rings, or blobs without an edge"},
    {0},
};
#undef MEMBER
// clang-format on

const option_table world_option_table = {"world_options", sizeof(plumb_world_options), specs};

void plumb_world_options_init(plumb_world_options *options, size_t size)
{
    const plumb_world_options defaults = {.size = sizeof defaults};
    options_init(options, size, &defaults, sizeof defaults);
}
