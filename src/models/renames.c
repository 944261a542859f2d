// SPDX-License-Identifier: MIT
// Old and new names of settings and tensors. scripts/rename-settings reads the tables of this file.
#include "models/renames.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

// ---- settings ----

// Training, of all models.
name_change renames_training[] = {
    {.old_name = "rate", .new_name = "learning_rate"},
    {.old_name = "hold", .new_name = "decay_start"},
    {.old_name = "last", .new_name = "final_rate"},
    {.old_name = "clip", .new_name = "clip_norm"},
    {.old_name = "log", .new_name = "log_steps"},
    {.old_name = "save", .new_name = "checkpoint_steps"},
    {0},
};

// HGN, HGN++, LGN, ODE, RGN and AR. A model need not have all of them.
name_change renames_latent_dynamics[] = {
    {.old_name = "spread", .new_name = "initial_posterior_scale"},
    {.old_name = "bound", .new_name = "log_scale_bound"},
    {.old_name = "standard", .new_name = "standardise_frames"},
    {.old_name = "sizes", .new_name = "add_magnitudes"},
    {.old_name = "colours", .new_name = "colour_ramp_end"},
    {.old_name = "angles", .new_name = "angular_positions"},
    {.old_name = "soften", .new_name = "circle_ramp_end"},
    {.old_name = "seen", .new_name = "decoder_input"},
    {.old_name = "phase_space", .new_name = "state_layout"},
    {.old_name = "encoder", .new_name = "encoder_kernels"},
    {.old_name = "base", .new_name = "add_spring_energy"},
    {.old_name = "decoder_taper", .new_name = "decoder_halve_width"},
    {.old_name = "decoder_start", .new_name = "decoder_input_channels"},
    {.old_name = "objective=plain", .new_name = "objective=mse"},
    {.old_name = "beta_last", .new_name = "beta_final"},
    {.old_name = "kappa", .new_name = "geco_tolerance"},
    {.old_name = "alpha", .new_name = "geco_alpha"},
    {.old_name = "decoded", .new_name = "decoded_targets"},
    {.old_name = "group", .new_name = "decoder_microbatch"},
    {.old_name = "horizons", .new_name = "curriculum_targets"},
    {.old_name = "extend", .new_name = "curriculum_error"},
    {.old_name = "deadlines", .new_name = "curriculum_deadlines"},
    {.old_name = "nested", .new_name = "nested_pairs"},
    {.old_name = "settle", .new_name = "selection_start"},
    {.old_name = "settle_ratio", .new_name = "selection_ratio"},
    {.old_name = "settle_slack", .new_name = "selection_slack"},
    {.old_name = "core", .new_name = "recurrent_core"},
    {0},
};

// PredRNN. settle and group mean something else here than in the HGN family.
name_change renames_predrnn[] = {
    {.old_name = "decouple", .new_name = "decoupling_weight"},
    {.old_name = "length", .new_name = "clip_length"},
    {.old_name = "given", .new_name = "input_frames"},
    {.old_name = "calm", .new_name = "change_scale"},
    {.old_name = "still", .new_name = "camera_motion_share"},
    {.old_name = "settle", .new_name = "camera_motion_steps"},
    {.old_name = "group", .new_name = "microbatch"},
    {0},
};

// PLATO.
name_change renames_plato[] = {
    {.old_name = "code", .new_name = "code_size"},
    {.old_name = "encoder", .new_name = "encoder_channels"},
    {.old_name = "dense", .new_name = "dense_units"},
    {.old_name = "decoder", .new_name = "decoder_channels"},
    {.old_name = "gamma", .new_name = "mask_weight"},
    {.old_name = "length", .new_name = "clip_length"},
    {.old_name = "buffer", .new_name = "buffer_units"},
    {.old_name = "units", .new_name = "interaction_units"},
    {.old_name = "group", .new_name = "microbatch"},
    {0},
};

// ---- tensors ----

name_change renames_latent_dynamics_tensors[] = {
    {.old_name = "film.mean", .new_name = "frames.mean"},
    {.old_name = "film.deviation", .new_name = "frames.std"},
    {.old_name = "keep", .new_name = "pair_mask"},
    {.old_name = "hue", .new_name = "colour_gate"},
    {.old_name = "soft", .new_name = "circle_softness"},
    {.old_name = "lt.", .new_name = "transform."},
    {.old_name = "kin.grades", .new_name = "kin.log_inverse_mass"},
    {.old_name = "dec.h", .new_name = "dec.start"},
    {.old_name = "dec.place.", .new_name = "dec.coordinates."},
    {.old_name = ".in.", .new_name = ".input."},
    {.old_name = ".again.", .new_name = ".recurrent."},
    {.old_name = ".fresh.", .new_name = ".candidate."},
    {0},
};

name_change renames_plato_tensors[] = {
    {.old_name = "seen", .new_name = "buffer_pairs"},
    {.old_name = "state", .new_name = "state_pairs"},
    {.old_name = "lstm.c", .new_name = "lstm.recurrent_b"},
    {0},
};

// ---- lookup ----

name_change *renames_find_old(name_change *table, const char *name, size_t length)
{
    for (name_change *change = table; change && change->old_name; change++)
        if (strlen(change->old_name) == length && !memcmp(change->old_name, name, length))
            return change;
    return NULL;
}

name_change *renames_find_new(name_change *table, const char *name)
{
    for (name_change *change = table; change && change->old_name; change++)
        if (!strcmp(change->new_name, name)) return change;
    return NULL;
}

const char *renames_old_tensor(char *text, size_t size, name_change *table, const char *name,
                               name_change **change)
{
    if (change) *change = NULL;
    // The first entry that is part of the name; no name has two.
    for (name_change *row = table; row && row->old_name; row++) {
        const char *at = strstr(name, row->new_name);
        if (!at) continue;
        if (change) *change = row;
        snprintf(text, size, "%.*s%s%s", (int)(at - name), name, row->old_name,
                 at + strlen(row->new_name));
        return text;
    }
    return name;
}

// ---- log ----

void renames_add(rename_list *list, name_change *change)
{
    const int capacity = sizeof list->change / sizeof *list->change;
    for (int i = 0; i < list->count; i++)
        if (list->change[i] == change) return;
    if (list->count < capacity) list->change[list->count++] = change;
}

void renames_log(const rename_list *list, const char *path, const char *what)
{
    enum { LINE_SIZE = 120 }; // where the list is cut
    char line[LINE_SIZE + 128] = "";
    size_t used = 0;
    int named = 0, left_out = 0;
    for (int i = 0; i < list->count; i++) {
        name_change *change = list->change[i];
        // Several threads may read runs at the same time; one of them logs a name.
        if (atomic_exchange(&change->logged, true)) continue;
        if (used >= LINE_SIZE) {
            left_out++;
            continue;
        }
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s is now called %s",
                                 named++ ? ", " : "", change->old_name, change->new_name);
    }
    if (!named) return;
    if (left_out) snprintf(line + used, sizeof line - used, ", and %d more", left_out);
    if (path)
        status_log("%.240s: the %s %s; scripts/rename-settings rewrites a run", path, what, line);
    else status_log("the %s %s", what, line);
}
