// SPDX-License-Identifier: MIT
// plumb forecast: predicted frames against true ones.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/command.h"

typedef struct settings {
    const char *truth, *prediction, *backward, *state;
    const char *items, *require;
    int frames, backward_count, average;
    plumb_forecast_options opt;
    bool json;
} settings;

static const char *const protocols[] = {
    "plain", "overlap-by-one", "no-overlap", "include-inference", "autoregressive", NULL};
static const char *const counts[] = {"inferred", "published", NULL};
static const char *const averages[] = {"median", "mean", NULL};

// clang-format off
#define AT(member) .offset = offsetof(settings, member)
static const cli_option rows[] = {
    {.name = "truth", .kind = OPTION_TEXT, AT(truth), .value = "F",
     .help = "true frames (trajectories, steps, height, width, channels)"},
    {.name = "prediction", .kind = OPTION_TEXT, AT(prediction), .value = "F",
     .help = "predicted frames, in increasing time"},
    {.name = "backward", .kind = OPTION_TEXT, AT(backward), .value = "F",
     .help = "frames predicted back from the last ones, in increasing time"},
    {.name = "state", .kind = OPTION_TEXT, AT(state), .value = "F",
     .help = "true states (trajectories, steps, numbers), one a frame: VPT in Lyapunov times too"},
    {.name = "split", .kind = OPTION_INTEGER, AT(opt.split),
     .help = "plain frames: the first N are reconstruction, all after them extrapolation"},
    {.name = "threshold", .kind = OPTION_REAL, AT(opt.threshold), .value = "X",
     .help = "a prediction is valid until a frame's relative error exceeds X"},
    {.name = "extrapolate", .kind = OPTION_INTEGER, AT(opt.extrapolate),
     .help = "frames of extrapolation in the Ext MSE, the nearest; 0 all"},
    {.name = "frames", .kind = OPTION_CHOICE, AT(frames), .choices = protocols,
     .help = "which frames the model saw and which it was trained to predict"},
    {.name = "inference", .kind = OPTION_INTEGER, AT(opt.inference),
     .help = "frames the state is inferred from (not for plain)"},
    {.name = "target", .kind = OPTION_INTEGER, AT(opt.target),
     .help = "frames the model was trained to predict (not for plain)"},
    {.name = "backward-count", .kind = OPTION_CHOICE, AT(backward_count), .choices = counts,
     .help = "from where backward VPT counts: the inferred state, or the far end as published"},
    {.name = "average", .kind = OPTION_CHOICE, AT(average), .choices = averages,
     .help = "VPT: median of batches, then mean, as published; or mean, as the paper says"},
    {.name = "batch", .kind = OPTION_INTEGER, AT(opt.batch),
     .help = "trajectories a median; 0 all"},
    {.name = "resamples", .kind = OPTION_INTEGER, AT(opt.resamples),
     .help = "bootstrap draws for the 95 % intervals; 0 none"},
    {.name = "seed", .kind = OPTION_SEED, AT(opt.seed), .help = "of the bootstrap"},
    {.name = "threads", .kind = OPTION_INT, AT(opt.threads),
     .help = "0: all cores; changes no result"},
    {.name = "items", .kind = OPTION_TEXT, AT(items), .value = "F.jsonl",
     .help = "write one record a trajectory, with the error of every frame"},
    {.name = "require", .kind = OPTION_TEXT, AT(require), .value = "NAME[=BAR],...",
     .help = "exit 3 if vpt, vpt_relative, vpt_forward or vpt_backward is below its bar, or "
             "rec_mse, ext_mse, rec_mse_relative or ext_mse_relative above it"},
    {.name = "json", .kind = OPTION_FLAG, AT(json), .help = "one line of JSON"},
    {0},
};
// clang-format on

static void defaults(void *given)
{
    settings *s = given;
    s->opt = plumb_forecast_defaults();
    s->frames = (int)s->opt.frames;
    s->backward_count = (int)s->opt.backward_count;
    s->average = (int)s->opt.average;
}

// The arrays and the files they belong to.
typedef struct input {
    plumb_file *files[4];
    plumb_array truth, prediction, backward, state;
    bool has_backward;
} input;

static void input_close(input *in)
{
    for (int i = 0; i < 4; i++) plumb_file_close(in->files[i]);
}

static int read_apart(input *in, const settings *s)
{
    if (plumb_file_read_spec(&in->truth, &in->files[0], s->truth, "truth") ||
        plumb_file_read_spec(&in->prediction, &in->files[1], s->prediction, "prediction"))
        return cli_last_error(&cmd_forecast);
    in->has_backward = s->backward;
    if (s->backward &&
        plumb_file_read_spec(&in->backward, &in->files[2], s->backward, "prediction_backward"))
        return cli_last_error(&cmd_forecast);
    return EXIT_DONE;
}

// A rollout has the true states as "truth" and the true frames as "frames".
static plumb_status read_truth(input *in)
{
    const bool frames = plumb_file_has_array(in->files[0], "frames");
    if (!frames || plumb_file_has_array(in->files[0], "truth")) {
        const plumb_status st = plumb_file_read_array(&in->truth, in->files[0], "truth");
        if (st || !frames || in->truth.ndim == 5) return st;
    }
    return plumb_file_read_array(&in->truth, in->files[0], "frames");
}

static int read_together(input *in, const char *path)
{
    static const char *const backward_names[] = {"prediction_backward", "backward"};
    if (plumb_file_open(&in->files[0], path) || read_truth(in) ||
        plumb_file_read_array(&in->prediction, in->files[0], "prediction"))
        return cli_last_error(&cmd_forecast);
    for (int i = 0; i < 2 && !in->has_backward; i++) {
        if (!plumb_file_has_array(in->files[0], backward_names[i])) continue;
        if (plumb_file_read_array(&in->backward, in->files[0], backward_names[i]))
            return cli_last_error(&cmd_forecast);
        in->has_backward = true;
    }
    return EXIT_DONE;
}

static int input_read(input *in, const settings *s, int files, char **file)
{
    const cli_command *c = &cmd_forecast;
    const bool apart = s->truth || s->prediction || s->backward;
    if (files > 1)
        return cli_error(c, EXIT_USAGE, "takes one file, not %d; see plumb %s --help", files,
                         c->name);
    if (files && apart)
        return cli_error(c, EXIT_USAGE, "takes a file or --truth and --prediction, not both");
    if (apart && (!s->truth || !s->prediction))
        return cli_error(c, EXIT_USAGE, "--%s is missing", s->truth ? "prediction" : "truth");
    if (!files && !apart)
        return cli_error(c, EXIT_USAGE,
                         "wants F.npz or --truth F --prediction F; see plumb %s "
                         "--help",
                         c->name);
    const int code = apart ? read_apart(in, s) : read_together(in, file[0]);
    if (code == EXIT_DONE && s->state &&
        plumb_file_read_spec(&in->state, &in->files[3], s->state, "truth"))
        return cli_last_error(c);
    return code;
}

static void fill_item(plumb_record *record, const void *result, int64_t index)
{
    plumb_forecast_item_record(record, result, index);
}

static void row(const char *name, double value, plumb_interval ci, const char *note)
{
    char text[64];
    printf("  %-14s %-11.4g %-29s %s\n", name, value, cli_format_interval(text, sizeof text, ci),
           note);
}

static void mse_rows(const char *name, const plumb_forecast_mse *mse)
{
    char note[96];
    if (mse->why) {
        printf("  %-14s %-11s %s\n", name, "undefined", mse->why);
        return;
    }
    snprintf(note, sizeof note, "frames %lld to %lld", (long long)mse->first,
             (long long)(mse->first + mse->frames - 1));
    row(name, mse->published, mse->published_ci, note);
    row("  relative", mse->relative, mse->ci, "not divided by height x width x channels");
}

static void print_direction(const char *name, const plumb_forecast_direction *d)
{
    char note[96];
    printf("\n%s\n", name);
    mse_rows("MSE Rec", &d->rec);
    mse_rows("MSE Ext", &d->ext);
    snprintf(note, sizeof note, "of %lld frames", (long long)d->length);
    row("VPT", d->vpt, d->vpt_ci, note);
    if (d->vpt_published != d->vpt)
        printf("  %-14s %-11.4g counted from the far end, as the published code does\n",
               "  published", d->vpt_published);
}

static void print_lyapunov(const plumb_forecast *r)
{
    const plumb_lyapunov *l = &r->lyapunov;
    puts("\nchaos");
    row("Lyapunov", l->exponent, l->ci, "a frame, of the true states");
    row("VPT", r->vpt * l->exponent,
        (plumb_interval){r->vpt_ci.low * l->exponent, r->vpt_ci.high * l->exponent},
        "in Lyapunov times");
}

static void print_table(const plumb_forecast *r, const settings *s)
{
    printf("%lld trajectories of %lld frames, %lld x %lld x %lld, frames %s, threshold %g\n",
           (long long)r->trajectories, (long long)r->steps, (long long)r->height,
           (long long)r->width, (long long)r->channels, protocols[s->frames], s->opt.threshold);
    print_direction("forward", &r->forward);
    if (!r->backward.measured) return;
    print_direction("backward", &r->backward);
    puts("\nboth");
    row("VPT", r->vpt, r->vpt_ci, "mean of the two");
}

static int check_bars(const settings *s, const plumb_forecast *r, require_use *use)
{
    const plumb_forecast_direction *f = &r->forward, *b = &r->backward;
    const double whole = b->measured ? 0.5 * (double)(f->length + b->length) : (double)f->length;
    const double pixels = (double)(r->height * r->width * r->channels);
    // Without a number: valid to the end, and no farther off than the threshold.
    const requirement bars[] = {
        {"vpt", r->vpt, whole, false},
        {"vpt_relative", r->vpt_relative, 1.0, false},
        {"vpt_forward", f->vpt, (double)f->length, false},
        {"vpt_backward", b->measured ? b->vpt : (double)NAN, (double)b->length, false},
        {"rec_mse", f->rec.published, s->opt.threshold / pixels, true},
        {"ext_mse", f->ext.published, s->opt.threshold / pixels, true},
        {"rec_mse_relative", f->rec.relative, s->opt.threshold, true},
        {"ext_mse_relative", f->ext.relative, s->opt.threshold, true},
    };
    return use(&cmd_forecast, s->require, bars, sizeof bars / sizeof *bars);
}

static int report(const settings *s, const plumb_forecast *r)
{
    int code = EXIT_DONE;
    if (s->items) code = cli_write_items(&cmd_forecast, s->items, r->trajectories, fill_item, r);
    if (code == EXIT_DONE && s->json) {
        plumb_record *record = plumb_record_create();
        if (!record) return cli_error(&cmd_forecast, EXIT_FAILED, "no memory");
        plumb_forecast_record(record, r, &s->opt);
        code = cli_print_record(&cmd_forecast, record);
        plumb_record_free(record);
    } else if (code == EXIT_DONE) {
        print_table(r, s);
        if (s->state) print_lyapunov(r);
    }
    return code == EXIT_DONE ? check_bars(s, r, require_check) : code;
}

static void say(void *context, const char *line)
{
    (void)context;
    cli_error(&cmd_forecast, EXIT_DONE, "%s", line);
}

static int run(void *given, int files, char **file)
{
    settings *s = given;
    s->opt.frames = (plumb_forecast_frames)s->frames;
    s->opt.backward_count = (plumb_forecast_count)s->backward_count;
    s->opt.average = (plumb_forecast_average)s->average;
    const plumb_forecast_options usual = plumb_forecast_defaults();
    if (s->opt.frames != PLUMB_FORECAST_FRAMES_PLAIN && s->opt.split != usual.split)
        return cli_error(&cmd_forecast, EXIT_USAGE,
                         "--split is for --frames plain; %s is set by --inference and --target",
                         protocols[s->frames]);

    int code = check_bars(s, &(plumb_forecast){0}, require_parse);
    if (code != EXIT_DONE) return code;
    input in = {0};
    code = input_read(&in, s, files, file);
    if (code == EXIT_DONE) {
        plumb_forecast result;
        plumb_set_log(say, NULL);
        progress_begin("forecast");
        const plumb_status st =
            plumb_forecast_measure(&result, &in.prediction, in.has_backward ? &in.backward : NULL,
                                   &in.truth, s->state ? &in.state : NULL, &s->opt);
        progress_end();
        if (st) {
            // Of several files the message says by itself which array it is about.
            code =
                files ? cli_error(&cmd_forecast, EXIT_FAILED, "%s: %s", file[0], plumb_last_error())
                      : cli_last_error(&cmd_forecast);
        } else {
            code = result.lyapunov.why
                       ? cli_error(&cmd_forecast, EXIT_FAILED, "%s", result.lyapunov.why)
                       : report(s, &result);
            plumb_forecast_clear(&result);
        }
    }
    input_close(&in);
    return code;
}

const cli_command cmd_forecast = {
    .name = "forecast",
    .summary = "MSE of reconstruction and extrapolation, and valid prediction time",
    .usage = "F.npz | --truth F --prediction F [--backward F] [options]",
    .text =
        "Compares predicted frames with true ones. F.npz has arrays \"truth\" (or \"frames\") and\n"
        "\"prediction\", and may have \"prediction_backward\" (or \"backward\"). The error of a "
        "frame\n"
        "is |x - y|^2 / |x|^2. MSE Rec is its mean over the frames a model was trained to "
        "predict,\n"
        "MSE Ext over those after them, both divided by height x width x channels as published;\n"
        "VPT is the number of extrapolated frames before the first whose error exceeds the\n"
        "threshold. With --state it is given in Lyapunov times as well: how far a model sees "
        "compared\n"
        "with how far anybody could.",
    .example = "plumb forecast frames.npz --split 60 --require vpt=40 --json",
    .options = rows,
    .settings_size = sizeof(settings),
    .defaults = defaults,
    .run = run,
};
