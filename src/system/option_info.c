// SPDX-License-Identifier: MIT
// The members of the public options structs, for the command line and for Python. Each module has
// the table of its own options; this file only lists the tables.
#include <string.h>

#include "compare/options.h"
#include "dataset/options.h"
#include "evaluate/options.h"
#include "measures/dynamics/dynamics.h"
#include "measures/flow/options.h"
#include "measures/forecast/options.h"
#include "measures/forecast/states.h"
#include "measures/kappa/options.h"
#include "measures/loops/options.h"
#include "measures/phase_space/options.h"
#include "measures/probe/options.h"
#include "measures/surprise/options.h"
#include "measures/symetric/options.h"
#include "plumb/system.h"
#include "report/options.h"
#include "sweep/options.h"
#include "train/options.h"
#include "worlds/options.h"

static const option_table *const tables[] = {
    &world_option_table,       &dataset_write_option_table, &dataset_simulate_option_table,
    &loader_option_table,      &symetric_option_table,      &kappa_option_table,
    &flow_option_table,        &loops_option_table,         &phase_space_option_table,
    &forecast_option_table,    &surprise_option_table,      &surprise_losses_option_table,
    &training_option_table,    &evaluation_option_table,    &rollout_option_table,
    &audit_option_table,       &sweep_option_table,         &report_option_table,
    &item_figure_option_table, &probe_option_table,         &state_forecast_option_table,
    &dynamics_option_table,    &compare_option_table};

bool plumb_option_info_at(plumb_option_info *info, const char *name, int64_t index)
{
    if (!info || !name) return false;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (strcmp(tables[i]->name, name)) continue;
        for (const option_spec *spec = tables[i]->specs; spec->name; spec++) {
            if (index--) continue;
            *info = (plumb_option_info){.name = spec->name,
                                        .kind = (plumb_option_kind)spec->kind,
                                        .offset = spec->offset,
                                        .words = spec->words,
                                        .low = spec->low,
                                        .high = spec->high,
                                        .help = spec->help,
                                        .type = spec->type};
            return true;
        }
    }
    return false;
}
