// SPDX-License-Identifier: MIT
// The V-JEPA study saves losses, labels and the name of the block; IntPhys 2 saves losses and the
// names of the clips, and a table, metadata.csv, says what each clip is: its scene, its condition,
// and 1_Possible, 1_Impossible, 2_Possible or 2_Impossible.
#include "cli/cmd_surprise_losses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 128, COLUMNS = 4, MOST_FIELDS = 64 };

void losses_clear(losses_file *l)
{
    plumb_surprise_losses_clear(&l->losses);
    free(l->text);
    *l = (losses_file){0};
}

// ---- a table ----

typedef struct clip_row {
    char field[COLUMNS][LONGEST]; // file, scene, type, condition
} clip_row;

typedef struct clip_table {
    clip_row *row;
    int64_t count;
} clip_table;

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// One line into fields; quotes may hold commas, a double quote stands for one.
static int split_line(char *line, char *field[MOST_FIELDS])
{
    int count = 0;
    char *from = line, *to = line;
    bool quoted = false;
    field[count++] = to;
    for (; *from && *from != '\n' && *from != '\r'; from++) {
        if (*from == '"' && quoted && from[1] == '"') *to++ = *++from;
        else if (*from == '"') quoted = !quoted;
        else if (*from == ',' && !quoted) {
            *to++ = 0;
            if (count == MOST_FIELDS) return count;
            field[count++] = to;
        } else *to++ = *from;
    }
    *to = 0;
    return count;
}

static int find_columns(const cli_command *c, const char *path, int column[COLUMNS], char *field[],
                        int count)
{
    static const char *const names[COLUMNS][4] = {{"file_name", "filename", "name", NULL},
                                                  {"SceneIndex", "scene", NULL},
                                                  {"type", "role", NULL},
                                                  {"condition", "concept", NULL}};
    for (int i = 0; i < COLUMNS; i++) {
        column[i] = -1;
        for (int j = 0; names[i][j] && column[i] < 0; j++)
            for (int k = 0; k < count && column[i] < 0; k++)
                if (!strcmp(field[k], names[i][j])) column[i] = k;
        if (column[i] < 0)
            return cli_error(c, EXIT_FAILED, "%s: has no column \"%s\"", path, names[i][0]);
    }
    return EXIT_DONE;
}

static int read_rows(clip_table *out, const cli_command *c, FILE *f, const char *path)
{
    char line[4096], *field[MOST_FIELDS];
    int column[COLUMNS], code = EXIT_DONE;
    for (int64_t number = 0; code == EXIT_DONE && fgets(line, sizeof line, f); number++) {
        if (!strchr(line, '\n') && !feof(f))
            return cli_error(c, EXIT_FAILED, "%s: line %lld is too long", path,
                             (long long)number + 1);
        const int count = split_line(line, field);
        if (!number) {
            code = find_columns(c, path, column, field, count);
            continue;
        }
        if (count == 1 && !field[0][0]) continue;
        clip_row *grown = realloc(out->row, (size_t)(out->count + 1) * sizeof *grown);
        if (!grown) return cli_error(c, EXIT_FAILED, "no memory");
        out->row = grown;
        for (int i = 0; i < COLUMNS; i++) {
            const char *text = column[i] < count ? field[column[i]] : "";
            if (!*text || strlen(text) >= LONGEST)
                return cli_error(c, EXIT_FAILED, "%s: line %lld has no proper %s", path,
                                 (long long)number + 1,
                                 (const char *[]){"name", "scene", "type", "condition"}[i]);
            strcpy(out->row[out->count].field[i], i ? text : base_of(text));
        }
        out->count++;
    }
    return code;
}

// ---- names to places ----

// 1_Possible is place 0, 2_Possible 1, 1_Impossible 2, 2_Impossible 3.
static int place_of(const char *type)
{
    static const char *const types[] = {"1_Possible", "2_Possible", "1_Impossible", "2_Impossible"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(types[i], type)) return i;
    return -1;
}

static const clip_row *find_row(const clip_table *t, const char *name)
{
    for (int64_t i = 0; i < t->count; i++)
        if (!strcmp(t->row[i].field[0], name)) return &t->row[i];
    return NULL;
}

// Scenes are numbered as they come; `scene` keeps a row of each.
static int place_clips(int64_t *slot, losses_file *out, const cli_command *c, const clip_table *t,
                       const plumb_array *names, const char *path)
{
    const int64_t clips = names->shape[0], width = names->shape[1];
    const clip_row **scene = calloc((size_t)clips + 1, sizeof *scene);
    double *code = calloc((size_t)width + 1, sizeof *code);
    int64_t scenes = 0;
    int result = scene && code ? EXIT_DONE : cli_error(c, EXIT_FAILED, "no memory");
    for (int64_t i = 0; i < clips && result == EXIT_DONE; i++) {
        char name[LONGEST] = "";
        plumb_array_to_double(code, names, i * width, width);
        for (int64_t k = 0; k < width && k < LONGEST - 1; k++)
            name[k] = code[k] > 31 && code[k] < 127 ? (char)code[k] : 0;
        const clip_row *row = find_row(t, base_of(name));
        const int place = row ? place_of(row->field[2]) : -1;
        if (!row)
            result =
                cli_error(c, EXIT_FAILED, "%s: the clip \"%s\" is not in the table", path, name);
        else if (place < 0)
            result = cli_error(c, EXIT_FAILED,
                               "the table calls the clip \"%s\" \"%s\", not 1_Possible "
                               "and so on",
                               name, row->field[2]);
        if (result != EXIT_DONE) break;
        int64_t s = 0;
        while (s < scenes && (strcmp(scene[s]->field[1], row->field[1]) != 0 ||
                              strcmp(scene[s]->field[3], row->field[3]) != 0))
            s++;
        if (s == scenes) scene[scenes++] = row;
        slot[i] = 4 * s + place;
    }
    if (result == EXIT_DONE) {
        uint8_t *text = calloc((size_t)scenes * LONGEST + 1, 1);
        for (int64_t s = 0; text && s < scenes; s++)
            memcpy(text + s * LONGEST, scene[s]->field[3], strlen(scene[s]->field[3]));
        out->text = text;
        out->has_concept = text;
        out->concept = plumb_array_view(text, PLUMB_UINT8, 2, (int64_t[]){scenes, LONGEST});
    }
    free(scene);
    free(code);
    return result;
}

static int place_by_table(int64_t *slot, losses_file *out, const cli_command *c, plumb_file *file,
                          const char *path, const char *metadata, int64_t clips)
{
    plumb_array names;
    if (plumb_file_read_array(&names, file, "names")) return cli_last_error(c);
    if (names.ndim != 2 || names.shape[0] != clips)
        return cli_error(c, EXIT_FAILED, "%s: has %lld clips, but not as many names", path,
                         (long long)clips);
    FILE *f = fopen(metadata, "r");
    if (!f) return cli_error(c, EXIT_FAILED, "%s: %s", metadata, strerror(errno));
    clip_table table = {0};
    int code = read_rows(&table, c, f, metadata);
    fclose(f);
    if (code == EXIT_DONE) code = place_clips(slot, out, c, &table, &names, path);
    free(table.row);
    return code;
}

// IntPhys's blocks O1, O2 and O3 have quadruples; the other data sets have pairs.
static bool has_quadruples(plumb_file *file)
{
    plumb_array block;
    if (!plumb_file_has_array(file, "block") || plumb_file_read_array(&block, file, "block"))
        return false;
    const char *text = block.data;
    return block.dtype == PLUMB_UINT8 && plumb_array_count(&block) == 2 && text[0] == 'O' &&
           text[1] >= '1' && text[1] <= '3';
}

int losses_read(losses_file *out, const cli_command *c, plumb_file *file, const char *path,
                const char *metadata, int64_t context, plumb_surprise_frames frames)
{
    plumb_array losses, labels;
    if (plumb_file_read_array(&losses, file, "losses")) return cli_last_error(c);
    const int64_t clips = losses.ndim ? losses.shape[0] : 0;
    int64_t *slot = calloc((size_t)clips + 1, sizeof *slot);
    if (!slot) return cli_error(c, EXIT_FAILED, "no memory");
    int code = EXIT_DONE;
    if (plumb_file_has_array(file, "labels")) {
        if (plumb_file_read_array(&labels, file, "labels")) code = cli_last_error(c);
        else if (plumb_array_count(&labels) != clips)
            code = cli_error(c, EXIT_FAILED, "%s: has %lld clips, but %lld labels", path,
                             (long long)clips, (long long)plumb_array_count(&labels));
        else if (plumb_surprise_slots(slot, &labels, has_quadruples(file)))
            code = cli_error(c, EXIT_FAILED, "%s: %s", path, plumb_last_error());
    } else if (!metadata) {
        code =
            cli_error(c, EXIT_FAILED,
                      "%s: has no labels; say what its clips are by --metadata metadata.csv", path);
    } else {
        code = place_by_table(slot, out, c, file, path, metadata, clips);
    }
    if (code == EXIT_DONE &&
        plumb_surprise_losses_make(&out->losses, &losses, slot, context, frames))
        code = cli_error(c, EXIT_FAILED, "%s: %s", path, plumb_last_error());
    free(slot);
    return code;
}
