// SPDX-License-Identifier: MIT
// Settings of the model `bodies`, and the configuration that they make for frames of one shape.
#ifndef MODELS_BODIES_SETTINGS_H
#define MODELS_BODIES_SETTINGS_H

#include "dataset/video.h"
#include "models/bodies/chain.h"
#include "models/bodies/points.h"
#include "models/bodies/sprites.h"
#include "models/settings.h"

typedef enum bodies_structure { BODIES_POINTS, BODIES_CHAIN } bodies_structure;
typedef enum bodies_pair { PAIR_NONE, PAIR_LINEAR, PAIR_INVERSE, PAIR_LOG } bodies_pair;
typedef enum bodies_field { FIELD_AUTO, FIELD_ON, FIELD_OFF } bodies_field;
typedef enum bodies_masses { MASSES_EQUAL, MASSES_FREE, MASSES_BY_SIZE } bodies_masses;
typedef enum bodies_profile { PROFILE_DISC, PROFILE_LEARNT } bodies_profile;

enum { BODIES_MAX_STAGES = 8, BODIES_MAX_CONSTANTS = 3 + CHAIN_MAX };

/// In the order of the table; each member is explained there.
typedef struct bodies_settings {
    int structure;
    int64_t objects, colours;
    bool periodic, constants;
    int64_t rows;
    int64_t window, degree, inference_frames;
    double track_noise;
    const char *horizons;
    double horizons_end;
    int pair, field, masses;
    int64_t width, nodes, grid_nodes;
    double output_scale, field_penalty;
    double dt;
    int64_t substeps;
    int profile;
    bool pixels;
    double pixels_share;
} bodies_settings;

extern const setting_spec bodies_setting_specs[];
/// What the presets set beyond the table, NULL at the end.
extern const char *const bodies_cpu[],
    *const bodies_tiny[], *const bodies_points[], *const bodies_box[],
                                                      *const bodies_chain[],
                                                          *const bodies_points_constants[],
                                                              *const bodies_chain_constants[];

/// What the settings mean. Lengths are in units of half the larger side of the picture.
typedef struct bodies_config {
    bool chain, periodic, constants;
    int objects, colours;
    bool profile; ///< the cover of objects is learnt; else they are discs
    int window, degree;
    int inference;                  ///< frames that the state is fitted to; 0: a polynomial alone
    double noise;                   ///< of places, in pixels
    int stages;                     ///< of the curriculum
    int horizon[BODIES_MAX_STAGES]; ///< frames that are predicted each way
    double stages_end;              ///< share of the steps after which the last one begins
    double drawn_share; ///< share of the steps, the last ones, in which frames are compared
    bool has_pair, has_field, has_spring;
    radial_form pair;
    bodies_masses masses;
    int width, nodes, grid_nodes, substeps;
    double output_scale, field_penalty, dt;
    double box;       ///< side of a periodic box; 0: none
    double pixels;    ///< pixels of a unit of length
    double middle[2]; ///< the pixel at the origin
    int64_t rows;     ///< trajectories whose constants are learnt; 1: the same for all
    int row_size;     ///< constants of a trajectory
    bool row_active[BODIES_MAX_CONSTANTS];
    double row_scale[BODIES_MAX_CONSTANTS]; ///< a constant is its parameter times this
} bodies_config;

/// Constants of a trajectory: (x, y of the centre, log strength) for points, (x, y of the pivot,
/// log strength, log of each length) for chains.
enum { ROW_X, ROW_Y, ROW_STRENGTH, ROW_LENGTH };

/// Only height, width and channels of `frames` are used. Fails with PLUMB_EVALUE if settings do not
/// fit together.
plumb_status bodies_settings_config(bodies_config *out, const bodies_settings *options,
                                    const video_set *frames);
/// Frames of a clip of a stage.
int64_t bodies_clip_length(const bodies_config *config, int stage);

#endif
