// SPDX-License-Identifier: MIT
// Each table has one row per target, quantity or model, with intervals.
#include "report/state_tables.h"

#include <math.h>

static void print_value(buffer *html, double value)
{
    if (isfinite(value)) buffer_printf(html, "%.4g", value);
    else buffer_printf(html, "-");
}

// "0.99 (0.98 to 1)".
static void print_score(buffer *html, const json_tree *record, const char *key, const char *ci_key)
{
    double ci[2];
    buffer_printf(html, "<td class=n>");
    print_value(html, json_tree_double(record, key));
    if (json_tree_doubles(ci, 2, record, ci_key) == 2 && isfinite(ci[0] + ci[1]))
        buffer_printf(html, " <span class=pale>(%.4g to %.4g)</span>", ci[0], ci[1]);
    buffer_printf(html, "</td>");
}

static void print_plain(buffer *html, const json_tree *record, const char *key)
{
    buffer_printf(html, "<td class=n>");
    print_value(html, json_tree_double(record, key));
    buffer_printf(html, "</td>");
}

// A doubt about the arrays, if the measure had one.
static void print_hint(buffer *html, const json_tree *record)
{
    const char *hint = json_tree_string(record, "hint");
    if (!hint) return;
    buffer_printf(html, "<p><b>Note</b>: ");
    html_page_text(html, hint);
    buffer_printf(html, ".</p>\n");
}

// ---- probe ----

// Are there numbers of what the action alone tells?
static bool has_action(const json_tree *list)
{
    for (const json_tree *target = list ? list->child : NULL; target; target = target->next)
        if (isfinite(json_tree_double(target, "controls.action"))) return true;
    return false;
}

static void print_targets(buffer *html, const json_tree *list)
{
    const bool action = has_action(list);
    for (const json_tree *target = list ? list->child : NULL; target; target = target->next) {
        const bool known = isfinite(json_tree_double(target, "linear.r2"));
        buffer_printf(html, "<tr><td>");
        html_page_text(html, json_tree_string(target, "name"));
        buffer_printf(html, "</td>");
        if (!known) {
            buffer_printf(html, "<td colspan=%d class=pale>never changes</td></tr>\n", 5 + action);
            continue;
        }
        print_score(html, target, "linear.r2", "linear.r2_ci");
        print_score(html, target, "nonlinear.r2", "nonlinear.r2_ci");
        print_plain(html, target, "controls.shuffled_max");
        print_plain(html, target, "controls.past");
        print_plain(html, target, "controls.pixels");
        if (action) print_plain(html, target, "controls.action");
        buffer_printf(html, "</tr>\n");
    }
}

static void print_probe(buffer *html, const json_tree *record)
{
    buffer_printf(
        html,
        "<h3>Probes</h3>\n<p>R2 of what is read out of %.0f latents, on trajectories that "
        "were not fitted to.</p>\n<table><tr><th>target</th><th>linear</th>"
        "<th>non-linear</th><th>shuffled, highest</th><th>earlier latents</th>"
        "<th>pixels</th>%s</tr>\n",
        json_tree_double(record, "dims"),
        has_action(json_tree_find(record, "targets")) ? "<th>action alone</th>" : "");
    print_targets(html, json_tree_find(record, "targets"));
    buffer_printf(html, "</table>\n");
    print_hint(html, record);
}

// ---- motion ----

// A row: name, value with interval, what it means.
typedef struct state_line {
    const char *label, *key, *ci_key, *meaning;
} state_line;

static void print_state_lines(buffer *html, const json_tree *record, const state_line *lines,
                              int count)
{
    buffer_printf(html, "<table><tr><th>measure</th><th>value</th><th>meaning</th></tr>\n");
    for (int i = 0; i < count; i++) {
        if (!isfinite(json_tree_double(record, lines[i].key))) continue;
        buffer_printf(html, "<tr><td>%s</td>", lines[i].label);
        print_score(html, record, lines[i].key, lines[i].ci_key);
        buffer_printf(html, "<td class=pale>%s</td></tr>\n", lines[i].meaning);
    }
    buffer_printf(html, "</table>\n");
}

static const state_line motion_lines[] = {
    {"R2", "r2", "", "Of the state, from encoded latents: how well the probe reads"},
    {"VPT", "vpt", "vpt_ci", "Steps for which the state of the rollout is right"},
    {"VPT of encoded latents", "floor.vpt", "floor.vpt_ci", "The best that this probe can show"},
    {"VPT of the last state", "baselines.last.vpt", "", "Without a model"},
    {"VPT of a line", "baselines.linear.vpt", "", "Without a model"},
    {"growth of the error", "growth", "", "Slope of its log per step"},
    {"the same / Lyapunov", "growth_lyapunov", "", "1: as fast as the world makes errors grow"},
    {"change of the energy", "energy.rollout", "", "In deviations between trajectories"},
    {"the same, encoded", "energy.encoded", "", "What the probe alone adds"},
    {"change of a kept quantity", "found.rollout", "", "The one that the world keeps best"},
    {"histogram", "histogram", "", "Distance of distributions in the last half, deviations"},
    {"spectrum", "spectrum", "", "Distance of power spectra, 0 to 1"},
    {"phase", "phase_rate", "", "Radians per step by which it gets out of phase"},
    {"range", "range", "", "Of the motion in the last third / the true one"},
    {"area", "flow.area_rate", "flow.area_rate_ci", "Factor per step, of the flow of the readout"},
    {"area, true flow", "flow.true_area_rate", "", "1 where nothing is lost"},
    {"clock", "flow.clock", "flow.clock_ci", "The model's time / true time"},
};

static void print_dynamics(buffer *html, const json_tree *record)
{
    buffer_printf(html, "<h3>Motion</h3>\n<p><b>");
    html_page_text(html, json_tree_string(record, "verdict"));
    buffer_printf(html, "</b>: ");
    html_page_text(html, json_tree_string(record, "verdict_why"));
    buffer_printf(html, ".</p>\n");
    print_hint(html, record);
    const json_tree *driven = json_tree_find(record, "driven");
    if (driven && driven->kind == JSON_BOOL && driven->number > 0.5)
        buffer_printf(html, "<p>An action drives the world, so energy and kept quantities decide "
                            "nothing.</p>\n");
    print_state_lines(html, record, motion_lines, sizeof motion_lines / sizeof *motion_lines);
}

static const state_line forecast_lines[] = {
    {"MSE", "mse", "mse_ci", "Mean over trajectories, steps and columns"},
    {"RMSE", "rmse", "rmse_ci", "Root for each column, then the mean"},
    {"NRMSE", "nrmse", "nrmse_ci", "/ root mean square of each column"},
    {"VRMSE", "vrmse", "vrmse_ci", "/ standard deviation of each column"},
    {"sMAPE", "smape", "smape_ci", "Per cent, 0 to 200"},
    {"VPT", "vpt", "vpt_ci", "Steps for which the state is right"},
    {"CRPS", "crps", "", "Of samples, in deviations"},
    {"energy score", "energy_score", "", "Of samples of whole states, in deviations"},
    {"drift of the energy", "energy_drift", "", "In deviations of the true energies"},
    {"VRMSE of the last state", "baselines.last.vrmse", "", "Without a model"},
    {"VRMSE of a line", "baselines.linear.vrmse", "", "Without a model"},
    {"VRMSE of the mean", "baselines.mean.vrmse", "", "Without a model"},
};

void state_tables_print(buffer *html, const report_model *model)
{
    if (model->dynamics) print_dynamics(html, model->dynamics);
    if (model->state_forecast) {
        buffer_printf(html, "<h3>Predicted states</h3>\n");
        print_state_lines(html, model->state_forecast, forecast_lines,
                          sizeof forecast_lines / sizeof *forecast_lines);
    }
    if (model->probe) print_probe(html, model->probe);
}

// ---- compare ----

void state_tables_print_comparison(buffer *html, const report_model *model)
{
    const json_tree *models = json_tree_find(model->compare, "models"),
                    *pairs = json_tree_find(model->compare, "pairs");
    buffer_printf(html, "<table><tr><th>model</th><th>rank</th><th>mean</th><th>runs</th>"
                        "<th>deviation over runs</th></tr>\n");
    for (const json_tree *one = models ? models->child : NULL; one; one = one->next) {
        buffer_printf(html, "<tr><td>");
        html_page_text(html, json_tree_string(one, "name"));
        buffer_printf(html, "</td>");
        print_plain(html, one, "rank");
        print_score(html, one, "mean", "mean_ci");
        print_plain(html, one, "runs");
        print_plain(html, one, "deviation");
        buffer_printf(html, "</tr>\n");
    }
    buffer_printf(html, "</table>\n");
    if (!pairs || !pairs->child) return;
    buffer_printf(html, "<table><tr><th>pair</th><th>difference</th><th>p</th>"
                        "<th>p, adjusted</th></tr>\n");
    for (const json_tree *one = pairs->child; one; one = one->next) {
        buffer_printf(html, "<tr><td>");
        html_page_text(html, json_tree_string(one, "first"));
        buffer_printf(html, " - ");
        html_page_text(html, json_tree_string(one, "second"));
        buffer_printf(html, "</td>");
        print_score(html, one, "difference", "difference_ci");
        print_plain(html, one, "p");
        print_plain(html, one, "p_adjusted");
        buffer_printf(html, "</tr>\n");
    }
    buffer_printf(html, "</table>\n");
}
