// SPDX-License-Identifier: MIT
// Parameters of the model `bodies` and the Hamiltonian that they make.
#include "models/bodies/law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

// ---- layout ----

static int64_t add_param(params *all, const char *name, int rank, const int64_t *size,
                         param_init init, double value)
{
    tensor_shape shape = {.rank = rank};
    memcpy(shape.size, size, (size_t)rank * sizeof *size);
    const int at = params_add(all, name, &shape, init, value);
    return at < 0 ? -2 : all->at[at].offset;
}

// The five tensors of a network, one after the other as jets.h wants them.
static int64_t add_network(params *all, const char *name, const jets_shape *shape)
{
    const int64_t F = shape->features, H = shape->width;
    char text[80];
    snprintf(text, sizeof text, "%s.layer0.w", name);
    const int64_t first = add_param(all, text, 2, (int64_t[]){F, H}, PARAM_INIT_WEIGHTS, 0.0);
    snprintf(text, sizeof text, "%s.layer0.b", name);
    int64_t last = add_param(all, text, 1, &H, PARAM_INIT_UNIFORM, 4.0 / 3.0);
    snprintf(text, sizeof text, "%s.layer1.w", name);
    if (last >= 0) last = add_param(all, text, 2, (int64_t[]){H, H}, PARAM_INIT_WEIGHTS, 0.0);
    snprintf(text, sizeof text, "%s.layer1.b", name);
    if (last >= 0) last = add_param(all, text, 1, &H, PARAM_INIT_VALUE, 0.0);
    snprintf(text, sizeof text, "%s.layer2.w", name);
    if (last >= 0) last = add_param(all, text, 2, (int64_t[]){H, 1}, PARAM_INIT_WEIGHTS, 0.0);
    return last < 0 ? -2 : first;
}

static radial_spec pair_spec(const bodies_config *config, double low, double high)
{
    return (radial_spec){.form = config->pair,
                         .low = low,
                         .high = high,
                         .cut = 0.5 * config->box,
                         .nodes = config->nodes,
                         .width = config->width};
}

static plane_spec field_spec(const bodies_config *config, double half)
{
    return (plane_spec){.half = half, .nodes = config->grid_nodes, .width = config->width};
}

plumb_status bodies_layout_build(bodies_layout *out, params *all, const bodies_config *config,
                                 const video_set *frames)
{
    const int64_t K = config->objects, P = config->colours, C = frames->channels, one = 1, two = 2;
    const int64_t R = config->row_size;
    const param_init fixed = PARAM_INIT_FIXED;
    *out = (bodies_layout){.colour_of = -1, .profile = -1, .pair = -1, .field = {-1, -1, -1, -1}};
    out->background =
        add_param(all, "background", 3, (int64_t[]){frames->height, frames->width, C}, fixed, 0.0);
    out->direction = add_param(all, "colours.direction", 2, (int64_t[]){P, C}, fixed, 0.0);
    out->contrast = add_param(all, "colours.contrast", 1, &P, fixed, 0.0);
    out->colour = add_param(all, "sprites.colour", 2, (int64_t[]){K, C}, fixed, 0.0);
    out->radius = add_param(all, "sprites.radius", 1, &K, fixed, 1.0);
    out->edge = add_param(all, "sprites.edge", 1, &one, fixed, 1.0);
    if (config->colours < config->objects)
        out->colour_of = add_param(all, "sprites.colour_of", 1, &K, fixed, 0.0);
    if (config->profile) {
        out->profile =
            add_param(all, "sprites.profile", 2, (int64_t[]){K, PROFILE_NODES}, fixed, 0.0);
        out->profile_step = add_param(all, "sprites.profile_step", 1, &one, fixed, 1.0);
    }
    out->range = add_param(all, "pair.range", 1, &two, fixed, 1.0);
    out->half = add_param(all, "field.half", 1, &one, fixed, 1.0);
    out->still = add_param(all, "still", 2, (int64_t[]){K, 2}, fixed, 0.0);
    out->mean_size = add_param(all, "masses.size", 1, &one, fixed, 1.0);
    out->row_mean = add_param(all, "constants.mean", 1, &R, fixed, 0.0);
    out->row_deviation = add_param(all, "constants.deviation", 1, &R, fixed, 1.0);
    out->log_mass = add_param(all, "masses.log", 1, &K, PARAM_INIT_VALUE, 0.0);
    out->mass_law = add_param(all, "masses.by_size", 1, &two, PARAM_INIT_VALUE, 0.0);
    out->log_spring = add_param(all, "spring.log", 1, &one, PARAM_INIT_VALUE, 0.0);
    out->gravity = add_param(all, "gravity", 2, (int64_t[]){K, 2}, PARAM_INIT_VALUE, 0.0);
    out->rows = add_param(all, "constants", 2, (int64_t[]){config->rows, R}, PARAM_INIT_VALUE, 0.0);
    // Offsets only grow, so the last ones tell whether all could be added.
    bool failed = out->rows < 0;
    if (config->has_pair) {
        const radial_spec spec = pair_spec(config, 1.0, 2.0);
        const jets_shape shape = radial_shape(&spec);
        out->pair = add_network(all, "pair", &shape);
        failed = failed || out->pair < 0;
    }
    const int fields = config->chain ? config->objects : config->has_field;
    for (int k = 0; k < fields; k++) {
        char name[24];
        const plane_spec spec = field_spec(config, 1.0);
        const jets_shape shape = plane_shape(&spec);
        snprintf(name, sizeof name, "field%d", k);
        out->field[k] = add_network(all, name, &shape);
        failed = failed || out->field[k] < 0;
    }
    return failed ? fail(PLUMB_EMEMORY, "out of memory for parameters") : PLUMB_OK;
}

// ---- perception ----

void bodies_load_perception(perception *out, const bodies_layout *layout,
                            const bodies_config *config, const float *parameters,
                            const video_set *frames)
{
    const int64_t C = frames->channels;
    *out = (perception){.scene = {.height = frames->height,
                                  .width = frames->width,
                                  .channels = C,
                                  .background = parameters + layout->background,
                                  .edge = (double)parameters[layout->edge],
                                  .count = config->objects},
                        .colours = config->colours,
                        .periodic = config->periodic,
                        .own_looks = config->constants};
    for (int k = 0; k < config->objects; k++) {
        out->scene.sprites[k].radius = (double)parameters[layout->radius + k];
        for (int64_t i = 0; i < C; i++)
            out->scene.sprites[k].colour[i] = (double)parameters[layout->colour + k * C + i];
    }
    for (int k = 0; k < config->colours; k++) {
        out->contrast[k] = parameters[layout->contrast + k];
        for (int64_t i = 0; i < C; i++)
            out->direction[k][i] = parameters[layout->direction + k * C + i];
    }
    for (int k = 0; k < config->objects; k++)
        out->colour_of[k] =
            layout->colour_of < 0 ? k : (int)parameters[layout->colour_of + k] % SPRITES_MAX;
    if (layout->profile >= 0) {
        out->scene.profile = parameters + layout->profile;
        out->scene.profile_step = (double)parameters[layout->profile_step];
    }
    perception_prepare(out);
}

void bodies_store_perception(float *parameters, const bodies_layout *layout, const perception *seen)
{
    const sprite_scene *scene = &seen->scene;
    const int64_t C = scene->channels;
    memcpy(parameters + layout->background, scene->background,
           (size_t)(scene->height * scene->width * C) * sizeof *parameters);
    parameters[layout->edge] = (float)scene->edge;
    for (int k = 0; k < scene->count; k++) {
        parameters[layout->radius + k] = (float)scene->sprites[k].radius;
        for (int64_t i = 0; i < C; i++)
            parameters[layout->colour + k * C + i] = (float)scene->sprites[k].colour[i];
    }
    for (int k = 0; k < scene->count && layout->colour_of >= 0; k++)
        parameters[layout->colour_of + k] = (float)seen->colour_of[k];
    if (layout->profile >= 0) {
        memcpy(parameters + layout->profile, scene->profile,
               (size_t)(scene->count * PROFILE_NODES) * sizeof *parameters);
        parameters[layout->profile_step] = (float)scene->profile_step;
    }
    for (int k = 0; k < seen->colours; k++) {
        parameters[layout->contrast + k] = seen->contrast[k];
        for (int64_t i = 0; i < C; i++)
            parameters[layout->direction + k * C + i] = seen->direction[k][i];
    }
}

// ---- the Hamiltonian ----

plumb_status bodies_law_alloc(bodies_law *out, arena *mem, const bodies_config *config,
                              const bodies_layout *layout, const float *parameters)
{
    *out = (bodies_law){.config = config,
                        .layout = layout,
                        .fields = config->chain ? config->objects : config->has_field};
    plumb_status st = PLUMB_OK;
    const radial_spec pair =
        pair_spec(config, (double)parameters[layout->range], (double)parameters[layout->range + 1]);
    const plane_spec field = field_spec(config, (double)parameters[layout->half]);
    if (config->has_pair) st = radial_alloc(&out->pair, mem, &pair);
    for (int k = 0; k < out->fields && !st; k++) st = plane_alloc(&out->field[k], mem, &field);
    out->points = (points_law){.count = config->objects,
                               .box = config->box,
                               .pair = config->has_pair ? &out->pair : NULL,
                               .field = config->has_field ? &out->field[0] : NULL,
                               .dt = config->dt,
                               .substeps = config->substeps};
    out->chain =
        (chain_law){.count = config->objects, .dt = config->dt, .substeps = config->substeps};
    for (int k = 0; k < out->fields && config->chain; k++) out->chain.field[k] = &out->field[k];
    return st;
}

void bodies_law_fill(bodies_law *law, const float *parameters)
{
    const bodies_layout *at = law->layout;
    if (law->config->has_pair) radial_fill(&law->pair, parameters + at->pair);
    for (int k = 0; k < law->fields; k++) plane_fill(&law->field[k], parameters + at->field[k]);
    for (int i = 0; i < 2 * law->config->objects; i++)
        law->points.still[i] = !law->config->chain && parameters[at->still + i] != 0.0f;
    law->points.stiffness = law->config->has_spring ? exp((double)parameters[at->log_spring]) : 0.0;
    for (int k = 0; k < law->config->objects && law->config->chain; k++)
        for (int c = 0; c < 2; c++)
            law->chain.gravity[k][c] = (double)parameters[at->gravity + 2 * k + c];
}

void bodies_law_add_gradient(bodies_law *law, float *gradient)
{
    const bodies_layout *at = law->layout;
    if (law->config->has_pair) radial_add_gradient(&law->pair, gradient + at->pair);
    for (int k = 0; k < law->fields; k++)
        plane_add_gradient(&law->field[k], gradient + at->field[k]);
}

double bodies_law_add_penalty(bodies_law *law, double weight)
{
    double sum = 0.0;
    for (int k = 0; k < law->fields; k++) {
        plane_table *field = &law->field[k];
        const int64_t nodes = (int64_t)field->spec.nodes * field->spec.nodes;
        const double scale = 1.0 / (field->step * field->step * (double)(nodes * law->fields));
        for (int64_t n = 0; n < nodes; n++)
            for (int part = JET_A; part <= JET_B; part++) {
                const double slope = field->value[n * 4 + part];
                sum += scale * slope * slope;
                field->seed[n * 4 + part] += weight * 2.0 * scale * slope;
            }
    }
    return sum;
}

// ---- constants ----

void bodies_read_row(double *row, const bodies_law *law, const float *parameters, int64_t index)
{
    const bodies_config *config = law->config;
    const float *from = parameters + law->layout->rows + index * config->row_size;
    for (int i = 0; i < config->row_size; i++)
        row[i] = config->row_active[i] ? config->row_scale[i] * (double)from[i] : 0.0;
}

void bodies_find_constants(bodies_constants *out, const bodies_law *law, const float *parameters,
                           const double *row, const double *radius)
{
    const bodies_config *config = law->config;
    const bodies_layout *at = law->layout;
    *out = (bodies_constants){0};
    for (int k = 0; k < config->objects; k++) {
        double log_mass = 0.0;
        if (config->masses == MASSES_FREE && k) log_mass = (double)parameters[at->log_mass + k];
        if (config->masses == MASSES_BY_SIZE) {
            const double x = log(radius[k] / (double)parameters[at->mean_size]);
            log_mass =
                (double)parameters[at->mass_law] * x + (double)parameters[at->mass_law + 1] * x * x;
        }
        out->points.mass[k] = exp(log_mass);
        if (!config->chain) continue;
        out->chain.mass[k] = exp(log_mass);
        out->chain.length[k] = exp(row[ROW_LENGTH + k]);
    }
    for (int c = 0; c < 2; c++) out->points.centre[c] = out->chain.pivot[c] = row[ROW_X + c];
    out->points.strength = out->chain.strength = exp(row[ROW_STRENGTH]);
}
