// SPDX-License-Identifier: MIT
// plumb measure: kappa, R2, Sym and SyMetric of the latents of a model.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

enum { MOST_ANGLES = 256 };

typedef struct measure_command {
    const char *latent, *truth, *canonical, *variance, *points_at;
    const char *items, *require;
    int method;
    const char *angles, *momenta;
    plumb_phase_space_options phase_space;
    plumb_symetric_options symetric; // the nested options of `phase_space`
    plumb_kappa_options kappa;
    bool angle[MOST_ANGLES];
    bool json;
} measure_command;

static const char *const methods[] = {"pr", "mlp", "both", NULL};
enum { METHOD_PR, METHOD_MLP, METHOD_BOTH };

// clang-format off
#define AT(member) .offset = offsetof(measure_command, member)
static const cli_option rows[] = {
    {.name = "latent", .group = "input", .kind = OPTION_STRING, AT(latent), .value = "F",
     .help = "the latents of the model (trajectories, steps, 2m), q first then p"},
    {.name = "truth", .kind = OPTION_STRING, AT(truth), .value = "F",
     .help = "the true states (trajectories, steps, 2n), q first then p"},
    {.name = "canonical", .kind = OPTION_STRING, AT(canonical), .value = "F",
     .help = "the true states in their fewest canonical coordinates, for kappa; an array "
             "\"canonical\" next to truth is used by itself"},
    {.name = "variance", .kind = OPTION_STRING, AT(variance), .value = "F",
     .help = "posterior variance of the latents (trajectories, 2m) or (trajectories, steps, 2m)"},
    {.name = "momenta", .kind = OPTION_STRING, AT(momenta), .value = "F",
     .help = "the latents are (q, velocity) of a Lagrangian model: its momenta dL/dv "
             "(trajectories, steps, m), for kappa"},
    {.name = "lagrangian", FROM(phase_space_options, phase_space, "fit_momenta")},
    {.name = "angles", .kind = OPTION_STRING, AT(angles), .value = "I,...|none",
     .help = "which true positions, counted from 0, are angles; by default those that range over "
             "more than a turn may be"},
    {.name = "nonfinite", FROM(symetric_options, symetric, "nonfinite")},
    {.name = "drop-nonfinite", .sets = true, .kind = OPTION_ENUM, AT(symetric.nonfinite),
     .set_to = PLUMB_SYMETRIC_NONFINITE_DROP,
     .help = "leave out trajectories that are not finite, and say how many"},
    {.name = "method", .group = "measures", .kind = OPTION_ENUM, AT(method), .words = methods,
     .help = "the map from latents to truth: polynomial regression, a small network, or both"},
    {.name = "published", FROM(phase_space_options, phase_space, "published_only")},
    {.name = "resamples", FROM(symetric_options, symetric, "resamples")},
    {.name = "seed", FROM(symetric_options, symetric, "seed")},
    {.name = "threads", FROM(symetric_options, symetric, "threads")},
    {.name = "kappa-bar", FROM(kappa_options, kappa, "kappa_bar"), .group = "kappa"},
    {.name = "estimator", FROM(kappa_options, kappa, "estimator")},
    {.name = "centres", FROM(kappa_options, kappa, "centres")},
    {.name = "symplectic", FROM(kappa_options, kappa, "symplectic")},
    {.name = "mode", FROM(symetric_options, symetric, "mode"), .group = "SyMetric"},
    {.name = "batch", FROM(symetric_options, symetric, "batch")},
    {.name = "batches", FROM(symetric_options, symetric, "max_batches")},
    {.name = "max-order", FROM(symetric_options, symetric, "max_order")},
    {.name = "max-features", FROM(symetric_options, symetric, "max_features")},
    {.name = "order-one-above", FROM(symetric_options, symetric, "order_one_above")},
    {.name = "r2-bar", FROM(symetric_options, symetric, "r2_bar")},
    {.name = "sym-bar", FROM(symetric_options, symetric, "sym_bar")},
    {.name = "sym-cap", FROM(symetric_options, symetric, "sym_cap")},
    {.name = "degenerate-bar", FROM(symetric_options, symetric, "degenerate_bar")},
    {.name = "points", FROM(symetric_options, symetric, "points")},
    {.name = "points-at", .kind = OPTION_STRING, AT(points_at), .value = "F",
     .help = "those steps themselves, whole numbers (trajectories, points)"},
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
    {.name = "items", .group = "output", .kind = OPTION_STRING, AT(items), .value = "F.jsonl",
     .help = "write one record per trajectory"},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "NAME[=X],...",
     .help = "exit 3 if canonical, kappa, symetric, r2 or r2_heldout is below its threshold, or sym "
             "above it"},
    {.name = "json", .kind = OPTION_BOOL, AT(json), .help = "print one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    measure_command *cmd = given;
    cmd->phase_space = plumb_phase_space_defaults();
    cmd->symetric = plumb_symetric_defaults();
    cmd->kappa = plumb_kappa_defaults();
}

// The arrays and the files they belong to.
typedef struct input {
    plumb_file *files[6];
    plumb_array latent, truth, canonical, variance, points, momenta;
    bool has_canonical, has_variance;
} input;

static void input_close(input *in)
{
    for (size_t i = 0; i < sizeof in->files / sizeof *in->files; i++)
        plumb_file_close(in->files[i]);
}

static plumb_status read_together(input *in, const char *path)
{
    plumb_status st = plumb_file_open(&in->files[0], path);
    if (!st) st = plumb_file_read_array(&in->latent, in->files[0], "latent");
    if (!st) st = plumb_file_read_array(&in->truth, in->files[0], "truth");
    in->has_variance = !st && plumb_file_has_array(in->files[0], "variance");
    if (!st && in->has_variance)
        st = plumb_file_read_array(&in->variance, in->files[0], "variance");
    // A number or a flag of that name is something else.
    if (!st && plumb_file_has_array(in->files[0], "canonical")) {
        st = plumb_file_read_array(&in->canonical, in->files[0], "canonical");
        in->has_canonical = !st && in->canonical.ndim == 3;
    }
    return st;
}

static plumb_status read_apart(input *in, const measure_command *cmd)
{
    plumb_status st = plumb_file_read_spec(&in->latent, &in->files[0], cmd->latent, "latent");
    if (!st) st = plumb_file_read_spec(&in->truth, &in->files[1], cmd->truth, "truth");
    return st;
}

static int input_read(input *in, measure_command *cmd, int files, char **file)
{
    const cli_command *c = &cmd_measure;
    const bool apart = cmd->latent || cmd->truth;
    if (files > 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb measure --help", files);
    if (cmd->momenta && cmd->phase_space.fit_momenta)
        return cli_error(c, EXIT_USAGE, "takes --momenta or --lagrangian, not both");
    if (files && apart)
        return cli_error(c, EXIT_USAGE, "takes a file or --latent and --truth, not both");
    if (apart && (!cmd->latent || !cmd->truth))
        return cli_error(c, EXIT_USAGE, "--%s is missing", cmd->latent ? "truth" : "latent");
    if (!files && !apart)
        return cli_error(c, EXIT_USAGE,
                         "wants F.npz or --latent F --truth F; see plumb measure --help");
    plumb_status st = apart ? read_apart(in, cmd) : read_together(in, file[0]);
    if (!st && cmd->variance) {
        in->has_variance = true;
        st = plumb_file_read_spec(&in->variance, &in->files[2], cmd->variance, "variance");
    }
    if (!st && cmd->canonical) {
        in->has_canonical = true;
        st = plumb_file_read_spec(&in->canonical, &in->files[5], cmd->canonical, "canonical");
    }
    if (!st && cmd->points_at) {
        cmd->symetric.eval_index = &in->points;
        st = plumb_file_read_spec(&in->points, &in->files[3], cmd->points_at, "points");
    }
    if (!st && cmd->momenta) {
        st = plumb_file_read_spec(&in->momenta, &in->files[4], cmd->momenta, "momenta");
    }
    return st ? cli_last_error(c) : EXIT_DONE;
}

static void fill_item(plumb_record *record, const void *result, int64_t index)
{
    plumb_symetric_item_record(record, result, index);
}

static void print_network(const plumb_symetric *r, const measure_command *cmd)
{
    const plumb_symetric_training *t = &r->training;
    printf("  %-14s %d layers of %lld, %lld parameters, best of %lld\n", "network",
           cmd->symetric.network_layers, (long long)t->width, (long long)t->parameters,
           (long long)cmd->symetric.network_starts);
    if (t->components)
        printf("  %-14s %lld principal components of %lld latents\n", "which sees",
               (long long)t->components, (long long)r->latents);
    printf("  %-14s %lld other trajectories, %lld points, R2 %.4g\n", "trained on",
           (long long)t->trajectories, (long long)t->points, t->r2);
}

static void print_order(const plumb_symetric *r)
{
    if (r->batch_count == 1)
        printf("  %-14s %d, penalty %.3g, %lld of %lld weights\n", "order", r->order, r->alpha,
               (long long)r->batches[0].nonzero, (long long)(r->batches[0].features * 2 * r->n));
    else printf("  %-14s up to %d\n", "order", r->order);
}

static void print_table(const plumb_symetric *r, double floor, const measure_command *cmd)
{
    char note[96];
    const bool mlp = r->method == PLUMB_SYMETRIC_METHOD_MLP;
    printf("%lld trajectories of %lld steps, truth 2n = %lld, latents %lld of 2m = %lld, ",
           (long long)r->trajectories, (long long)r->steps, (long long)(2 * r->n),
           (long long)r->latents, (long long)(2 * r->m));
    if (mlp) printf("by a network\n\n");
    else
        printf("%s, %lld fit%s\n\n",
               cmd->symetric.mode == PLUMB_SYMETRIC_MODE_REFERENCE ? "reference" : "converged",
               (long long)r->batch_count, r->batch_count == 1 ? "" : "s");
    snprintf(note, sizeof note, "must be above %g", cmd->symetric.r2_bar);
    table_row("R2", r->r2, r->r2_ci, note);
    if (!mlp)
        table_row("R2 held out", r->r2_heldout, r->r2_heldout_ci,
                  "fit on half, scored on the other half");
    snprintf(note, sizeof note, "must be below %g", cmd->symetric.sym_bar);
    table_row("Sym", r->sym, r->sym_ci, note);
    if (floor > 0.1 * cmd->symetric.sym_bar)
        printf("  %-14s %-11.4g the true state itself has no less%s\n", "floor of Sym", floor,
               floor < cmd->symetric.sym_bar ? "" : ", so that no model can pass");
    if (mlp) print_network(r, cmd);
    else print_order(r);
    if (r->unconverged)
        printf("  %-14s %lld Lasso problems stopped before their bar%s\n", "unconverged",
               (long long)r->unconverged,
               r->mode == PLUMB_SYMETRIC_MODE_REFERENCE ? ", as in the published procedure" : "");
    if (r->dropped)
        printf("  %-14s %lld trajector%s not finite throughout\n", "dropped", (long long)r->dropped,
               r->dropped == 1 ? "y" : "ies");
    if (r->batch_count == 1) printf("\nSyMetric %.0f: %s\n", r->symetric, r->why);
    else printf("\nSyMetric %.4g: %s\n", r->symetric, r->why);
}

static void print_kappa(const plumb_phase_space *result, const measure_command *cmd)
{
    const plumb_kappa *r = &result->kappa;
    const plumb_interval none = {(double)NAN, (double)NAN};
    char note[96];
    if (!r->measured) {
        printf("kappa: %s\n", r->why);
        return;
    }
    printf("\n");
    snprintf(note, sizeof note, "must be above %g", cmd->kappa.kappa_bar);
    table_row("kappa", r->kappa, r->kappa_ci, note);
    snprintf(note, sizeof note, "must be above %g; latents to truth, held out", cmd->kappa.r2_bar);
    table_row("R2 of state", r->r2_state, none, note);
    table_row("R2 of latents", r->r2_latent, none, "truth to latents, held out");
    if (cmd->kappa.symplectic)
        table_row("symplectic R2", r->symplectic_r2, none,
                  "truth to latents by a map symplectic by design, held out");
    if (result->canonical_dims)
        printf("  %-14s %lld canonical coordinates instead of the truth\n", "kappa uses",
               (long long)result->canonical_dims);
    if (r->reduced) printf("  %-14s %s\n", "reduced", r->reduced);
    if (r->canonical == PLUMB_VERDICT_NOT_DETERMINED) printf("\ncanonical ?: %s\n", r->why);
    else printf("\ncanonical %d: %s\n", (int)r->canonical, r->why);
}

// The worse of the methods that were measured: a requirement holds for all of them.
static double worst(const plumb_phase_space *r, size_t member, bool high)
{
    const plumb_symetric *of[2] = {&r->polynomial, &r->network};
    const bool has[2] = {r->has_polynomial, r->has_network};
    double found = (double)NAN;
    for (int i = 0; i < 2; i++) {
        const double value = *(const double *)((const char *)of[i] + member);
        if (has[i] && !(high ? value <= found : value >= found)) found = value;
    }
    return found;
}

#define WORST(member, high) worst(r, offsetof(plumb_symetric, member), high)
static int check_requirements(const measure_command *cmd, const plumb_phase_space *r,
                              require_use *use)
{
    const double none = (double)NAN;
    const plumb_kappa *kappa = &r->kappa;
    const bool known = kappa->measured && kappa->canonical != PLUMB_VERDICT_NOT_DETERMINED;
    const requirement bars[] = {
        {"kappa", kappa->measured ? kappa->kappa : none, cmd->kappa.kappa_bar, false},
        {"canonical", known ? (double)kappa->canonical : none, 1.0, false},
        {"symetric", WORST(symetric, false), 1.0, false},
        {"r2", WORST(r2, false), cmd->symetric.r2_bar, false},
        {"r2_heldout", WORST(r2_heldout, false), cmd->symetric.r2_bar, false},
        {"sym", WORST(sym, true), cmd->symetric.sym_bar, true},
    };
    return use(&cmd_measure, cmd->require, bars, sizeof bars / sizeof *bars);
}

static int print_json(const plumb_phase_space *r, const plumb_phase_space_options *opt)
{
    plumb_record *record = plumb_record_create();
    if (!record) return cli_error(&cmd_measure, EXIT_FAILED, "out of memory");
    plumb_phase_space_record(record, r, opt);
    const int code = cli_print_record(&cmd_measure, record);
    plumb_record_free(record);
    return code;
}

static void print_text(const measure_command *cmd, const plumb_phase_space *r)
{
    if (r->has_polynomial) print_table(&r->polynomial, r->sym_floor, cmd);
    if (r->has_polynomial && r->has_network) puts("");
    if (r->has_network) print_table(&r->network, r->sym_floor, cmd);
    print_kappa(r, cmd);
    printf("\nVerdict: %s\n", plumb_verdict_name(r->verdict));
}

static int print_result(const measure_command *cmd, const plumb_phase_space *r,
                        const plumb_phase_space_options *opt)
{
    int code = EXIT_DONE;
    const plumb_symetric *first = r->has_polynomial ? &r->polynomial : &r->network;
    if (cmd->items)
        code = cli_write_items(&cmd_measure, cmd->items, first->trajectories, fill_item, first);
    if (code == EXIT_DONE && cmd->json) code = print_json(r, opt);
    else if (code == EXIT_DONE) print_text(cmd, r);
    return code == EXIT_DONE ? check_requirements(cmd, r, require_check) : code;
}

// "0,2" or "none" into the list of flags.
static int parse_angles(measure_command *cmd)
{
    if (!cmd->angles || !strcmp(cmd->angles, "none")) return EXIT_DONE;
    for (const char *at = cmd->angles; *at;) {
        char *end;
        const long i = strtol(at, &end, 10);
        if (end == at || i < 0 || i >= MOST_ANGLES || (*end && *end != ','))
            return cli_error(&cmd_measure, EXIT_USAGE,
                             "--angles %s: wanted positions counted from 0, as in 0,2, or none",
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
}

static int measure_input(const measure_command *cmd, const input *in, const char *file)
{
    plumb_phase_space result;
    plumb_kappa_options kappa = cmd->kappa;
    const plumb_array *states = in->has_canonical ? &in->canonical : &in->truth;
    if (cmd->angles && states->ndim == 3 && states->shape[2] <= 2 * MOST_ANGLES)
        kappa.angles = cmd->angle;
    const plumb_phase_space_input arrays = {.size = sizeof arrays,
                                            .latent = &in->latent,
                                            .variance = in->has_variance ? &in->variance : NULL,
                                            .momenta = cmd->momenta ? &in->momenta : NULL,
                                            .truth = &in->truth,
                                            .canonical = in->has_canonical ? states : NULL};
    plumb_phase_space_options opt = cmd->phase_space;
    opt.symetric = &cmd->symetric;
    opt.kappa = &kappa;
    opt.polynomial = cmd->method != METHOD_MLP;
    opt.network = cmd->method != METHOD_PR;
    cli_show_log(&cmd_measure);
    progress_begin(opt.polynomial ? "measure" : "measure: training a network");
    const plumb_status st = plumb_phase_space_measure(&result, &arrays, &opt);
    progress_end();
    // With several files the message says by itself which array it is about.
    if (st && file) return cli_error(&cmd_measure, EXIT_FAILED, "%s: %s", file, plumb_last_error());
    if (st) return cli_last_error(&cmd_measure);
    const int code = print_result(cmd, &result, &opt);
    plumb_phase_space_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    measure_command *cmd = given;
    share_options(cmd);
    int code = check_requirements(cmd, &(plumb_phase_space){0}, require_parse);
    if (code == EXIT_DONE) code = parse_angles(cmd);
    if (code != EXIT_DONE) return code;
    input in = {0};
    code = input_read(&in, cmd, files, file);
    if (code == EXIT_DONE) code = measure_input(cmd, &in, files ? file[0] : NULL);
    input_close(&in);
    return code;
}

const cli_command cmd_measure = {
    .name = "measure",
    .summary = "did the latents learn the phase space? kappa, R2, Sym, SyMetric",
    .usage = "F.npz | --latent F --truth F [--variance F] [options]",
    .text =
        "Is there a canonical map from the latent space of a model to the true phase space? F.npz "
        "has arrays \"latent\" (trajectories, steps, 2m) and \"truth\" (trajectories, steps, 2n), "
        "q first then p. It may have \"variance\" and \"canonical\".\n\n"
        "kappa decides: it pulls the symplectic form of the latents back to the true phase space "
        "and compares it with the true form. canonical is 1 if kappa is above 0.9 and the latents "
        "hold the state, 0 if not, and null, with the reason, where the data do not determine "
        "it.\n\n"
        "SyMetric is the published measure: a map F from latents to truth is fitted. R2 says "
        "whether the latents hold the state, Sym = MSE(c A^ A^T, I) with A^ = J A J^T whether F "
        "keeps the symplectic form. SyMetric is 1 if R2 is above 0.9 and Sym below 0.05. "
        "Intervals are over trajectories, or over fits if there are several.",
    .example = "plumb measure latents.npz --require symetric --json",
    .options = rows,
    .options_size = sizeof(measure_command),
    .defaults = defaults,
    .run = run,
};
