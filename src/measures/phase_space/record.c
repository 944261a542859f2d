// SPDX-License-Identifier: MIT
// The names under which `plumb measure --json` prints SyMetric, kappa and the verdict.
#include "base/options_struct.h"
#include "plumb/phase_space.h"

void plumb_phase_space_record(plumb_record *record, const plumb_phase_space *result,
                              const plumb_phase_space_options *options)
{
    if (!record || !result) return;
    plumb_phase_space_options all = plumb_phase_space_defaults();
    if (options_resolve(&all, sizeof all, options, "plumb_phase_space_options")) return;
    // The first method keeps its names at the top level; the second one is nested.
    const plumb_symetric *first = result->has_polynomial ? &result->polynomial : &result->network;
    plumb_symetric_record(record, first, all.symetric);
    if (result->has_polynomial && result->has_network) {
        plumb_record_begin_object(record, "mlp");
        plumb_symetric_record(record, &result->network, all.symetric);
        plumb_record_end(record);
    }
    plumb_record_set_double(record, "sym_floor", result->sym_floor);
    plumb_kappa_record(record, &result->kappa, all.kappa);
    plumb_flow_record(record, &result->flow);
    plumb_record_set_string(record, "coordinates_verdict", plumb_verdict_name(result->coordinates));
    plumb_record_set_string(record, "verdict", plumb_verdict_name(result->verdict));
    plumb_record_set_string(record, "verdict_why", result->why);
}
