// SPDX-License-Identifier: MIT
// The names under which `plumb measure --json` prints the flow.
#include <math.h>

#include "plumb/flow.h"

static void set_interval(plumb_record *record, const char *name, plumb_interval ci)
{
    if (isnan(ci.low)) plumb_record_set_null(record, name);
    else plumb_record_set_interval(record, name, ci);
}

void plumb_flow_record(plumb_record *record, const plumb_flow *r)
{
    if (!record || !r) return;
    plumb_record_set_string(record, "flow_verdict", plumb_verdict_name(r->verdict));
    plumb_record_set_string(record, "flow_why", r->why);
    if (!r->measured) {
        plumb_record_set_null(record, "flow");
        return;
    }
    plumb_record_begin_object(record, "flow");
    if (r->lag) plumb_record_set_int(record, "lag", r->lag);
    else plumb_record_set_null(record, "lag");
    plumb_record_set_double(record, "kappa", r->kappa);
    plumb_record_set_double(record, "area_rate", r->area_rate);
    set_interval(record, "area_rate_ci", r->area_rate_ci);
    plumb_record_set_double(record, "volume_rate", r->volume_rate);
    plumb_record_set_double(record, "true_area_rate", r->true_area_rate);
    plumb_record_set_double(record, "area_change", r->area_change);
    set_interval(record, "area_change_ci", r->area_change_ci);
    plumb_record_set_double(record, "energy_change", r->energy_change);
    set_interval(record, "energy_change_ci", r->energy_change_ci);
    plumb_record_set_double(record, "clock", r->clock);
    set_interval(record, "clock_ci", r->clock_ci);
    plumb_record_set_double(record, "r2", r->r2);
    plumb_record_set_double(record, "r2_clock", r->r2_clock);
    plumb_record_set_int(record, "trajectories", r->trajectories);
    plumb_record_set_int(record, "steps", r->steps);
    plumb_record_set_bool(record, "driven", r->driven);
    plumb_record_set_int(record, "measure_version", PLUMB_FLOW_VERSION);
    plumb_record_end(record);
}
