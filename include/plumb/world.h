// SPDX-License-Identifier: MIT
// Worlds: what is true. Systems whose states are known exactly, and pictures of them
// [Higgins21, Botev21].
//
// Item I of world W with seed S is always the same, whatever the count, the thread or the batch.
#ifndef PLUMB_WORLD_H
#define PLUMB_WORLD_H

#include <stdbool.h>

#include "plumb/array.h"
#include "plumb/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One row of the table of worlds. It is there for ever; nothing to free.
typedef struct plumb_world plumb_world;

/// The worlds there are, in the order of the paper's table.
PLUMB_API int64_t plumb_world_count(void);
PLUMB_API const plumb_world *plumb_world_at(int64_t index);

/// By name, "pendulum+c". Fails with PLUMB_EVALUE, naming the nearest world there is.
PLUMB_API plumb_status plumb_world_find(const plumb_world **out, const char *name);

/// A parameter that is drawn once a trajectory: mass, colour, offset ...
typedef struct plumb_world_parameter {
    const char *name; ///< as in a data file: "m", "color_index"
    int64_t count;    ///< numbers a trajectory
    bool integer;
} plumb_world_parameter;

/// What a world is like. Lengths are those of the arrays of one trajectory.
typedef struct plumb_world_info {
    const char *name;
    const char *summary;             ///< one line
    int64_t n;                       ///< half the length of the published state
    int64_t canonical_n;             ///< half the length of the minimal canonical coordinates
    double dt;                       ///< time between frames by default
    int64_t height, width, channels; ///< of a frame by default
    bool upright;    ///< row 0 is the top; else the bottom of the world, as published
    bool reversible; ///< can be followed backward in time
    const plumb_world_parameter *parameters;
    int64_t parameter_count;
    const char *const *state_names;     ///< (2n) "q", "p", "x1" ...: for the axes of plots
    const char *const *canonical_names; ///< (2 canonical_n)
    const bool *angles;                 ///< (canonical_n) is this canonical position an angle?
} plumb_world_info;

PLUMB_API const plumb_world_info *plumb_world_get_info(const plumb_world *world);

/// How colours are drawn.
typedef enum plumb_world_colors {
    PLUMB_WORLD_COLORS_WORLD, ///< as the world's own rule says
    PLUMB_WORLD_COLORS_FIXED, ///< particle k always has colour k
    PLUMB_WORLD_COLORS_SIX,   ///< drawn from six, as in the +c worlds
} plumb_world_colors;

typedef struct plumb_world_options {
    size_t size; ///< sizeof(plumb_world_options)
    double dt;   ///< time between frames; 0: the world's own
    /// Keep every so manieth frame, so that frame t is at t stride dt; 0: every one. For md the
    /// integration steps in a frame (of dt / stride each); 0: 10 of 0.002, or as many as dt needs.
    int64_t stride;
    int64_t image; ///< height and width of a frame, a multiple of 4 up to 1024; 32
    bool backward; ///< time runs backward from the initial state: frame t is at -t dt
    plumb_world_colors colors;
    /// Length in frames for the rule that throws a trajectory away when it leaves the canvas
    /// (two-body+c); 0: first + the steps asked for.
    int64_t reject_steps;
    int64_t first; ///< frames to leave out at the beginning, 0: the same bits as without, sooner
} plumb_world_options;

/// Sets the first `size` bytes of `options` to the defaults. plumb_world_defaults() calls it.
PLUMB_API void plumb_world_options_init(plumb_world_options *options, size_t size);

/// The defaults.
static inline plumb_world_options plumb_world_defaults(void)
{
    plumb_world_options options;
    plumb_world_options_init(&options, sizeof options);
    return options;
}

/// One trajectory. The caller brings memory for what is wanted and leaves the rest NULL.
typedef struct plumb_world_item {
    double *time;       ///< (steps)
    double *state;      ///< (steps, 2n) published coordinates, q first
    double *derivative; ///< (steps, 2n) d state / dt, friction included
    double *canonical;  ///< (steps, 2 canonical_n) minimal canonical coordinates
    double *energy;     ///< (steps) the conserved quantity (but for friction)
    double *parameters; ///< all parameters one after the other, in the order of the facts
    uint8_t *frames;    ///< (steps, image, image, channels)
} plumb_world_item;

/// Numbers of all parameters together.
PLUMB_API int64_t plumb_world_parameter_size(const plumb_world *world);

/// Makes item `item` with seed `seed`. `opt` may be NULL. Steps are frames: the first is the
/// initial state. Any number of threads may call this at once. Fails with PLUMB_EVALUE for options
/// out of range (items go up to 2^48 - 1) and PLUMB_EMEMORY.
PLUMB_API plumb_status plumb_world_simulate(const plumb_world_item *out, const plumb_world *world,
                                            uint64_t seed, int64_t item, int64_t steps,
                                            const plumb_world_options *opt);

/// The same from a published state and parameters of the caller's (as in plumb_world_item; NULL:
/// those of item 0 with seed 0). Nothing is thrown away. Fails with PLUMB_EVALUE for numbers that
/// are not finite, masses that are not positive and the like.
PLUMB_API plumb_status plumb_world_simulate_from(const plumb_world_item *out,
                                                 const plumb_world *world, const double *state,
                                                 const double *parameters, int64_t steps,
                                                 const plumb_world_options *opt);

/// One frame of a published state: (image, image, channels). `parameters` as above.
PLUMB_API plumb_status plumb_world_render(uint8_t *frame, const plumb_world *world,
                                          const double *state, const double *parameters,
                                          const plumb_world_options *opt);

#ifdef __cplusplus
}
#endif
#endif
