// SPDX-License-Identifier: MIT
// plumb measure: R2, Sym and SyMetric of a model's latents as published, and plumb's own kappa.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/command.h"

enum { MOST_ANGLES = 256 };

typedef struct settings {
    const char *latent, *truth, *canonical, *variance, *points_at;
    const char *items, *require;
    int method, mode, mask, r2, scale, nonfinite;
    const char *angles, *momenta;
    bool lagrangian;
    int estimator;
    plumb_symetric_options opt;
    plumb_kappa_options own;
    bool angle[MOST_ANGLES];
    bool published;
    bool json;
} settings;

static const char *const methods[] = {"pr", "mlp", "both", NULL};
enum { METHOD_PR, METHOD_MLP, METHOD_BOTH };
static const char *const modes[] = {"converged", "reference", NULL};
static const char *const masks[] = {"variance", "kl", "none", NULL};
static const char *const r2s[] = {"residual", "explained", NULL};
static const char *const scales[] = {"mean-max", "minimise", NULL};
static const char *const estimators[] = {"network", "gaussian", "polynomial", NULL};
static const char *const rules[] = {"by-mode", "refuse", "drop", "mean", NULL};

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "latent", .kind = OPTION_TEXT, AT(latent), .value = "F",
     .help = "the model's latents (trajectories, steps, 2m), q first then p"},
    {.name = "truth", .kind = OPTION_TEXT, AT(truth), .value = "F",
     .help = "the true states (trajectories, steps, 2n), q first then p"},
    {.name = "canonical", .kind = OPTION_TEXT, AT(canonical), .value = "F",
     .help = "the true state in its fewest canonical coordinates, for kappa, where truth has more; "
             "an array \"canonical\" beside truth is taken by itself"},
    {.name = "variance", .kind = OPTION_TEXT, AT(variance), .value = "F",
     .help = "posterior variance (trajectories, 2m) or (trajectories, steps, 2m)"},
    {.name = "method", .kind = OPTION_CHOICE, AT(method), .choices = methods,
     .help = "the map from latents to truth: polynomial regression, a small network, or one after "
             "the other"},
    {.name = "mode", .kind = OPTION_CHOICE, AT(mode), .choices = modes,
     .help = "solve each Lasso problem, or repeat the published iterates and their stops"},
    {.name = "batch", .kind = OPTION_INTEGER, AT(opt.batch),
     .help = "trajectories a fit; 0 all in one; -1 by mode: all converged, 5 reference"},
    {.name = "batches", .kind = OPTION_INTEGER, AT(opt.max_batches),
     .help = "measure only the first N batches; 0 all"},
    {.name = "max-order", .kind = OPTION_INT, AT(opt.max_order),
     .help = "highest polynomial order tried"},
    {.name = "max-features", .kind = OPTION_INTEGER, AT(opt.max_features),
     .help = "converged mode tries no order with more features than N; 0: all"},
    {.name = "order-one-above", .kind = OPTION_INTEGER, AT(opt.order_one_above),
     .help = "with more latents than N only order 1 is tried"},
    {.name = "r2-bar", .kind = OPTION_REAL, AT(opt.r2_bar), .value = "X",
     .help = "R2 must be above it; the search for an order stops there too"},
    {.name = "sym-bar", .kind = OPTION_REAL, AT(opt.sym_bar), .value = "X",
     .help = "Sym must be below it"},
    {.name = "sym-cap", .kind = OPTION_REAL, AT(opt.sym_cap), .value = "X",
     .help = "a larger Sym counts as this"},
    {.name = "degenerate-bar", .kind = OPTION_REAL, AT(opt.degenerate_bar), .value = "X",
     .help = "rho below it: the map sees no area in the latent space"},
    {.name = "points", .kind = OPTION_INTEGER, AT(opt.points),
     .help = "steps of a trajectory where the Jacobian is taken, drawn by --seed; 0 all"},
    {.name = "points-at", .kind = OPTION_TEXT, AT(points_at), .value = "F",
     .help = "those steps themselves, whole numbers (trajectories, points)"},
    {.name = "alphas", .kind = OPTION_INTEGER, AT(opt.alphas),
     .help = "how many Lasso penalties, log-spaced"},
    {.name = "alpha-min", .kind = OPTION_REAL, AT(opt.alpha_min), .value = "X",
     .help = "the smallest; the published function alone has 1e-8"},
    {.name = "alpha-max", .kind = OPTION_REAL, AT(opt.alpha_max), .value = "X",
     .help = "the largest; the published function alone has 1e-2"},
    {.name = "weight-tolerance", .kind = OPTION_REAL, AT(opt.weight_tolerance), .value = "X",
     .help = "smaller weights stay out of the Jacobian; the published function alone has 1e-5"},
    {.name = "shift", .kind = OPTION_REAL, AT(opt.shift), .value = "X",
     .help = "added to every entry of the Jacobian, as published"},
    {.name = "max-sweeps", .kind = OPTION_INTEGER, AT(opt.max_sweeps),
     .help = "reference mode: sweeps of a Lasso problem"},
    {.name = "tolerance", .kind = OPTION_REAL, AT(opt.tolerance), .value = "X",
     .help = "reference mode: relative duality gap that ends them"},
    {.name = "gap", .kind = OPTION_REAL, AT(opt.gap), .value = "X",
     .help = "converged mode: relative duality gap to reach"},
    {.name = "few-points", .kind = OPTION_FLAG, AT(opt.network_few_points),
     .help = "mlp: train on fewer points than it should have"},
    {.name = "points-per-parameter", .kind = OPTION_INTEGER, AT(opt.network_points_per_parameter),
     .help = "mlp: how many it should have to train on, for each number of the network"},
    {.name = "heldout", .kind = OPTION_INTEGER, AT(opt.network_heldout),
     .help = "mlp: trajectories it is not trained on but measured; a fifth at most"},
    {.name = "width", .kind = OPTION_INTEGER, AT(opt.network_width),
     .help = "mlp: tanh units of a layer; 0: 4, or 2n where that is more"},
    {.name = "layers", .kind = OPTION_INT, AT(opt.network_layers),
     .help = "mlp: layers, the linear one at the end included"},
    {.name = "components", .kind = OPTION_INTEGER, AT(opt.network_components),
     .help = "mlp: of more latents it sees so many principal components; 0: any number of latents"},
    {.name = "starts", .kind = OPTION_INTEGER, AT(opt.network_starts),
     .help = "mlp: networks trained; the one that fits best counts"},
    {.name = "updates", .kind = OPTION_INTEGER, AT(opt.network_updates),
     .help = "mlp: steps of Adam"},
    {.name = "rows", .kind = OPTION_INTEGER, AT(opt.network_rows),
     .help = "mlp: points an update"},
    {.name = "rate", .kind = OPTION_REAL, AT(opt.network_rate), .value = "X",
     .help = "mlp: learning rate; along a cosine to 1 % of it"},
    {.name = "ridge", .kind = OPTION_REAL, AT(opt.network_ridge), .value = "X",
     .help = "mlp: times the sum of squared weights, beside the mean squared error"},
    {.name = "mask", .kind = OPTION_CHOICE, AT(mask), .choices = masks,
     .help = "with --variance, a pair of latents counts if a mean variance is small (the code) "
             "or a mean KL to the prior is large (the paper)"},
    {.name = "variance-bar", .kind = OPTION_REAL, AT(opt.variance_bar), .value = "X",
     .help = "for --mask variance"},
    {.name = "kl-bar", .kind = OPTION_REAL, AT(opt.kl_bar), .value = "X",
     .help = "for --mask kl"},
    {.name = "r2", .kind = OPTION_CHOICE, AT(r2), .choices = r2s,
     .help = "1 - SSres/SStot (the code) or SSexplained/SStot (the paper)"},
    {.name = "scale", .kind = OPTION_CHOICE, AT(scale), .choices = scales,
     .help = "c in Sym: 1/mean(max |A^ A^T|) (both), or what minimises Sym (the paper's words)"},
    {.name = "nonfinite", .kind = OPTION_CHOICE, AT(nonfinite), .choices = rules,
     .help = "NaN in the latents: refuse, drop the trajectory, or set to the mean as published"},
    {.name = "drop-nonfinite", .kind = OPTION_SET, AT(nonfinite), .set_to = PLUMB_SYMETRIC_NONFINITE_DROP,
     .help = "leave out whole trajectories that are not finite, and say how many"},
    {.name = "published", .kind = OPTION_FLAG, AT(published),
     .help = "only the published numbers: no kappa, which takes most of the time, and no floor"},
    {.name = "kappa-bar", .kind = OPTION_REAL, AT(own.kappa_bar), .value = "X",
     .help = "kappa must be above it for a model to be canonical"},
    {.name = "estimator", .kind = OPTION_CHOICE, AT(estimator), .choices = estimators,
     .help = "how kappa fits the map from truth to latents"},
    {.name = "centres", .kind = OPTION_INTEGER, AT(own.centres),
     .help = "of the kernels of that map"},
    {.name = "angles", .kind = OPTION_TEXT, AT(angles), .value = "I,...|none",
     .help = "which true positions, counted from 0, are angles; by default those that range over "
             "more than a turn may be"},
    {.name = "momenta", .kind = OPTION_TEXT, AT(momenta), .value = "F",
     .help = "the latents are (q, velocity) of a Lagrangian model: its momenta dL/dv "
             "(trajectories, steps, m), for kappa"},
    {.name = "lagrangian", .kind = OPTION_FLAG, AT(lagrangian),
     .help = "the same, and the momenta are fitted to the motion of the latents"},
    {.name = "symplectic", .kind = OPTION_FLAG, AT(own.symplectic),
     .help = "symplectic_r2 too: fit a map that is symplectic by design; takes seconds"},
    {.name = "resamples", .kind = OPTION_INTEGER, AT(opt.resamples),
     .help = "bootstrap draws for the 95 % intervals; 0 none"},
    {.name = "seed", .kind = OPTION_SEED, AT(opt.seed), .help = "of the points and the bootstrap"},
    {.name = "threads", .kind = OPTION_INT, AT(opt.threads),
     .help = "0: all cores; changes no result"},
    {.name = "items", .kind = OPTION_TEXT, AT(items), .value = "F.jsonl",
     .help = "write one record a trajectory"},
    {.name = "require", .kind = OPTION_TEXT, AT(require), .value = "NAME[=BAR],...",
     .help = "exit 3 if canonical, kappa, symetric, r2 or r2_heldout is below its bar, or sym above it"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    settings *s = given;
    s->opt = plumb_symetric_defaults();
    s->own = plumb_kappa_defaults();
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

static plumb_status read_apart(input *in, const settings *s)
{
    plumb_status st = plumb_file_read_spec(&in->latent, &in->files[0], s->latent, "latent");
    if (!st) st = plumb_file_read_spec(&in->truth, &in->files[1], s->truth, "truth");
    return st;
}

static int input_read(input *in, settings *s, int files, char **file)
{
    const cli_command *c = &cmd_measure;
    const bool apart = s->latent || s->truth;
    if (files > 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb measure --help", files);
    if (s->momenta && s->lagrangian)
        return cli_error(c, EXIT_USAGE, "takes --momenta or --lagrangian, not both");
    if (files && apart)
        return cli_error(c, EXIT_USAGE, "takes a file or --latent and --truth, not both");
    if (apart && (!s->latent || !s->truth))
        return cli_error(c, EXIT_USAGE, "--%s is missing", s->latent ? "truth" : "latent");
    if (!files && !apart)
        return cli_error(c, EXIT_USAGE,
                         "wants F.npz or --latent F --truth F; see plumb measure --help");
    plumb_status st = apart ? read_apart(in, s) : read_together(in, file[0]);
    if (!st && s->variance) {
        in->has_variance = true;
        st = plumb_file_read_spec(&in->variance, &in->files[2], s->variance, "variance");
    }
    if (!st && s->canonical) {
        in->has_canonical = true;
        st = plumb_file_read_spec(&in->canonical, &in->files[5], s->canonical, "canonical");
    }
    if (!st && s->points_at) {
        s->opt.eval_index = &in->points;
        st = plumb_file_read_spec(&in->points, &in->files[3], s->points_at, "points");
    }
    if (!st && s->momenta) {
        st = plumb_file_read_spec(&in->momenta, &in->files[4], s->momenta, "momenta");
    }
    return st ? cli_last_error(c) : EXIT_DONE;
}

static void fill_item(plumb_record *record, const void *result, int64_t index)
{
    plumb_symetric_item_record(record, result, index);
}

static void row(const char *name, double value, plumb_interval ci, const char *note)
{
    char text[64];
    printf("  %-14s %-11.4g %-29s %s\n", name, value, cli_format_interval(text, sizeof text, ci),
           note);
}

static void print_network(const plumb_symetric *r, const settings *s)
{
    const plumb_symetric_training *t = &r->training;
    printf("  %-14s %d layers of %lld, %lld parameters, best of %lld\n", "network",
           s->opt.network_layers, (long long)t->width, (long long)t->parameters,
           (long long)s->opt.network_starts);
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

static void print_table(const plumb_symetric *r, double floor, const settings *s)
{
    char note[96];
    const bool mlp = r->method == PLUMB_SYMETRIC_METHOD_MLP;
    printf("%lld trajectories of %lld steps, truth 2n = %lld, latents %lld of 2m = %lld, ",
           (long long)r->trajectories, (long long)r->steps, (long long)(2 * r->n),
           (long long)r->latents, (long long)(2 * r->m));
    if (mlp) printf("by a network\n\n");
    else
        printf("%s, %lld fit%s\n\n", modes[s->mode], (long long)r->batch_count,
               r->batch_count == 1 ? "" : "s");
    snprintf(note, sizeof note, "must be above %g", s->opt.r2_bar);
    row("R2", r->r2, r->r2_ci, note);
    if (!mlp)
        row("R2 held out", r->r2_heldout, r->r2_heldout_ci,
            "fit on half, scored on the other half");
    snprintf(note, sizeof note, "must be below %g", s->opt.sym_bar);
    row("Sym", r->sym, r->sym_ci, note);
    if (floor > 0.1 * s->opt.sym_bar)
        printf("  %-14s %-11.4g the true state itself has no less%s\n", "floor of Sym", floor,
               floor < s->opt.sym_bar ? "" : ", so that no model can pass");
    if (mlp) print_network(r, s);
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

static void print_kappa(const plumb_phase_space *result, const settings *s)
{
    const plumb_kappa *r = &result->kappa;
    const plumb_interval none = {(double)NAN, (double)NAN};
    char note[96];
    if (!r->measured) {
        printf("kappa: %s\n", r->why);
        return;
    }
    printf("\n");
    snprintf(note, sizeof note, "must be above %g", s->own.kappa_bar);
    row("kappa", r->kappa, r->kappa_ci, note);
    snprintf(note, sizeof note, "must be above %g; latents to truth, held out", s->own.r2_bar);
    row("R2 of state", r->r2_state, none, note);
    row("R2 of latents", r->r2_latent, none, "truth to latents, held out");
    if (s->own.symplectic)
        row("symplectic R2", r->symplectic_r2, none,
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
static int check_requirements(const settings *s, const plumb_phase_space *r, require_use *use)
{
    const double none = (double)NAN;
    const plumb_kappa *kappa = &r->kappa;
    const bool known = kappa->measured && kappa->canonical != PLUMB_VERDICT_NOT_DETERMINED;
    const requirement bars[] = {
        {"kappa", kappa->measured ? kappa->kappa : none, s->own.kappa_bar, false},
        {"canonical", known ? (double)kappa->canonical : none, 1.0, false},
        {"symetric", WORST(symetric, false), 1.0, false},
        {"r2", WORST(r2, false), s->opt.r2_bar, false},
        {"r2_heldout", WORST(r2_heldout, false), s->opt.r2_bar, false},
        {"sym", WORST(sym, true), s->opt.sym_bar, true},
    };
    return use(&cmd_measure, s->require, bars, sizeof bars / sizeof *bars);
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

static void print_text(const settings *s, const plumb_phase_space *r)
{
    if (r->has_polynomial) print_table(&r->polynomial, r->sym_floor, s);
    if (r->has_polynomial && r->has_network) puts("");
    if (r->has_network) print_table(&r->network, r->sym_floor, s);
    print_kappa(r, s);
    printf("\nVerdict: %s\n", plumb_verdict_name(r->verdict));
}

static int print_result(const settings *s, const plumb_phase_space *r,
                        const plumb_phase_space_options *opt)
{
    int code = EXIT_DONE;
    const plumb_symetric *first = r->has_polynomial ? &r->polynomial : &r->network;
    if (s->items)
        code = cli_write_items(&cmd_measure, s->items, first->trajectories, fill_item, first);
    if (code == EXIT_DONE && s->json) code = print_json(r, opt);
    else if (code == EXIT_DONE) print_text(s, r);
    return code == EXIT_DONE ? check_requirements(s, r, require_check) : code;
}

static void say(void *context, const char *line)
{
    (void)context;
    cli_error(&cmd_measure, EXIT_DONE, "%s", line);
}

// "0,2" or "none" into the list of flags.
static int parse_angles(settings *s)
{
    if (!s->angles || !strcmp(s->angles, "none")) return EXIT_DONE;
    for (const char *at = s->angles; *at;) {
        char *end;
        const long i = strtol(at, &end, 10);
        if (end == at || i < 0 || i >= MOST_ANGLES || (*end && *end != ','))
            return cli_error(&cmd_measure, EXIT_USAGE,
                             "--angles %s: wanted positions counted from 0, as in 0,2, or none",
                             s->angles);
        s->angle[i] = true;
        at = *end ? end + 1 : end;
    }
    return EXIT_DONE;
}

static void set_options(settings *s)
{
    s->opt.mode = (plumb_symetric_mode)s->mode;
    s->opt.mask = (plumb_symetric_mask)s->mask;
    s->opt.r2 = (plumb_symetric_r2)s->r2;
    s->opt.scale = (plumb_symetric_scale)s->scale;
    s->opt.nonfinite = (plumb_symetric_nonfinite)s->nonfinite;
    s->own.resamples = s->opt.resamples;
    s->own.seed = s->opt.seed;
    s->own.estimator = (plumb_kappa_estimator)s->estimator;
    s->own.drop_nonfinite = s->opt.nonfinite == PLUMB_SYMETRIC_NONFINITE_DROP;
}

static int measure_input(const settings *s, const input *in, const char *file)
{
    plumb_phase_space result;
    plumb_kappa_options kappa = s->own;
    const plumb_array *states = in->has_canonical ? &in->canonical : &in->truth;
    if (s->angles && states->ndim == 3 && states->shape[2] <= 2 * MOST_ANGLES)
        kappa.angles = s->angle;
    const plumb_phase_space_input arrays = {.size = sizeof arrays,
                                            .latent = &in->latent,
                                            .variance = in->has_variance ? &in->variance : NULL,
                                            .momenta = s->momenta ? &in->momenta : NULL,
                                            .truth = &in->truth,
                                            .canonical = in->has_canonical ? states : NULL};
    plumb_phase_space_options opt = plumb_phase_space_defaults();
    opt.symetric = &s->opt;
    opt.kappa = &kappa;
    opt.polynomial = s->method != METHOD_MLP;
    opt.network = s->method != METHOD_PR;
    opt.published_only = s->published;
    opt.fit_momenta = s->lagrangian;
    plumb_set_log(say, NULL);
    progress_begin(opt.polynomial ? "measure" : "measure: training a network");
    const plumb_status st = plumb_phase_space_measure(&result, &arrays, &opt);
    progress_end();
    // With several files the message says by itself which array it is about.
    if (st && file) return cli_error(&cmd_measure, EXIT_FAILED, "%s: %s", file, plumb_last_error());
    if (st) return cli_last_error(&cmd_measure);
    const int code = print_result(s, &result, &opt);
    plumb_phase_space_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    settings *s = given;
    set_options(s);
    int code = check_requirements(s, &(plumb_phase_space){0}, require_parse);
    if (code == EXIT_DONE) code = parse_angles(s);
    if (code != EXIT_DONE) return code;
    input in = {0};
    code = input_read(&in, s, files, file);
    if (code == EXIT_DONE) code = measure_input(s, &in, files ? file[0] : NULL);
    input_close(&in);
    return code;
}

const cli_command cmd_measure = {
    .name = "measure",
    .summary = "R2, Sym, SyMetric and kappa: did the latents learn the phase space?",
    .usage = "F.npz | --latent F --truth F [--variance F] [options]",
    .text =
        "Is there a canonical map from a model's latent space to the true phase space? F.npz has\n"
        "arrays \"latent\" (trajectories, steps, 2m) and \"truth\" (trajectories, steps, 2n), q "
        "first\n"
        "then p, and may have \"variance\" and \"canonical\". A map F is fitted, polynomials by "
        "Lasso or\n"
        "a small network. R2 says whether the latents hold the state, Sym = MSE(c A^ A^T, I) with "
        "A^ = J A J^T whether F keeps the\n"
        "symplectic form; SyMetric = (R2 > 0.9 and Sym < 0.05). Intervals are over trajectories\n"
        "(over fits, if there are several), the fits staying as they are.\n"
        "\n"
        "kappa is plumb's own: the latent symplectic form, pulled back along a map fitted from\n"
        "truth to latents, against the true one. canonical = (kappa > 0.9 and the latents hold "
        "the\n"
        "state), or null where the data do not determine it, with the reason. It is right where\n"
        "SyMetric is wrong: docs/measures.md.",
    .example = "plumb measure latents.npz --require symetric --json",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
