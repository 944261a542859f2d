// SPDX-License-Identifier: MIT
// plumb probe: reads physical quantities out of latents.
// Latents and targets come from one file, or targets from others too. The arrays belong to the
// files, which are closed after the output.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd_probe_world.h"

enum { MAX_TARGETS = 64, MAX_FILES = 72, MAX_COLUMNS = 4096 };

typedef struct probe_command {
    option_list targets, angles;
    const char *latent, *frames, *ood, *require, *world;
    int64_t cut;
    cli_align align;
    bool linear_only, no_controls;
    cli_format format;
    plumb_probe_options opt;
} probe_command;

// clang-format off
#define AT(member) .offset = offsetof(probe_command, member)
static const cli_option command_options[] = {
    {.name = "target", .group = "input", .kind = OPTION_STRING, AT(targets), .is_list = true,
     .value = "NAME",
     .help = "an array of F to read out, or F2:NAME of another file; repeatable; by default all "
             "arrays of F that can be one"},
    {.name = "angle", .kind = OPTION_STRING, AT(angles), .is_list = true, .value = "NAME",
     .help = "a target in radians, as \"truth[0]\", read out as sine and cosine; repeatable"},
    {.name = "latent", .kind = OPTION_STRING, AT(latent), .value = "F",
     .help = "the latents, if they are in another file or have another name"},
    {.name = "frames", .kind = OPTION_STRING, AT(frames), .value = "F",
     .help = "the frames that the model saw, if they are in another file"},
    {.name = "cut", .kind = OPTION_INT64, AT(cut), .value = "N",
     .help = "cut trajectories, or one long (steps, d), into pieces of N steps"},
    {.name = "align", .kind = OPTION_ENUM, .words = cli_align_words, AT(align),
     .help = "where arrays have different numbers of steps, take those at the start or at the end"},
    {.name = "world", .kind = OPTION_STRING, AT(world), .value = "NAME",
     .complete = CLI_COMPLETE_WORLDS,
     .help = "the true states are those of this world: read out velocities, forces, energy, "
             "constants and, of two bodies, the elements of their orbit too"},
    {.name = "ood", .kind = OPTION_STRING, AT(ood), .value = "NAME",
     .help = "fit to the half of the trajectories in which this target is low, test on the other"},
    {.name = "folds", FROM(probe_options, opt, "folds"), .group = "readout"},
    {.name = "penalties", FROM(probe_options, opt, "penalties")},
    {.name = "penalty-low", FROM(probe_options, opt, "penalty_low")},
    {.name = "penalty-high", FROM(probe_options, opt, "penalty_high")},
    {.name = "linear-only", .kind = OPTION_BOOL, AT(linear_only),
     .help = "leave out the non-linear probe"},
    {.name = "centres", FROM(probe_options, opt, "centres")},
    {.name = "no-controls", .kind = OPTION_BOOL, AT(no_controls), .group = "controls",
     .help = "leave out the controls"},
    {.name = "shuffles", FROM(probe_options, opt, "shuffles")},
    {.name = "window", FROM(probe_options, opt, "window")},
    {.name = "resamples", FROM(probe_options, opt, "resamples"), .group = "other"},
    {.name = "seed", FROM(probe_options, opt, "seed")},
    {.name = "threads", FROM(probe_options, opt, "threads")},
    {.name = "require", .kind = OPTION_STRING, AT(require), .value = "NAME[=X],...",
     .group = "output",
     .help = "exit 3 if r2 or r2_nonlinear, means over targets, is below its threshold, by "
             "default 0.9"},
    CLI_FORMAT_OPTIONS,
    {0},
};
// clang-format on

static void defaults(void *given)
{
    probe_command *cmd = given;
    cmd->opt = plumb_probe_defaults();
}

// ---- input ----

// The arrays and the files they belong to.
typedef struct probe_arrays {
    plumb_file *file[MAX_FILES];
    int files;
    plumb_array latent, frames, action, lengths, ood;
    bool has_frames, has_action, has_lengths;
    plumb_array array[MAX_TARGETS];
    plumb_probe_target target[MAX_TARGETS];
    int targets;
    bool angle[MAX_COLUMNS]; // of all targets
    int columns;
    double *ood_values;
    probe_world world;
    cli_rows rows;
    void *cropped[MAX_TARGETS + 4]; // copies by --align, and of the action
    int crops;
    void *column_names[MAX_TARGETS]; // of targets "q,p"
} probe_arrays;

static void close_arrays(probe_arrays *in)
{
    for (int i = 0; i < in->files; i++) plumb_file_close(in->file[i]);
    free(in->ood_values);
    probe_world_free(&in->world);
    cli_rows_free(&in->rows);
    for (int i = 0; i < in->crops; i++) free(in->cropped[i]);
    for (int i = 0; i < MAX_TARGETS; i++) free(in->column_names[i]);
}

// Arrays of files that plumb knows and that are not targets.
static bool is_reserved(const char *name)
{
    static const char *const names[] = {"latent",      "encoded",
                                        "variance",    "momenta",
                                        "frames",      "prediction",
                                        "backward",    "action",
                                        "length",      "lengths",
                                        "time",        "mask",
                                        "camera_pose", "world",
                                        "upright",     "dt",
                                        "seed",        "first",
                                        "ep_len",      "ep_offset",
                                        "feature",     "trajectory",
                                        "step",        "surprise",
                                        "observation", "prediction_backward",
                                        NULL};
    if (*name == '/') name++;
    if (!strncmp(name, "traversal", 9)) return true;
    for (int i = 0; names[i]; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

// Columns of an array that fits the latents; 0 if it does not.
static int64_t count_columns(const plumb_array *array, const probe_arrays *in)
{
    if (array->ndim < 1 || array->ndim > 3) return 0;
    if (in->rows.flat) {
        if (array->shape[0] != in->rows.rows &&
            array->shape[0] != plumb_array_count(&in->rows.lengths))
            return 0;
        return array->ndim == 3 ? 0 : array->ndim == 2 ? array->shape[1] : 1;
    }
    if (array->shape[0] != in->latent.shape[0]) return 0;
    if (array->ndim == 2) return array->shape[1] == in->latent.shape[1] ? 1 : array->shape[1];
    return array->ndim == 3 ? array->shape[2] : 1;
}

// Crops one array to `steps`, if it has more.
static bool crop_array(probe_arrays *in, plumb_array *array, int64_t steps, cli_align align)
{
    if (array->ndim < 2 || array->shape[1] <= steps) return true;
    if (!cli_crop_steps(array, &cmd_probe, steps, align)) return false;
    in->cropped[in->crops++] = array->data;
    return true;
}

// All arrays must have as many steps as the latents, or --align says which steps count.
static int align_steps(probe_arrays *in, cli_align align)
{
    const int64_t have = in->latent.shape[1];
    int64_t least = have;
    if (in->rows.flat) return EXIT_DONE;
    for (int i = 0; i < in->targets; i++) {
        const plumb_array *array = &in->array[i];
        if (array->ndim != 3 || array->shape[0] != in->latent.shape[0] || array->shape[1] == have)
            continue;
        if (!align)
            return cli_error(&cmd_probe, EXIT_FAILED,
                             "latent has %lld steps and %s %lld: --align start takes the first "
                             "steps of the longer one, --align end the last",
                             (long long)have, in->target[i].name, (long long)array->shape[1]);
        if (array->shape[1] < least) least = array->shape[1];
    }
    bool done = crop_array(in, &in->latent, least, align);
    if (in->has_frames) done = done && crop_array(in, &in->frames, least, align);
    if (in->has_action) done = done && crop_array(in, &in->action, least, align);
    for (int i = 0; done && i < in->targets; i++) {
        plumb_array *array = &in->array[i];
        // With two axes it is per step if it was as long as the latents.
        if (array->ndim == 3 || (array->ndim == 2 && array->shape[1] == have))
            done = crop_array(in, array, least, align);
    }
    return done ? EXIT_DONE : EXIT_FAILED;
}

// Adds a target whose array was read into in->array[in->targets].
static int add_target(probe_arrays *in, const char *name)
{
    plumb_array *array = &in->array[in->targets];
    cli_rows_shape(array, &in->rows);
    // What does not fit is refused by the library, with the reason.
    const int64_t columns = count_columns(array, in);
    if (in->columns + columns > MAX_COLUMNS)
        return cli_error(&cmd_probe, EXIT_FAILED, "%s: more than %d columns of targets", name,
                         (int)MAX_COLUMNS);
    in->target[in->targets++] =
        (plumb_probe_target){.name = name, .array = array, .angles = in->angle + in->columns};
    in->columns += (int)columns;
    return EXIT_DONE;
}

static bool has_target(const probe_arrays *in, const char *name)
{
    for (int i = 0; i < in->targets; i++)
        if (!strcmp(in->target[i].name, name)) return true;
    return false;
}

// Adds what the world of --world supplies, and the names and angles of its states. Arrays of the
// file with the same names count.
static int add_world(probe_arrays *in, const char *world)
{
    if (in->rows.flat && in->rows.trajectories == 1)
        return cli_error(&cmd_probe, EXIT_USAGE,
                         "--world needs arrays (trajectories, steps, ...), not rows");
    plumb_array truth;
    const char *name = plumb_file_has_array(in->file[0], "truth") ? "truth" : "state";
    if (plumb_file_read_array(&truth, in->file[0], name)) return cli_last_error(&cmd_probe);
    for (int i = 0; i < in->targets; i++) // it may have been cropped
        if (!in->rows.flat && !strcmp(in->target[i].name, name)) truth = in->array[i];
    int code = probe_world_read(&in->world, world, &truth, in->file[0]);
    const plumb_world_info *info = in->world.info;
    for (int i = 0; code == EXIT_DONE && i < in->targets; i++) {
        if (strcmp(in->target[i].name, name)) continue;
        in->target[i].columns = info->state_names;
        // Where the state is the canonical one, its angles are known.
        bool *flags = in->angle + (in->target[i].angles - in->angle);
        for (int64_t k = 0; info->n == info->canonical_n && k < info->n; k++)
            flags[k] = info->angles[k];
    }
    for (int i = 0; code == EXIT_DONE && i < in->world.count; i++) {
        if (has_target(in, in->world.name[i]) || in->targets == MAX_TARGETS) continue;
        in->array[in->targets] = in->world.array[i];
        in->target[in->targets].columns = NULL;
        code = add_target(in, in->world.name[i]);
        in->target[in->targets - 1].columns = in->world.columns[i];
    }
    return code;
}

// Adds the target "q,p", whose columns are called q and p if there are as many of them as names.
static int add_joined_target(probe_arrays *in, const char *list)
{
    int64_t names = 1;
    for (const char *at = list; (at = strchr(at, ',')); at++) names++;
    const int index = in->targets;
    const int code = add_target(in, list);
    if (code != EXIT_DONE || names == 1 || count_columns(&in->array[index], in) != names)
        return code;
    const size_t pointers = (size_t)names * sizeof(char *);
    const char **name = malloc(pointers + strlen(list) + 1);
    if (!name) return cli_error(&cmd_probe, EXIT_FAILED, "out of memory");
    in->column_names[index] = name;
    char *text = strcpy((char *)name + pointers, list);
    for (int64_t i = 0; i < names; i++) {
        name[i] = text;
        text += strcspn(text, ",");
        if (*text) *text++ = 0;
    }
    in->target[index].columns = name;
    return EXIT_DONE;
}

// Reads the target of one --target.
static int read_target(probe_arrays *in, const char *argument)
{
    plumb_array *array = &in->array[in->targets];
    const char *colon = strrchr(argument, ':'), *name = argument;
    if (in->targets == MAX_TARGETS)
        return cli_error(&cmd_probe, EXIT_USAGE, "takes at most %d targets", (int)MAX_TARGETS);
    if (plumb_file_has_array(in->file[0], argument)) {
        if (plumb_file_read_array(array, in->file[0], argument)) return cli_last_error(&cmd_probe);
    } else if (colon || strrchr(argument, '.')) {
        if (plumb_file_read_spec(array, &in->file[in->files], argument, NULL))
            return cli_last_error(&cmd_probe);
        in->files++;
        // "F2.npz:/group/name" is called "name".
        if (colon) name = colon + 1;
        const char *slash = strrchr(name, '/');
        if (slash) name = slash + 1;
    } else if (plumb_file_read_array(array, in->file[0], argument)) {
        return cli_last_error(&cmd_probe);
    }
    return add_joined_target(in, name);
}

// Is `name` in a list "z1,z2" behind a file, or alone? May be NULL: list.
static bool is_part_of(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, name, length) && (!at[length] || at[length] == ',')) return true;
    }
    return false;
}

// Reads all arrays of the first file that can be targets. May be NULL: latent, the array or the
// columns that are the latents.
static int read_all_targets(probe_arrays *in, const char *path, const char *latent)
{
    for (int64_t i = 0; i < plumb_file_array_count(in->file[0]); i++) {
        const char *name = plumb_file_array_name(in->file[0], i);
        if (is_reserved(name) || is_part_of(latent, name) || in->targets == MAX_TARGETS) continue;
        plumb_array *array = &in->array[in->targets];
        if (plumb_file_read_array(array, in->file[0], name)) return cli_last_error(&cmd_probe);
        cli_rows_shape(array, &in->rows);
        if (!count_columns(array, in)) continue;
        const int code = add_target(in, *name == '/' ? name + 1 : name);
        if (code != EXIT_DONE) return code;
    }
    if (in->targets) return EXIT_DONE;
    char shape[200];
    return cli_error(&cmd_probe, EXIT_FAILED,
                     "%s has no array to read out of latents %s: wanted \"truth\" or another name, "
                     "(trajectories, steps, k), (trajectories, steps), (trajectories, k) or "
                     "(trajectories,)",
                     path, plumb_array_shape_string(shape, sizeof shape, &in->latent));
}

// The target and column that a name such as "energy" or "truth[1]" means.
static bool find_column(const probe_arrays *in, const char *name, int *target, int64_t *column)
{
    const size_t length = strcspn(name, "[");
    char *end = NULL;
    *column = name[length] ? strtoll(name + length + 1, &end, 10) : 0;
    if (end && strcmp(end, "]")) return false;
    for (*target = 0; *target < in->targets; ++*target) {
        const char *known = in->target[*target].name;
        const int64_t columns = count_columns(in->target[*target].array, in);
        if (strlen(known) == length && !strncmp(known, name, length))
            return *column >= 0 && *column < columns;
        // "eccentricity" is a column of "orbit".
        for (int64_t k = 0; in->target[*target].columns && k < columns; k++) {
            if (strcmp(in->target[*target].columns[k], name)) continue;
            *column = k;
            return true;
        }
    }
    return false;
}

// Marks the columns of --angle; an array without a column means all of its columns.
static int mark_angles(probe_arrays *in, const option_list *angles)
{
    for (int i = 0; i < angles->count; i++) {
        int target;
        int64_t column;
        if (!find_column(in, angles->item[i], &target, &column))
            return cli_error(&cmd_probe, EXIT_USAGE, "--angle: there is no target \"%s\"",
                             angles->item[i]);
        bool *flags = in->angle + (in->target[target].angles - in->angle);
        const int64_t all = count_columns(in->target[target].array, in);
        for (int64_t k = 0; k < all; k++)
            if (k == column || has_target(in, angles->item[i])) flags[k] = true;
    }
    return EXIT_DONE;
}

// The column of --ood as an array of its own.
static int read_ood(probe_arrays *in, const char *name)
{
    int target;
    int64_t column;
    if (!find_column(in, name, &target, &column))
        return cli_error(&cmd_probe, EXIT_USAGE, "--ood: there is no target \"%s\"", name);
    const plumb_array *array = in->target[target].array;
    const int64_t columns = count_columns(array, in);
    if (columns > 1 && has_target(in, name))
        return cli_error(&cmd_probe, EXIT_USAGE, "--ood: %s has %lld columns; name one, as %s[0]",
                         name, (long long)columns, name);
    const int64_t rows = plumb_array_count(array) / columns;
    in->ood_values = malloc((size_t)(rows ? rows : 1) * sizeof(double));
    if (!in->ood_values) return cli_error(&cmd_probe, EXIT_FAILED, "out of memory");
    for (int64_t i = 0; i < rows; i++)
        plumb_array_to_double(in->ood_values + i, array, i * columns + column, 1);
    const bool steps = !in->rows.flat && rows == in->latent.shape[0] * in->latent.shape[1];
    in->ood = plumb_array_view(in->ood_values, PLUMB_FLOAT64, steps ? 2 : 1,
                               steps ? in->latent.shape : &rows);
    return EXIT_DONE;
}

// Reads an array of the first file if it is there.
static bool read_optional(plumb_array *out, bool *found, const probe_arrays *in, const char *name)
{
    *found = plumb_file_has_array(in->file[0], name);
    return !*found || plumb_file_read_array(out, in->file[0], name) == PLUMB_OK;
}

// Reads what is beside the latents, for controls and lengths.
static int read_beside(probe_arrays *in, const probe_command *cmd)
{
    if (cmd->frames) {
        if (plumb_file_read_spec(&in->frames, &in->file[in->files], cmd->frames, "frames"))
            return cli_last_error(&cmd_probe);
        in->files++;
        in->has_frames = true;
    } else if (!cmd->no_controls && !read_optional(&in->frames, &in->has_frames, in, "frames")) {
        return cli_last_error(&cmd_probe);
    }
    if (!cmd->no_controls && !read_optional(&in->action, &in->has_action, in, "action"))
        return cli_last_error(&cmd_probe);
    if (in->has_frames) cli_rows_shape(&in->frames, &in->rows);
    if (in->has_action) {
        void *copy;
        const int code =
            cli_action_shape(&in->action, &copy, &cmd_probe, in->rows.trajectories, in->rows.steps);
        if (copy) in->cropped[in->crops++] = copy;
        if (code != EXIT_DONE) return code;
        cli_rows_shape(&in->action, &in->rows);
    }
    static const char *const names[] = {"length", "lengths"};
    for (int i = 0; i < 2 && !in->has_lengths; i++)
        if (!read_optional(&in->lengths, &in->has_lengths, in, names[i]))
            return cli_last_error(&cmd_probe);
    return EXIT_DONE;
}

// "z1,z2" of the file "x.csv:z1,z2"; NULL if the path is that of a file, or --latent says which.
static const char *name_behind(const probe_command *cmd, const char *path)
{
    const char *colon = strrchr(path, ':');
    return colon && !cmd->latent && access(path, F_OK) ? colon + 1 : NULL;
}

static int read_input(probe_arrays *in, const probe_command *cmd, const char *path)
{
    // F:NAME is a file and the array, or the columns, that are the latents.
    const char *named = name_behind(cmd, path), *latents = named;
    if (named ? plumb_file_read_spec(&in->latent, &in->file[0], path, "latent")
              : plumb_file_open(&in->file[0], path))
        return cli_last_error(&cmd_probe);
    in->files++;
    if (!named && (!cmd->latent || plumb_file_has_array(in->file[0], cmd->latent))) {
        const char *name = cmd->latent ? cmd->latent : "latent";
        if (plumb_file_read_array(&in->latent, in->file[0], name))
            return cli_last_error(&cmd_probe);
        latents = name;
    } else if (!named) {
        if (plumb_file_read_spec(&in->latent, &in->file[in->files], cmd->latent, "latent"))
            return cli_last_error(&cmd_probe);
        in->files++;
    }
    int code = cli_rows_find(&in->rows, &in->latent, "latent", &cmd_probe, in->file[0], cmd->cut);
    if (code == EXIT_DONE) code = read_beside(in, cmd);
    if (code == EXIT_DONE && !cmd->targets.count) code = read_all_targets(in, path, latents);
    for (int i = 0; code == EXIT_DONE && i < cmd->targets.count; i++)
        code = read_target(in, cmd->targets.item[i]);
    if (code == EXIT_DONE) code = align_steps(in, cmd->align);
    if (code == EXIT_DONE && cmd->world) code = add_world(in, cmd->world);
    if (code == EXIT_DONE) code = mark_angles(in, &cmd->angles);
    if (code == EXIT_DONE && cmd->ood) code = read_ood(in, cmd->ood);
    return code;
}

// ---- output ----

// Context of cli_print().
typedef struct probe_output {
    const probe_command *cmd;
    const plumb_probe *result;
} probe_output;

// "0.9312 [0.92, 0.94]"
static const char *format_score(char *text, size_t size, double value, plumb_interval interval)
{
    if (isnan(value)) snprintf(text, size, "-");
    else if (isnan(interval.low)) snprintf(text, size, "%.4f", value);
    else snprintf(text, size, "%.4f [%.4f, %.4f]", value, interval.low, interval.high);
    return text;
}

static void print_score(const plumb_probe_line *line)
{
    static const char *const words[] = {"no", "non-linear", "linear"};
    char linear[64], nonlinear[64];
    if (line->constant) {
        printf("  %-18s never changes\n", line->name);
        return;
    }
    format_score(linear, sizeof linear, line->linear.r2, line->linear.r2_ci);
    format_score(nonlinear, sizeof nonlinear, line->nonlinear.r2, line->nonlinear.r2_ci);
    printf("  %-18s %-25s %8.4f %8.4f  %-25s %s\n", line->name, linear, line->linear.r,
           line->linear.nmse, nonlinear, words[line->found]);
}

// One column of the table of controls; a column without a number is left out.
typedef struct control_column {
    const char *title;
    size_t offset; // of a double in plumb_probe_line
} control_column;

#define CONTROL(title, member)                    \
    {                                             \
        title, offsetof(plumb_probe_line, member) \
    }
static const control_column control_columns[] = {
    CONTROL("shuffled", shuffled), CONTROL("highest", shuffled_max),
    CONTROL("past", past),         CONTROL("projected", projection),
    CONTROL("pixels", pixels),     CONTROL("action", action),
    CONTROL("1/8", fractions[0]),  CONTROL("1/4", fractions[1]),
    CONTROL("1/2", fractions[2]),  CONTROL("all", linear.r2),
    CONTROL("ood", ood.r2),
};
#undef CONTROL
enum { CONTROL_COLUMNS = sizeof control_columns / sizeof *control_columns };

static double get_control(const plumb_probe_line *line, int column)
{
    double value;
    memcpy(&value, (const char *)line + control_columns[column].offset, sizeof value);
    return value;
}

static void print_controls(const plumb_probe_line *line, const bool *shown)
{
    if (line->constant) return;
    printf("  %-18s", line->name);
    for (int k = 0; k < CONTROL_COLUMNS; k++)
        if (shown[k]) printf(" %9.4f", get_control(line, k));
    putchar('\n');
}

static void print_control_table(const plumb_probe *result)
{
    bool shown[CONTROL_COLUMNS] = {0};
    for (int k = 0; k < CONTROL_COLUMNS; k++)
        for (int64_t i = 0; i < result->count; i++)
            shown[k] = shown[k] || !isnan(get_control(&result->line[i], k));
    puts("\ncontrols: R2 of the linear probe");
    printf("  %-18s", "");
    for (int k = 0; k < CONTROL_COLUMNS; k++)
        if (shown[k]) printf(" %9s", control_columns[k].title);
    putchar('\n');
    for (int64_t i = 0; i < result->count; i++) print_controls(&result->line[i], shown);
    for (int64_t i = 0; i < result->group_count; i++) print_controls(&result->group[i], shown);
    putchar('\n');
    table_paragraph(
        "shuffled, highest: targets of other trajectories, mean and largest. past: a random "
        "projection of earlier latents. projected, pixels: a random projection of the frame, and "
        "the frame itself. 1/8 to all: with a part of the trajectories to fit to. ood: fitted to "
        "the low half, tested on the high half. A probe says something about a model only where it "
        "is above these.");
    if (result->fitted[0])
        table_paragraph("Trajectories fitted to: %lld, %lld, %lld and %lld.",
                        (long long)result->fitted[0], (long long)result->fitted[1],
                        (long long)result->fitted[2], (long long)result->fitted[3]);
}

// The text output.
static void print_tables(const void *context)
{
    const probe_command *cmd = ((const probe_output *)context)->cmd;
    const plumb_probe *result = ((const probe_output *)context)->result;
    table_paragraph("%lld trajectories of %lld steps, %lld latents; %lld folds of trajectories, "
                    "tested on those that were left out",
                    (long long)result->trajectories, (long long)result->steps,
                    (long long)result->dims, (long long)result->folds);
    if (result->hint) table_paragraph("Note: %s", result->hint);
    printf("\n  %-18s %-25s %8s %8s  %-25s %s\n", "target", "R2 linear", "r", "NMSE",
           "R2 non-linear", "found");
    for (int64_t i = 0; i < result->count; i++) print_score(&result->line[i]);
    if (result->group_count) puts("\n  groups: means over their targets");
    for (int64_t i = 0; i < result->group_count; i++) print_score(&result->group[i]);
    if (!cmd->no_controls || cmd->ood) print_control_table(result);
}

// The record of --json.
static void fill_record(plumb_record *record, const void *context)
{
    const probe_output *output = context;
    plumb_probe_record(record, output->result, &output->cmd->opt);
}

// Before measuring with require_parse, after it with require_check.
static int check_requirements(const probe_command *cmd, const plumb_probe *result, require_use *use)
{
    const requirement list[] = {
        {"r2", result->r2, 0.9, false},
        {"r2_nonlinear", result->r2_nonlinear, 0.9, false},
    };
    return use(&cmd_probe, cmd->require, list, sizeof list / sizeof *list);
}

static int measure_input(const probe_command *cmd, const probe_arrays *arrays, const char *file)
{
    plumb_probe_input in = {.size = sizeof in,
                            .latent = &arrays->latent,
                            .targets = arrays->target,
                            .target_count = arrays->targets,
                            .lengths = arrays->has_lengths ? &arrays->lengths : NULL,
                            .frames = arrays->has_frames ? &arrays->frames : NULL,
                            .action = arrays->has_action ? &arrays->action : NULL,
                            .ood = arrays->ood_values ? &arrays->ood : NULL};
    if (arrays->rows.flat) {
        in.lengths = &arrays->rows.lengths;
        in.offsets = &arrays->rows.offsets;
    }
    plumb_probe result;
    cli_show_log(&cmd_probe);
    progress_begin("probe");
    const plumb_status st = plumb_probe_measure(&result, &in, &cmd->opt);
    progress_end();
    if (st)
        return cli_error(&cmd_probe, st == PLUMB_EVALUE ? EXIT_USAGE : EXIT_FAILED, "%s: %s", file,
                         plumb_last_error());
    const probe_output output = {cmd, &result};
    int code = cli_print(&cmd_probe, cmd->format, fill_record, print_tables, &output);
    if (code == EXIT_DONE) code = check_requirements(cmd, &result, require_check);
    plumb_probe_clear(&result);
    return code;
}

static int run(void *given, int files, char **file)
{
    probe_command *cmd = given;
    cmd->opt.nonlinear = !cmd->linear_only;
    cmd->opt.controls = !cmd->no_controls;
    if (files != 1)
        return cli_error(&cmd_probe, EXIT_USAGE, "takes one file, not %d; see plumb probe --help",
                         files);
    int code = check_requirements(cmd, &(plumb_probe){0}, require_parse);
    if (code != EXIT_DONE) return code;
    probe_arrays *in = calloc(1, sizeof *in);
    if (!in) return cli_error(&cmd_probe, EXIT_FAILED, "out of memory");
    code = read_input(in, cmd, file[0]);
    if (code == EXIT_DONE) code = measure_input(cmd, in, file[0]);
    close_arrays(in);
    free(in);
    return code;
}

const cli_command cmd_probe = {
    .name = "probe",
    .summary = "linear and non-linear probes: what of the physics is in latents",
    .usage = "F.npz [--target NAME ...] [--world NAME] [--ood NAME] [options]",
    .text =
        "Asks what of the physics is in latents of any size. F.npz has an array \"latent\" "
        "(trajectories, steps, d; another name as F.npz:NAME, columns of a table as F.csv:z0,z1) "
        "and targets: \"truth\", \"energy\" or any other name, a value "
        "per step or per trajectory. Each target is read out by a linear probe (ridge) and by a "
        "small non-linear one (a kernel), and scored on trajectories that were not fitted to.\n\n"
        "Beside the scores are controls: shuffled targets, earlier latents, fewer trajectories, "
        "and, if F.npz has \"frames\", the frames themselves. A readout above them says that the "
        "latents hold the target.",
    .example = "plumb probe latents.npz --target truth --target energy --ood energy",
    .options = command_options,
    .options_size = sizeof(probe_command),
    .defaults = defaults,
    .run = run,
};
