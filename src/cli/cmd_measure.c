// SPDX-License-Identifier: MIT
// plumb measure: measures kappa, R2, Sym and SyMetric of the latents of a model.
// It fills the nested options of SyMetric and kappa, reads the arrays and prints the tables.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

// The highest number of positions that --angles can name.
enum { MAX_ANGLES = 256, MAX_CONSTANTS = 8 };

typedef struct measure_command {
    const char *latent, *truth, *canonical, *variance, *points_at;
    const char *items, *require;
    int method;
    const char *angles, *momenta, *energy, *constants;
    plumb_phase_space_options phase_space;
    plumb_symetric_options symetric; // the nested options of `phase_space`
    plumb_kappa_options kappa;
    plumb_flow_options flow;
    bool angle[MAX_ANGLES];
    bool loops;
    cli_format format;
    int64_t cut;
    cli_align align;
} measure_command;

static const char *const methods[] = {"pr", "mlp", "both", NULL};
enum { METHOD_PR, METHOD_MLP, METHOD_BOTH };

// clang-format off
#define AT(member) .offset = offsetof(measure_command, member)
static const cli_option command_options[] = {
    {.name = "latent", .group = "input", .kind = OPTION_STRING, AT(latent), .value = "F",
     .help = "the latents of the model (trajectories, steps, 2m), q first then p"},
    {.name = "truth", .kind = OPTION_STRING, AT(truth), .value = "F",
     .help = "the true states (trajectories, steps, 2n), q first then p"},
    {.name = "canonical", .kind = OPTION_STRING, AT(canonical), .value = "F",
     .help = "the true states in their fewest canonical coordinates, for kappa; an array "
             "\"canonical\" next to truth is used by itself"},
    {.name = "energy", .kind = OPTION_STRING, AT(energy), .value = "F",
     .help = "the true energy (trajectories, steps), for the flow; an array \"energy\" next to truth "
             "is used by itself"},
    {.name = "variance", .kind = OPTION_STRING, AT(variance), .value = "F",
     .help = "posterior variance of the latents (trajectories, 2m) or (trajectories, steps, 2m)"},
    {.name = "momenta", .kind = OPTION_STRING, AT(momenta), .value = "F",
     .help = "the latents are (q, velocity) of a Lagrangian model: its momenta dL/dv "
             "(trajectories, steps, m), which replace it"},
    {.name = "lagrangian", FROM(phase_space_options, phase_space, "fit_momenta"),
     .help = "the latents are (q, velocity) of a Lagrangian model; its momenta are fitted to the "
             "motion of the latents, and replace the velocity"},
    {.name = "cut", .kind = OPTION_INT64, AT(cut), .value = "N",
     .help = "cut trajectories, or one long (steps, 2m), into pieces of N steps"},
    {.name = "align", .kind = OPTION_ENUM, .words = cli_align_words, AT(align),
     .help = "where latents and truth have different numbers of steps, take those at the start or "
             "at the end"},
    {.name = "layout", FROM(phase_space_options, phase_space, "layout")},
    {.name = "truth-layout", FROM(phase_space_options, phase_space, "truth_layout")},
    {.name = "angles", .kind = OPTION_STRING, AT(angles), .value = "I,...|none",
     .help = "which true positions, counted from 0, are angles; by default those whose range is "
             "more than a turn may be"},
    {.name = "constants", .kind = OPTION_STRING, AT(constants), .value = "NAME,...",
     .help = "arrays next to truth, (trajectories,) or (trajectories, k), of constants that differ "
             "between trajectories, or none; by default the array constants, or those of a world "
             "(k, m, l, g, m_1 ...); kappa_constants then decides"},
    {.name = "nonfinite", FROM(symetric_options, symetric, "nonfinite")},
    {.name = "drop-nonfinite", .sets = true, .kind = OPTION_ENUM, AT(symetric.nonfinite),
     .set_to = PLUMB_SYMETRIC_NONFINITE_DROP,
     .help = "leave out trajectories with NaN or infinity, and print how many"},
    {.name = "drop-diverged", FROM(phase_space_options, phase_space, "drop_diverged")},
    {.name = "method", .group = "measures", .kind = OPTION_ENUM, AT(method), .words = methods,
     .help = "the map from latents to truth: polynomial regression, a small network, or both"},
    {.name = "published", FROM(phase_space_options, phase_space, "published_only")},
    {.name = "coordinates-only", FROM(phase_space_options, phase_space, "coordinates_only")},
    {.name = "loops", .kind = OPTION_BOOL, AT(loops),
     .help = "measure closed loops of states instead (plumb simulate --loops): an array \"loop\" "
             "(items,) next to latent and truth has the number of the loop of each item"},
    {.name = "resamples", FROM(symetric_options, symetric, "resamples")},
    {.name = "seed", FROM(symetric_options, symetric, "seed")},
    {.name = "threads", FROM(symetric_options, symetric, "threads")},
    {.name = "kappa-bar", FROM(kappa_options, kappa, "kappa_bar"), .group = "kappa"},
    {.name = "estimator", FROM(kappa_options, kappa, "estimator")},
    {.name = "centres", FROM(kappa_options, kappa, "centres")},
    {.name = "symplectic", FROM(kappa_options, kappa, "symplectic")},
    {.name = "lag", FROM(flow_options, flow, "lag"), .group = "flow"},
    {.name = "change-bar", FROM(flow_options, flow, "change_bar")},
    {.name = "mode", FROM(symetric_options, symetric, "mode"), .group = "SyMetric"},
    {.name = "batch", FROM(symetric_options, symetric, "batch")},
    {.name = "batches", FROM(symetric_options, symetric, "max_batches")},
    {.name = "max-order", FROM(symetric_options, symetric, "max_order")},
    {.name = "max-features", FROM(symetric_options, symetric, "max_features")},
    {.name = "max-cells", FROM(symetric_options, symetric, "max_cells")},
    {.name = "order-one-above", FROM(symetric_options, symetric, "order_one_above")},
    {.name = "r2-bar", FROM(symetric_options, symetric, "r2_bar")},
    {.name = "sym-bar", FROM(symetric_options, symetric, "sym_bar")},
    {.name = "sym-cap", FROM(symetric_options, symetric, "sym_cap")},
    {.name = "degenerate-bar", FROM(symetric_options, symetric, "degenerate_bar")},
    {.name = "points", FROM(symetric_options, symetric, "points")},
    {.name = "points-at", .kind = OPTION_STRING, AT(points_at), .value = "F",
     .help = "the steps where the Jacobian is taken, whole numbers (trajectories, points)"},
    {.name = "alphas", FROM(symetric_options, symetric, "alphas")},
    {.name = "alpha-min", FROM(symetric_options, symetric, "alpha_min")},
    {.name = "alpha-max", FROM(symetric_options, symetric, "alpha_max")},
    {.name = "weight-tolerance", FROM(symetric_options, symetric, "weight_tolerance")},
    {.name = "shift", FROM(symetric_options, symetric, "shift")},
    {.name = "max-sweeps", FROM(symetric_options, symetric, "max_sweeps")},
    {.name = "tolerance", FROM(symetric_options, symetric, "tolerance")},
    {.name = "gap", FROM(symetric_options, symetric, "gap")},
    {.name = "mask", FROM(symetric_options, symetric, "mask")},
    {.name = "variance-bar", FROM(symetric_options, symetric, "variance_bar")},
    {.name = "kl-bar", FROM(symetric_options, symetric, "kl_bar")},
    {.name = "inferred-step", FROM(symetric_options, symetric, "inferred_step")},
    {.name = "r2", FROM(symetric_options, symetric, "r2")},
    {.name = "scale", FROM(symetric_options, symetric, "scale")},
    {.name = "few-points", FROM(symetric_options, symetric, "network_few_points"), .group = "network of --method mlp"},
    {.name = "points-per-parameter", FROM(symetric_options, symetric, "network_points_per_parameter")},
    {.name = "heldout", FROM(symetric_options, symetric, "network_heldout")},
    {.name = "width", FROM(symetric_options, symetric, "network_width")},
    {.name = "layers", FROM(symetric_options, symetric, "network_layers")},
    {.name = "components", FROM(symetric_options, symetric, "network_components")},
    {.name = "starts", FROM(symetric_options, symetric, "network_starts")},
    {.name = "updates", FROM(symetric_options, symetric, "network_updates")},
    {.name = "rows", FROM(symetric_options, symetric, "network_rows")},
    {.name = "rate", FROM(symetric_options, symetric, "network_rate")},
    {.name = "ridge", FROM(symetric_options, symetric, "network_ridge")},
    {.name = "l1", FROM(symetric_options, symetric, "network_l1")},
    {.name = "items", .group = "output", .kind = OPTION_STRING, AT(items), .value = "F.jsonl",
     .help = "write one record per trajectory"},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "NAME[=X],...",
     .help = "exit 3 if verdict, canonical, kappa, symplectic, symetric, r2 or r2_heldout is below its "
             "threshold, or sym above it"},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

static void defaults(void *given)
{
    measure_command *cmd = given;
    cmd->phase_space = plumb_phase_space_defaults();
    cmd->symetric = plumb_symetric_defaults();
    cmd->kappa = plumb_kappa_defaults();
    cmd->flow = plumb_flow_defaults();
}

// The arrays and the files they belong to.
typedef struct measure_arrays {
    plumb_file *files[7];
    plumb_array latent, truth, canonical, variance, points, momenta, energy, action;
    bool has_canonical, has_variance, has_energy, has_action;
    double *fitted; // momenta of --lagrangian
    double *constant_values;
    plumb_array constants; // of --constants
    cli_trajectories trajectories;
} measure_arrays;

// Closes all files; the arrays belong to them.
static void close_input(measure_arrays *in)
{
    for (size_t i = 0; i < sizeof in->files / sizeof *in->files; i++)
        plumb_file_close(in->files[i]);
    free(in->fitted);
    free(in->constant_values);
    cli_trajectories_free(&in->trajectories);
}

// --lagrangian: fits the momenta to the motion of the latents.
static int fit_momenta(measure_arrays *in)
{
    const int64_t *shape = in->latent.shape;
    if (in->latent.ndim != 3) return EXIT_DONE; // the measure names the shape
    const int64_t m = shape[2] / 2;
    in->fitted = malloc((size_t)(shape[0] * shape[1] * m + 1) * sizeof *in->fitted);
    if (!in->fitted) return cli_error(&cmd_measure, EXIT_FAILED, "out of memory for the momenta");
    in->momenta =
        plumb_array_view(in->fitted, PLUMB_FLOAT64, 3, (int64_t[]){shape[0], shape[1], m});
    return plumb_phase_space_fit_momenta(in->fitted, &in->latent) ? cli_last_error(&cmd_measure)
                                                                  : EXIT_DONE;
}

// Has an array the shape of an energy of these states?
static bool is_energy_of(const plumb_array *energy, const plumb_array *truth)
{
    return energy->ndim == 2 && truth->ndim == 3 && energy->shape[0] == truth->shape[0] &&
           energy->shape[1] >= truth->shape[1];
}

// Reads all arrays from one file.
static plumb_status read_together(measure_arrays *in, const char *path)
{
    plumb_status st = plumb_file_open(&in->files[0], path);
    if (!st) st = plumb_file_read_array(&in->latent, in->files[0], "latent");
    if (!st) st = plumb_file_read_array(&in->truth, in->files[0], "truth");
    in->has_variance = !st && plumb_file_has_array(in->files[0], "variance");
    if (!st && in->has_variance)
        st = plumb_file_read_array(&in->variance, in->files[0], "variance");
    // Results of plumb have a number of that name.
    if (!st && plumb_file_has_array(in->files[0], "canonical")) {
        st = plumb_file_read_array(&in->canonical, in->files[0], "canonical");
        in->has_canonical = !st && in->canonical.ndim == in->truth.ndim && in->truth.ndim >= 2;
    }
    // Other files may have an array of that name and another shape.
    if (!st && plumb_file_has_array(in->files[0], "energy")) {
        st = plumb_file_read_array(&in->energy, in->files[0], "energy");
        // Its shape is checked when the layout of the states is known.
        const int64_t axes = in->energy.ndim;
        in->has_energy = !st && in->truth.ndim && in->energy.shape[0] == in->truth.shape[0] &&
                         (axes == 1 || axes == 2 || (axes == 3 && in->energy.shape[2] == 1));
    }
    return st;
}

// Reads latents and truth from files of their own.
static plumb_status read_apart(measure_arrays *in, const measure_command *cmd)
{
    plumb_status st = plumb_file_read_spec(&in->latent, &in->files[0], cmd->latent, "latent");
    if (!st) st = plumb_file_read_spec(&in->truth, &in->files[1], cmd->truth, "truth");
    return st;
}

// Reads one array of --constants, and appends its columns to in->constants.
static int append_constant(measure_arrays *in, plumb_file *file, const char *name)
{
    const cli_command *c = &cmd_measure;
    plumb_array given;
    if (plumb_file_read_array(&given, file, name)) return cli_last_error(c);
    const int64_t rows = in->constants.ndim ? in->constants.shape[0] : given.shape[0];
    if (given.ndim < 1 || given.ndim > 2 || given.shape[0] != rows)
        return cli_error(c, EXIT_FAILED,
                         "--constants: %s must be (trajectories,) or (trajectories, k)", name);
    const int64_t before = in->constants.ndim ? in->constants.shape[1] : 0;
    const int64_t more = given.ndim == 2 ? given.shape[1] : 1, wide = before + more;
    double *values = malloc((size_t)(rows * wide + 1) * sizeof *values);
    if (!values) return cli_error(c, EXIT_FAILED, "out of memory for the constants");
    for (int64_t k = 0; k < rows; k++) {
        for (int64_t i = 0; i < before; i++)
            values[k * wide + i] = in->constant_values[k * before + i];
        plumb_array_to_double(values + k * wide + before, &given, k * more, more);
    }
    free(in->constant_values);
    in->constant_values = values;
    in->constants = plumb_array_view(values, PLUMB_FLOAT64, 2, (int64_t[]){rows, wide});
    return EXIT_DONE;
}

// Without --constants: the array "constants", or those with the names of constants of a world, if
// they have a few numbers per trajectory.
static int find_constants(measure_arrays *in, plumb_file *file)
{
    const int64_t rows = in->truth.ndim ? in->truth.shape[0] : 0;
    const bool together = plumb_file_has_array(file, "constants");
    const char *name = together ? "constants" : plumb_world_constant_name(0);
    for (int64_t i = 1; name; name = together ? NULL : plumb_world_constant_name(i++)) {
        plumb_array found;
        if (!plumb_file_has_array(file, name)) continue;
        if (plumb_file_read_array(&found, file, name)) return cli_last_error(&cmd_measure);
        if (found.ndim < 1 || found.ndim > 2 || found.shape[0] != rows ||
            (found.ndim == 2 && (found.shape[1] < 1 || found.shape[1] > MAX_CONSTANTS)))
            continue;
        const int code = append_constant(in, file, name);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

// --constants: the arrays with these names in the file of the truth.
static int read_constants(measure_arrays *in, const measure_command *cmd)
{
    plumb_file *file = in->files[1] ? in->files[1] : in->files[0];
    char name[128];
    for (const char *at = cmd->constants; *at;) {
        const size_t length = strcspn(at, ",");
        if (!length || length >= sizeof name)
            return cli_error(&cmd_measure, EXIT_USAGE,
                             "--constants takes names of arrays, as m,k; not \"%s\"",
                             cmd->constants);
        memcpy(name, at, length);
        name[length] = 0;
        const int code = append_constant(in, file, name);
        if (code != EXIT_DONE) return code;
        at += length + (at[length] == ',');
    }
    return EXIT_DONE;
}

static bool is_table(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".csv") || !strcmp(dot, ".tsv"));
}

// Brings all arrays to (trajectories, steps, ...), and checks what the library cannot.
static int shape_arrays(measure_arrays *in, const measure_command *cmd)
{
    const cli_command *c = &cmd_measure;
    cli_trajectories *all = &in->trajectories;
    cli_trajectories_add(all, "latent", &in->latent, 3);
    cli_trajectories_add(all, "truth", &in->truth, 3);
    if (in->has_variance) cli_trajectories_add(all, "variance", &in->variance, 3);
    if (in->has_canonical) cli_trajectories_add(all, "canonical", &in->canonical, 3);
    if (in->has_energy) cli_trajectories_add(all, "energy", &in->energy, 2);
    if (cmd->momenta) cli_trajectories_add(all, "momenta", &in->momenta, 3);
    if (in->constants.ndim) cli_trajectories_add(all, "constants", &in->constants, 3);
    int code = cli_trajectories_add_action(all, &in->has_action, &in->action, c, in->files[0]);
    if (code == EXIT_DONE)
        code = cli_trajectories_shape(all, c, in->files[0], cmd->cut, cmd->align);
    if (code != EXIT_DONE) return code;
    if (cmd->energy && !is_energy_of(&in->energy, &in->truth))
        return cli_error(c, EXIT_FAILED, "--energy must be (trajectories, steps) of the truth");
    in->has_energy = in->has_energy && is_energy_of(&in->energy, &in->truth);
    if (in->constants.ndim && in->truth.ndim == 3 && in->constants.shape[0] != in->truth.shape[0])
        return cli_error(c, EXIT_FAILED, "--constants: %lld values for %lld trajectories",
                         (long long)in->constants.shape[0], (long long)in->truth.shape[0]);
    return EXIT_DONE;
}

// Checks which arrays are given, and reads them.
static int read_input(measure_arrays *in, measure_command *cmd, int files, char **file)
{
    const cli_command *c = &cmd_measure;
    // F --truth T: F has the latents.
    if (files == 1 && cmd->truth && !cmd->latent) cmd->latent = file[--files];
    const bool apart = cmd->latent || cmd->truth;
    if (files > 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; of two: --latent F --truth F2",
                         files);
    if (cmd->momenta && cmd->phase_space.fit_momenta)
        return cli_error(c, EXIT_USAGE, "takes --momenta or --lagrangian, not both");
    if (files && apart)
        return cli_error(c, EXIT_USAGE,
                         "takes a file, a file and --truth, or --latent and --truth");
    if (apart && (!cmd->latent || !cmd->truth))
        return cli_error(c, EXIT_USAGE, "--%s is missing", cmd->latent ? "truth" : "latent");
    if (!files && !apart)
        return cli_error(c, EXIT_USAGE,
                         "needs F.npz or --latent F --truth F; see plumb measure --help");
    plumb_status st = apart ? read_apart(in, cmd) : read_together(in, file[0]);
    if (st && files && is_table(file[0]))
        return cli_error(c, EXIT_FAILED,
                         "%s; of a table, name the columns: --latent %s:z0,z1 --truth %s:q,p",
                         plumb_last_error(), file[0], file[0]);
    if (!st && cmd->variance) {
        in->has_variance = true;
        st = plumb_file_read_spec(&in->variance, &in->files[2], cmd->variance, "variance");
    }
    if (!st && cmd->canonical) {
        in->has_canonical = true;
        st = plumb_file_read_spec(&in->canonical, &in->files[5], cmd->canonical, "canonical");
    }
    if (!st && cmd->energy) {
        in->has_energy = true;
        st = plumb_file_read_spec(&in->energy, &in->files[6], cmd->energy, "energy");
    }
    // The options keep a pointer into `in`, which lives until the result is printed.
    if (!st && cmd->points_at) {
        cmd->symetric.eval_index = &in->points;
        st = plumb_file_read_spec(&in->points, &in->files[3], cmd->points_at, "points");
    }
    if (!st && cmd->momenta)
        st = plumb_file_read_spec(&in->momenta, &in->files[4], cmd->momenta, "momenta");
    if (st) return cli_last_error(c);
    const bool named = cmd->constants && strcmp(cmd->constants, "none");
    int code = named ? read_constants(in, cmd) : EXIT_DONE;
    if (code == EXIT_DONE) code = shape_arrays(in, cmd);
    if (code == EXIT_DONE && !cmd->constants)
        code = find_constants(in, in->files[1] ? in->files[1] : in->files[0]);
    if (code == EXIT_DONE && cmd->phase_space.fit_momenta) code = fit_momenta(in);
    // SyMetric and kappa use the same momenta.
    if (cmd->momenta || in->fitted) cmd->symetric.momenta = &in->momenta;
    return code;
}

// One line of --items.
static void fill_item(plumb_record *record, const void *context, int64_t index)
{
    const plumb_phase_space *result = context;
    const plumb_symetric *first = result->has_polynomial ? &result->polynomial : &result->network;
    plumb_symetric_item_record(record, first, index);
    plumb_kappa_item_record(record, &result->kappa, first->items[index].trajectory);
}

// Rows about the network of SyMetric.
static void print_network(const plumb_symetric *symetric, const measure_command *cmd)
{
    const plumb_symetric_training *training = &symetric->training;
    table_text("network", "%d layers of %lld, %lld parameters, best of %lld",
               cmd->symetric.network_layers, (long long)training->width,
               (long long)training->parameters, (long long)cmd->symetric.network_starts);
    if (training->components)
        table_text("its input", "%lld principal components of %lld latents",
                   (long long)training->components, (long long)symetric->latents);
    table_text("trained on", "%lld other trajectories, %lld points, R2 %.4g",
               (long long)training->trajectories, (long long)training->points, training->r2);
}

// The row about the polynomial.
static void print_order(const plumb_symetric *symetric)
{
    if (symetric->batch_count == 1)
        table_text("order", "%d, penalty %.3g, %lld of %lld weights", symetric->order,
                   symetric->alpha, (long long)symetric->batches[0].nonzero,
                   (long long)(symetric->batches[0].features * 2 * symetric->n));
    else table_text("order", "up to %d", symetric->order);
}

// The first line: what was measured.
static void print_heading(const plumb_symetric *symetric)
{
    table_paragraph("%lld trajectories of %lld steps, truth 2n = %lld, latents %lld of 2m = %lld",
                    (long long)symetric->trajectories, (long long)symetric->steps,
                    (long long)(2 * symetric->n), (long long)symetric->latents,
                    (long long)(2 * symetric->m));
}

// The heading of SyMetric: how it was measured.
static void print_method(const plumb_symetric *symetric, const measure_command *cmd)
{
    if (symetric->method == PLUMB_SYMETRIC_METHOD_MLP) puts("\npublished: SyMetric by a network");
    else
        printf("\npublished: SyMetric, %s, %lld fit%s\n",
               cmd->symetric.mode == PLUMB_SYMETRIC_MODE_REFERENCE ? "reference" : "converged",
               (long long)symetric->batch_count, symetric->batch_count == 1 ? "" : "s");
}

// The table of one method of SyMetric.
static void print_symetric(const plumb_symetric *symetric, double floor, const measure_command *cmd)
{
    char note[96];
    const bool network = symetric->method == PLUMB_SYMETRIC_METHOD_MLP;
    print_method(symetric, cmd);
    snprintf(note, sizeof note, "must be above %g", cmd->symetric.r2_bar);
    table_row("R2", symetric->r2, symetric->r2_ci, note);
    if (!network)
        table_row("R2 held out", symetric->r2_heldout, symetric->r2_heldout_ci,
                  "fit on half, scored on the other half");
    snprintf(note, sizeof note, "must be below %g", cmd->symetric.sym_bar);
    table_row("Sym", symetric->sym, symetric->sym_ci, note);
    // A floor far below the threshold does not matter and is not shown.
    if (floor > 0.1 * cmd->symetric.sym_bar)
        table_value("floor of Sym", floor,
                    floor < cmd->symetric.sym_bar
                        ? "Sym of the true state itself"
                        : "Sym of the true state itself; no model can pass");
    if (network) print_network(symetric, cmd);
    else print_order(symetric);
    if (symetric->unconverged)
        table_text("unconverged", "%lld Lasso problems stopped before their tolerance%s",
                   (long long)symetric->unconverged,
                   symetric->mode == PLUMB_SYMETRIC_MODE_REFERENCE ? ", as in the published code"
                                                                   : "");
    if (symetric->dropped)
        table_text("dropped", "%lld trajector%s with NaN or infinity%s",
                   (long long)symetric->dropped, symetric->dropped == 1 ? "y" : "ies",
                   cmd->phase_space.drop_diverged ? ", or that diverge" : "");
    putchar('\n');
    table_paragraph("SyMetric %.4g: %s", symetric->symetric, symetric->why);
}

// Below this kappa describes a part of the latents only.
static const double low_r2_latent = 0.5;

// The table of kappa, or why it was not measured.
static void print_kappa(const plumb_phase_space *result, const measure_command *cmd)
{
    const plumb_kappa *kappa = &result->kappa;
    const plumb_interval none = {(double)NAN, (double)NAN};
    char note[96];
    putchar('\n');
    if (!kappa->measured) {
        table_paragraph("kappa: %s", kappa->why);
        return;
    }
    snprintf(note, sizeof note, "must be above %g", cmd->kappa.kappa_bar);
    table_row("kappa", kappa->kappa, kappa->kappa_ci, note);
    table_row("R2 of latents", kappa->r2_latent, none,
              kappa->r2_latent < low_r2_latent
                  ? "truth to latents, held out: low, so kappa is that of a part of the latents"
                  : "truth to latents, held out");
    table_value("score", kappa->score, "for ranking: kappa x R2 of latents if they hold the state");
    snprintf(note, sizeof note, "must be above %g; latents to truth, held out", cmd->kappa.r2_bar);
    table_row("R2 of state", kappa->r2_state, none, note);
    if (result->canonical_dims)
        table_text("kappa uses", "%lld canonical coordinates instead of the truth",
                   (long long)result->canonical_dims);
    table_kappa(kappa);
}

// The worst value over the methods that were measured: a requirement must hold for all of them.
static double find_worst(const plumb_phase_space *result, size_t member, bool highest)
{
    const plumb_symetric *methods_measured[2] = {&result->polynomial, &result->network};
    const bool is_measured[2] = {result->has_polynomial, result->has_network};
    double worst = (double)NAN;
    for (int i = 0; i < 2; i++) {
        // `member` is the offset of a double in plumb_symetric.
        const double value = *(const double *)((const char *)methods_measured[i] + member);
        // Negated, so that the first value replaces the NaN.
        if (is_measured[i] && !(highest ? value <= worst : value >= worst)) worst = value;
    }
    return worst;
}

// Planted models that are right have more, those that are wrong have less.
static const double symplectic_bar = 0.99;

#define WORST(member, high) find_worst(result, offsetof(plumb_symetric, member), high)
// Before measuring with require_parse, after it with require_check.
static int check_requirements(const measure_command *cmd, const plumb_phase_space *result,
                              require_use *use)
{
    const double none = (double)NAN;
    const plumb_kappa *kappa = &result->kappa;
    const bool known = kappa->measured && kappa->canonical != PLUMB_VERDICT_NOT_DETERMINED;
    const bool decided = result->verdict != PLUMB_VERDICT_NOT_DETERMINED;
    const requirement list[] = {
        {"kappa", kappa->measured ? kappa->kappa : none, cmd->kappa.kappa_bar, false},
        {"canonical", known ? (double)kappa->canonical : none, 1.0, false},
        {"verdict", decided ? (double)result->verdict : none, 1.0, false},
        {"symplectic", kappa->measured ? kappa->symplectic : none, symplectic_bar, false},
        {"symetric", WORST(symetric, false), 1.0, false},
        {"r2", WORST(r2, false), cmd->symetric.r2_bar, false},
        {"r2_heldout", WORST(r2_heldout, false), cmd->symetric.r2_bar, false},
        {"sym", WORST(sym, true), cmd->symetric.sym_bar, true},
    };
    return use(&cmd_measure, cmd->require, list, sizeof list / sizeof *list);
}

// Context of cli_print().
typedef struct measure_output {
    const measure_command *cmd;
    const plumb_phase_space *result;
    const plumb_phase_space_options *options;
} measure_output;

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const measure_output *output = context;
    plumb_phase_space_record(record, output->result, output->options);
}

// Says that SyMetric counts trajectories that kappa leaves out.
static void print_diverged(const plumb_phase_space *result, const measure_command *cmd)
{
    const plumb_kappa *kappa = &result->kappa;
    if (!kappa->diverged_count || cmd->phase_space.drop_diverged) return;
    table_paragraph("SyMetric and the flow include %s; --drop-diverged leaves them out there too.",
                    kappa->diverged_count == 1 ? "the trajectory that diverges"
                                               : "the trajectories that diverge");
}

// Says that the published measure disagrees with the verdict, and why that may be.
static void print_disagreement(const plumb_phase_space *result)
{
    const plumb_symetric *published =
        result->has_polynomial ? &result->polynomial : &result->network;
    if (result->verdict == PLUMB_VERDICT_NOT_DETERMINED || published->degenerate) return;
    const bool passes = published->symetric >= 1.0;
    if (passes == (result->verdict == PLUMB_VERDICT_LEARNT)) return;
    table_paragraph(passes ? "SyMetric is 1 all the same: it does not see the flow, and its fitted "
                             "map can keep areas that the latents lose. It does not decide."
                           : "SyMetric is 0 all the same: it takes the slopes of its fitted map in "
                             "directions in which there are no data, where they are arbitrary. It "
                             "does not decide.");
}

// The text output: kappa and the flow, SyMetric as published, then the verdict.
static void print_tables(const void *context)
{
    const measure_command *cmd = ((const measure_output *)context)->cmd;
    const plumb_phase_space *result = ((const measure_output *)context)->result;
    print_heading(result->has_polynomial ? &result->polynomial : &result->network);
    print_kappa(result, cmd);
    table_flow(&result->flow);
    if (result->has_polynomial) print_symetric(&result->polynomial, result->sym_floor, cmd);
    if (result->has_network) print_symetric(&result->network, result->sym_floor, cmd);
    print_disagreement(result);
    print_diverged(result, cmd);
    printf("\nVerdict: %s\n", plumb_verdict_name(result->verdict));
}

// Items are those of the first method that was measured.
static int print_result(const measure_command *cmd, const plumb_phase_space *result,
                        const plumb_phase_space_options *options)
{
    const measure_output output = {cmd, result, options};
    const plumb_symetric *first = result->has_polynomial ? &result->polynomial : &result->network;
    int code = EXIT_DONE;
    if (cmd->items)
        code = cli_write_items(&cmd_measure, cmd->items, first->trajectories, fill_item, result);
    if (code == EXIT_DONE)
        code = cli_print(&cmd_measure, cmd->format, fill_record, print_tables, &output);
    return code == EXIT_DONE ? check_requirements(cmd, result, require_check) : code;
}

// Parses --angles: "0,2" or "none".
static int parse_angles(measure_command *cmd)
{
    // With "none" all entries of `angle` stay false.
    if (!cmd->angles || !strcmp(cmd->angles, "none")) return EXIT_DONE;
    for (const char *at = cmd->angles; *at;) {
        char *end;
        const long i = strtol(at, &end, 10);
        if (end == at || i < 0 || i >= MAX_ANGLES || (*end && *end != ','))
            return cli_error(&cmd_measure, EXIT_USAGE,
                             "--angles takes positions counted from 0, as 0,2, or none; not \"%s\"",
                             cmd->angles);
        cmd->angle[i] = true;
        at = *end ? end + 1 : end;
    }
    return EXIT_DONE;
}

// Options that SyMetric and kappa share.
static void share_options(measure_command *cmd)
{
    cmd->kappa.resamples = cmd->symetric.resamples;
    cmd->kappa.seed = cmd->symetric.seed;
    cmd->kappa.drop_nonfinite = cmd->symetric.nonfinite == PLUMB_SYMETRIC_NONFINITE_DROP;
    cmd->flow.resamples = cmd->kappa.resamples;
    cmd->flow.seed = cmd->kappa.seed;
    cmd->flow.drop_nonfinite = cmd->kappa.drop_nonfinite;
}

// Measures the arrays and prints the result. `file` is NULL if there are several files.
static int measure_input(const measure_command *cmd, const measure_arrays *in, const char *file)
{
    plumb_phase_space result;
    plumb_kappa_options kappa = cmd->kappa;
    // Angles are those of the coordinates that kappa uses.
    const plumb_array *states = in->has_canonical ? &in->canonical : &in->truth;
    // A wrong shape is left to the library, whose message names the array.
    if (cmd->angles && states->ndim == 3 && states->shape[2] <= 2 * MAX_ANGLES)
        kappa.angles = cmd->angle;
    const plumb_phase_space_input arrays = {.size = sizeof arrays,
                                            .latent = &in->latent,
                                            .variance = in->has_variance ? &in->variance : NULL,
                                            .momenta = cmd->symetric.momenta,
                                            .truth = &in->truth,
                                            .canonical = in->has_canonical ? states : NULL,
                                            .energy = in->has_energy ? &in->energy : NULL,
                                            .action = in->has_action ? &in->action : NULL};
    plumb_phase_space_options opt = cmd->phase_space;
    opt.fit_momenta = false; // they are fitted already
    opt.symetric = &cmd->symetric;
    if (in->constants.ndim) kappa.constants = &in->constants;
    opt.kappa = &kappa;
    opt.flow = &cmd->flow;
    opt.polynomial = cmd->method != METHOD_MLP;
    opt.network = cmd->method != METHOD_PR;
    cli_show_log(&cmd_measure);
    progress_begin(opt.polynomial ? "measure" : "measure: training a network");
    const plumb_status st = plumb_phase_space_measure(&result, &arrays, &opt);
    progress_end();
    // With several files the message itself names the array.
    if (st && file) return cli_error(&cmd_measure, EXIT_FAILED, "%s: %s", file, plumb_last_error());
    if (st) return cli_last_error(&cmd_measure);
    const int code = print_result(cmd, &result, &opt);
    plumb_phase_space_clear(&result);
    return code;
}

// ---- loops ----

static void fill_loops(plumb_record *record, const void *context)
{
    plumb_loops_record(record, context);
    plumb_record_set_string(record, "version", plumb_version());
}

static void print_loops(const void *context)
{
    const plumb_loops *r = context;
    table_paragraph("%lld closed loops of %lld states", (long long)r->loops, (long long)r->states);
    putchar('\n');
    table_loops(r);
}

static int check_loops(const measure_command *cmd, const plumb_loops *r, require_use *use)
{
    // A negative constant, q and p exchanged, is canonical too.
    const requirement list[] = {{"loops", fabs(r->cosine), 0.99, false}};
    return use(&cmd_measure, cmd->require, list, sizeof list / sizeof *list);
}

// --loops: the first step of the arrays of one file.
static int measure_loops(const measure_command *cmd, int files, char **file)
{
    const cli_command *c = &cmd_measure;
    if (files != 1)
        return cli_error(c, EXIT_USAGE, "--loops takes one file, with latent, truth and loop");
    int code = check_loops(cmd, &(plumb_loops){0}, require_parse);
    if (code != EXIT_DONE) return code;
    plumb_file *opened = NULL;
    plumb_array latent, truth, loop;
    plumb_loops result = {0};
    plumb_loops_options opt = plumb_loops_defaults();
    opt.resamples = cmd->symetric.resamples, opt.seed = cmd->symetric.seed;
    plumb_status st = plumb_file_open(&opened, file[0]);
    if (!st) st = plumb_file_read_array(&latent, opened, "latent");
    // The minimal canonical coordinates, if the file has them.
    const bool canonical = !st && plumb_file_has_array(opened, "canonical");
    if (!st) st = plumb_file_read_array(&truth, opened, canonical ? "canonical" : "truth");
    if (!st) st = plumb_file_read_array(&loop, opened, "loop");
    const bool is_read = !st;
    if (!st) st = plumb_loops_measure(&result, &latent, &truth, &loop, &opt);
    plumb_file_close(opened);
    // Messages about files name the file; those about arrays do not.
    if (st && is_read) return cli_error(c, EXIT_FAILED, "%s: %s", file[0], plumb_last_error());
    if (st) return cli_last_error(c);
    code = cli_print(c, cmd->format, fill_loops, print_loops, &result);
    if (code == EXIT_DONE) code = check_loops(cmd, &result, require_check);
    plumb_loops_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    measure_command *cmd = given;
    if (cmd->loops) return measure_loops(cmd, files, file);
    share_options(cmd);
    int code = check_requirements(cmd, &(plumb_phase_space){0}, require_parse);
    if (code == EXIT_DONE) code = parse_angles(cmd);
    if (code != EXIT_DONE) return code;
    if (require_has(cmd->require, "symplectic")) cmd->kappa.symplectic = true;
    measure_arrays in = {0};
    code = read_input(&in, cmd, files, file);
    if (code == EXIT_DONE) code = measure_input(cmd, &in, files ? file[0] : NULL);
    close_input(&in);
    return code;
}

const cli_command cmd_measure = {
    .name = "measure",
    .summary = "measure latents: kappa, R2, Sym, SyMetric and the verdict",
    .usage = "F.npz [--truth F] | --latent F --truth F [--variance F] [options]",
    .text =
        "Did the model learn the physics? Two questions: are its latents the true phase space in "
        "other canonical coordinates, and do they move as the truth moves? F.npz has arrays "
        "\"latent\" (trajectories, steps, 2m) and \"truth\" (trajectories, steps, 2n), "
        "q first then p. It may have \"variance\", \"canonical\" and \"energy\".\n\n"
        "kappa decides about the coordinates: the symplectic form of the latents is pulled back to "
        "the true phase space "
        "and compared with the true form. canonical is 1 if kappa is above 0.9 and the latents "
        "hold the state, 0 if not, and null, with the reason, where the data do not determine "
        "it. The flow is not learnt where the area or the energy changes by more than a tenth over "
        "the trajectory, beyond the true flow. The verdict joins the two.\n\n"
        "SyMetric is the published measure: a map F from latents to truth is fitted. R2 says "
        "whether the latents hold the state, Sym = MSE(c A^ A^T, I) with A^ = J A J^T whether F "
        "keeps the symplectic form. SyMetric is 1 if R2 is above 0.9 and Sym below 0.05. "
        "Intervals are over trajectories, or over fits if there are several.",
    .example = "plumb measure latents.npz --require symetric --json",
    .options = command_options,
    .options_size = sizeof(measure_command),
    .defaults = defaults,
    .run = run,
};
