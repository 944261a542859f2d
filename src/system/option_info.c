// SPDX-License-Identifier: MIT
// The members of the public options structs, for the command line and for Python.
#include <string.h>

#include "measures/forecast/options.h"
#include "measures/kappa/options.h"
#include "measures/surprise/options.h"
#include "measures/symetric/options.h"
#include "plumb/system.h"

static const option_table *const tables[] = {&symetric_option_table, &kappa_option_table,
                                             &forecast_option_table, &surprise_option_table};

bool plumb_option_info_at(plumb_option_info *info, const char *name, int64_t index)
{
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
