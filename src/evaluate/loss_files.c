// SPDX-License-Identifier: MIT
// Reads the loss files of other benchmarks. The V-JEPA study saves losses, labels and the name of
// the block. IntPhys 2 saves losses and the names of the clips; a table, metadata.csv, says what
// each clip is: its scene, its condition, and 1_Possible, 1_Impossible, 2_Possible or 2_Impossible.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/argument.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "evaluate/score_table.h"
#include "measures/surprise/loss_tuples.h"
#include "plumb/file.h"

enum { MAX_FIELD_LENGTH = 128, COLUMN_COUNT = 4, MAX_FIELDS = 64 };
enum { COLUMN_NAME, COLUMN_SCENE, COLUMN_TYPE, COLUMN_CONDITION };

// ---- the table of clips ----

typedef struct clip_row {
    char field[COLUMN_COUNT][MAX_FIELD_LENGTH]; // name, scene, type, condition
} clip_row;

typedef struct clip_table {
    clip_row *row;
    int64_t count;
} clip_table;

// The part of a path after the last slash.
static const char *get_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Splits one line of CSV into fields. Quotes may hold commas; two quotes in them stand for one.
static int split_line(char *line, char *field[MAX_FIELDS])
{
    int count = 0;
    // Fields are unquoted in place: the text never gets longer.
    char *from = line, *to = line;
    bool quoted = false;
    field[count++] = to;
    for (; *from && *from != '\n' && *from != '\r'; from++) {
        if (*from == '"' && quoted && from[1] == '"') *to++ = *++from;
        else if (*from == '"') quoted = !quoted;
        else if (*from == ',' && !quoted) {
            *to++ = 0;
            if (count == MAX_FIELDS) return count;
            field[count++] = to;
        } else *to++ = *from;
    }
    *to = 0;
    return count;
}

// column (4): which field of the first line has which meaning.
static plumb_status find_columns(int column[COLUMN_COUNT], const char *path, char *field[],
                                 int count)
{
    // Several names of a column are accepted. The message has the first.
    static const char *const names[COLUMN_COUNT][4] = {{"file_name", "filename", "name", NULL},
                                                       {"SceneIndex", "scene", NULL},
                                                       {"type", "role", NULL},
                                                       {"condition", "concept", NULL}};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        column[i] = -1;
        for (int j = 0; names[i][j] && column[i] < 0; j++)
            for (int k = 0; k < count && column[i] < 0; k++)
                if (!strcmp(field[k], names[i][j])) column[i] = k;
        if (column[i] < 0)
            return fail(PLUMB_EFORMAT, "%s: has no column \"%s\"", path, names[i][0]);
    }
    return PLUMB_OK;
}

// Adds the clip of one line to the table.
static plumb_status add_row(clip_table *table, const int column[COLUMN_COUNT], char *field[],
                            int count, const char *path, int64_t line)
{
    static const char *const words[COLUMN_COUNT] = {"name", "scene", "type", "condition"};
    clip_row *grown = realloc(table->row, (size_t)(table->count + 1) * sizeof *grown);
    if (!grown) return fail(PLUMB_EMEMORY, "out of memory");
    table->row = grown;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *text = column[i] < count ? field[column[i]] : "";
        if (!*text || strlen(text) >= MAX_FIELD_LENGTH)
            return fail(PLUMB_EFORMAT, "%s: line %lld has no valid %s", path, (long long)line,
                        words[i]);
        strcpy(grown[table->count].field[i], i == COLUMN_NAME ? get_base_name(text) : text);
    }
    table->count++;
    return PLUMB_OK;
}

// Reads the whole table; the first line names the columns.
static plumb_status read_table(clip_table *table, const char *path)
{
    char line[4096], *field[MAX_FIELDS];
    int column[COLUMN_COUNT];
    FILE *f = fopen(path, "r");
    if (!f) return fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    plumb_status st = PLUMB_OK;
    for (int64_t number = 1; !st && fgets(line, sizeof line, f); number++) {
        // A line that does not fit into the buffer has no newline.
        if (!strchr(line, '\n') && !feof(f)) {
            st = fail(PLUMB_EFORMAT, "%s: line %lld is too long", path, (long long)number);
            break;
        }
        const int count = split_line(line, field);
        if (number == 1) st = find_columns(column, path, field, count);
        else if (count > 1 || field[0][0]) st = add_row(table, column, field, count, path, number);
    }
    if (!st && ferror(f)) st = fail(PLUMB_EFILE, "%s: %s", path, strerror(errno));
    fclose(f);
    return st;
}

// ---- clips to places in tuples ----

// 1_Possible is place 0, 2_Possible 1, 1_Impossible 2, 2_Impossible 3; anything else is -1.
static int parse_place(const char *type)
{
    static const char *const types[] = {"1_Possible", "2_Possible", "1_Impossible", "2_Impossible"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(types[i], type)) return i;
    return -1;
}

static const clip_row *find_row(const clip_table *table, const char *name)
{
    for (int64_t i = 0; i < table->count; i++)
        if (!strcmp(table->row[i].field[COLUMN_NAME], name)) return &table->row[i];
    return NULL;
}

// The row of a clip and its place in the tuple.
static plumb_status find_clip(const clip_row **row, int *place, const clip_table *table,
                              const char *name, const char *path)
{
    *row = find_row(table, name);
    if (!*row) return fail(PLUMB_EFORMAT, "%s: the clip \"%s\" is not in the table", path, name);
    *place = parse_place((*row)->field[COLUMN_TYPE]);
    if (*place < 0)
        return fail(PLUMB_EFORMAT,
                    "the table has the type \"%s\" for the clip \"%s\"; expected 1_Possible, "
                    "2_Possible, 1_Impossible or 2_Impossible",
                    (*row)->field[COLUMN_TYPE], name);
    return PLUMB_OK;
}

// slot (clips) from names (clips, width) by the table. A tuple is a scene and a condition, numbered
// as they come; its condition is its concept.
static plumb_status place_clips(int64_t *slot, plumb_surprise_losses *out, arena *mem,
                                const clip_table *table, const plumb_array *names, const char *path)
{
    const int64_t clips = names->shape[0], width = names->shape[1];
    const clip_row **tuple = ARENA_ALLOC(mem, const clip_row *, clips + 1);
    double *code = ARENA_ALLOC(mem, double, width + 1);
    if (!tuple || !code) return PLUMB_EMEMORY;
    int64_t tuples = 0;
    for (int64_t i = 0; i < clips; i++) {
        char name[MAX_FIELD_LENGTH] = "";
        const clip_row *row;
        int place;
        // Names are stored as numbers, one per character. The rest of a row is padding.
        plumb_array_to_double(code, names, i * width, width);
        for (int64_t k = 0; k < width && k < MAX_FIELD_LENGTH - 1; k++)
            name[k] = code[k] > 31 && code[k] < 127 ? (char)code[k] : 0;
        const plumb_status st = find_clip(&row, &place, table, get_base_name(name), path);
        if (st) return st;
        // The tuple of this scene and condition; a new one is appended.
        int64_t t = 0;
        while (t < tuples &&
               (strcmp(tuple[t]->field[COLUMN_SCENE], row->field[COLUMN_SCENE]) != 0 ||
                strcmp(tuple[t]->field[COLUMN_CONDITION], row->field[COLUMN_CONDITION]) != 0))
            t++;
        if (t == tuples) tuple[tuples++] = row;
        slot[i] = 4 * t + place;
    }
    uint8_t *text = ARENA_ALLOC(mem, uint8_t, tuples * MAX_FIELD_LENGTH + 1);
    if (!text) return PLUMB_EMEMORY;
    for (int64_t t = 0; t < tuples; t++)
        memcpy(text + t * MAX_FIELD_LENGTH, tuple[t]->field[COLUMN_CONDITION],
               strlen(tuple[t]->field[COLUMN_CONDITION]));
    out->has_concepts = true;
    out->concepts = plumb_array_view(text, PLUMB_UINT8, 2, (int64_t[]){tuples, MAX_FIELD_LENGTH});
    return PLUMB_OK;
}

// Places the clips of an IntPhys 2 file by its table.
static plumb_status place_by_table(int64_t *slot, plumb_surprise_losses *out, arena *mem,
                                   plumb_file *file, const char *path, const char *metadata,
                                   int64_t clips)
{
    plumb_array names;
    plumb_status st = plumb_file_read_array(&names, file, "names");
    if (st) return st;
    if (names.ndim != 2 || names.shape[0] != clips)
        return fail(PLUMB_ESHAPE, "%s: has %lld clips, but not as many names", path,
                    (long long)clips);
    clip_table table = {0};
    st = read_table(&table, metadata);
    if (!st) st = place_clips(slot, out, mem, &table, &names, path);
    free(table.row);
    return st;
}

// The blocks O1, O2 and O3 of IntPhys have quadruples; the other data sets have pairs.
static bool has_quadruples(plumb_file *file)
{
    plumb_array block;
    if (!plumb_file_has_array(file, "block") || plumb_file_read_array(&block, file, "block"))
        return false;
    const char *text = block.data;
    return block.dtype == PLUMB_UINT8 && plumb_array_count(&block) == 2 && text[0] == 'O' &&
           text[1] >= '1' && text[1] <= '3';
}

// Puts the path before the message of a failure.
static plumb_status add_path(plumb_status st, const char *path)
{
    char text[512];
    if (!st || st == PLUMB_EMEMORY) return st;
    snprintf(text, sizeof text, "%s", plumb_last_error());
    return fail(st, "%s: %s", path, text);
}

// Places the clips of a V-JEPA file by its labels.
static plumb_status place_by_labels(int64_t *slot, plumb_file *file, const char *path,
                                    int64_t clips)
{
    plumb_array labels;
    const plumb_status st = plumb_file_read_array(&labels, file, "labels");
    if (st) return st;
    if (plumb_array_count(&labels) != clips)
        return fail(PLUMB_ESHAPE, "%s: has %lld clips, but %lld labels", path, (long long)clips,
                    (long long)plumb_array_count(&labels));
    return add_path(loss_tuples_assign_slots(slot, &labels, has_quadruples(file)), path);
}

// ---- arrays of possible and impossible clips ----

// (n), (n, k) or (n, k, frames): group i has the clips of row i of both.
static plumb_status add_array(score_table *table, arena *mem, plumb_file *file, const char *name,
                              const char *path)
{
    plumb_array array;
    const plumb_status st = plumb_file_read_array(&array, file, name);
    if (st) return st;
    const int64_t n = array.ndim ? array.shape[0] : 0, k = array.ndim > 1 ? array.shape[1] : 1,
                  frames = array.ndim > 2 ? array.shape[2] : 1;
    if (array.ndim < 1 || array.ndim > 3 || n < 1 || k < 1 || frames < 1)
        return fail(PLUMB_ESHAPE, "%s: %s must be (n), (n, k) or (n, k, frames)", path, name);
    const int64_t first = table->count;
    score_row *rows = ARENA_ALLOC(mem, score_row, first + n * k);
    double *value = ARENA_ALLOC(mem, double, n *k *frames);
    if (!rows || !value) return PLUMB_EMEMORY;
    if (first) memcpy(rows, table->row, (size_t)first * sizeof *rows);
    plumb_array_to_double(value, &array, 0, n * k * frames);
    for (int64_t i = 0; i < n * k; i++) {
        char group[32];
        snprintf(group, sizeof group, "%012lld", (long long)(i / k));
        rows[first + i] = (score_row){.group = arena_strdup(mem, group),
                                      .possible = !strcmp(name, "possible"),
                                      .value = value + i * frames,
                                      .count = frames};
        if (!rows[first + i].group) return PLUMB_EMEMORY;
        for (int64_t t = 0; t < frames; t++)
            if (!isfinite(value[i * frames + t]))
                return fail(PLUMB_ENUMERIC, "%s: %s has a value that is NaN or infinite", path,
                            name);
    }
    table->row = rows;
    table->count = table->room = first + n * k;
    return PLUMB_OK;
}

// Tuples (n, 2) or (n, 2, frames): one possible and one impossible clip each.
static plumb_status add_pairs(score_table *table, arena *mem, plumb_file *file, const char *path)
{
    plumb_array array;
    plumb_status st = plumb_file_read_array(&array, file, "surprise");
    if (st) return st;
    const int64_t n = array.shape[0], frames = array.ndim > 2 ? array.shape[2] : 1;
    table->row = ARENA_ALLOC(mem, score_row, 2 * n);
    double *value = ARENA_ALLOC(mem, double, 2 * n * frames);
    if (!table->row || !value) return PLUMB_EMEMORY;
    plumb_array_to_double(value, &array, 0, 2 * n * frames);
    for (int64_t i = 0; i < 2 * n * frames; i++)
        if (!isfinite(value[i]))
            return fail(PLUMB_ENUMERIC, "%s: surprise has a value that is NaN or infinite", path);
    for (int64_t i = 0; i < 2 * n; i++) {
        char group[32];
        snprintf(group, sizeof group, "%012lld", (long long)(i / 2));
        table->row[i] = (score_row){.group = arena_strdup(mem, group),
                                    .possible = i % 2 == 0,
                                    .value = value + i * frames,
                                    .count = frames};
        if (!table->row[i].group) return PLUMB_EMEMORY;
    }
    table->count = table->room = 2 * n;
    return st;
}

// ---- the file ----

// Clips of a table, or of the arrays of an array file.
static plumb_status read_scores(plumb_surprise_losses *out, arena *mem, plumb_file *file,
                                const char *path, const plumb_surprise_losses_options *opt)
{
    score_table table = {0};
    plumb_status st;
    if (!file) st = score_table_read(&table, mem, path, opt);
    else if (plumb_file_has_array(file, "surprise")) st = add_pairs(&table, mem, file, path);
    else {
        st = add_array(&table, mem, file, "possible", path);
        if (!st) st = add_array(&table, mem, file, "impossible", path);
        if (!st && opt->plausible)
            for (int64_t i = 0; i < table.count; i++)
                for (int64_t t = 0; t < table.row[i].count; t++) table.row[i].value[t] *= -1.0;
        table.plausible = opt->plausible;
    }
    if (st) return st;
    out->skipped = table.skipped;
    out->plausible = table.plausible;
    return score_groups_make(out, mem, &table, path, opt);
}

// Reads the losses and arranges them in tuples, by labels or by the table.
static plumb_status read_losses(plumb_surprise_losses *out, arena *mem, plumb_file *file,
                                const char *path, const plumb_surprise_losses_options *opt)
{
    plumb_array losses;
    plumb_status st = plumb_file_read_array(&losses, file, "losses");
    if (st) return st;
    const int64_t clips = losses.ndim ? losses.shape[0] : 0;
    int64_t *slot = ARENA_ALLOC(mem, int64_t, clips + 1);
    if (!slot) return PLUMB_EMEMORY;
    if (plumb_file_has_array(file, "labels")) st = place_by_labels(slot, file, path, clips);
    else if (opt->metadata) st = place_by_table(slot, out, mem, file, path, opt->metadata, clips);
    else
        st = fail(PLUMB_EFORMAT,
                  "%s: has no labels; the option metadata must name the metadata.csv that says "
                  "what its clips are",
                  path);
    if (st) return st;
    return add_path(loss_tuples_make(out, mem, &losses, slot, opt->context, opt->frames), path);
}

plumb_status plumb_surprise_losses_read(plumb_surprise_losses *result, const char *path,
                                        const plumb_surprise_losses_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(path);
    plumb_surprise_losses_options opt = plumb_surprise_losses_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_surprise_losses_options");
    plumb_file *file = NULL;
    const bool text = score_table_reads(path);
    if (!st && !text) st = plumb_file_open(&file, path);
    if (st) return st;
    plumb_surprise_losses found = {0};
    arena *mem = result_begin(&found.memory);
    const bool arrays = file && !plumb_file_has_array(file, "losses");
    if (!mem) st = PLUMB_EMEMORY;
    else if (text || arrays) st = read_scores(&found, mem, file, path, &opt);
    else st = read_losses(&found, mem, file, path, &opt);
    plumb_file_close(file);
    st = result_end(st, &found.memory);
    if (!st) *result = found;
    return st;
}

void plumb_surprise_losses_clear(plumb_surprise_losses *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
