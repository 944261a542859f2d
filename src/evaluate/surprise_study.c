// SPDX-License-Identifier: MIT
// The table of a study: every loss file of a folder, every context length. A entry is the share of
// pairs whose impossible clip has the higher loss, by the mean and by the maximum over windows. The
// best of many entries is too high, so the choice is repeated on four fifths of the scenes and
// judged on the last.
#include "plumb/surprise_study.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argument.h"
#include "base/options_struct.h"
#include "base/result.h"
#include "base/status.h"
#include "evaluate/loss_set.h"

enum { FOLDS = 5, REDUCTIONS = 2, MAX_PATH = 4096 };
enum { BY_MEAN, BY_MAXIMUM };

// One entry of the table: a property, a context, and its pairs by both reductions.
typedef struct study_entry {
    plumb_surprise_study_row row;
    int64_t pairs;
    int64_t *scene;          // (pairs) tuple that a pair belongs to
    bool *right[REDUCTIONS]; // (pairs)
} study_entry;

typedef struct study {
    study_entry *entry;
    int64_t count, room;
    plumb_surprise_study *out;
} study;

// ---- files ----

typedef struct file_list {
    char **path;
    int64_t count;
} file_list;

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// A file of a set whose rank 0 is in the list too.
static bool is_later_rank(const char *path)
{
    const int64_t stem = loss_set_stem(path);
    return stem && strcmp(path + stem, "_rank0.pth") != 0;
}

static plumb_status add_file(file_list *list, arena *mem, const char *path)
{
    char **grown = ARENA_ALLOC(mem, char *, list->count + 1);
    if (!grown) return PLUMB_EMEMORY;
    if (list->count) memcpy(grown, list->path, (size_t)list->count * sizeof *grown);
    if (!(grown[list->count] = arena_strdup(mem, path))) return PLUMB_EMEMORY;
    list->path = grown;
    list->count++;
    return PLUMB_OK;
}

// All .pth files of a folder in the order of their names; of several ranks only the first.
static plumb_status list_files(file_list *list, arena *mem, const char *folder)
{
    char path[MAX_PATH];
    DIR *dir = opendir(folder);
    if (!dir) return fail(PLUMB_EFILE, "%s: %s", folder, strerror(errno));
    plumb_status st = PLUMB_OK;
    for (const struct dirent *entry; !st && (entry = readdir(dir));) {
        const size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".pth") != 0) continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path)
            st = fail(PLUMB_EFILE, "%s: the path is too long", folder);
        else if (!is_later_rank(path)) st = add_file(list, mem, path);
    }
    closedir(dir);
    if (list->count) qsort(list->path, (size_t)list->count, sizeof *list->path, compare_paths);
    return st;
}

// The files of the folder or of its folder raw_surprises.
static plumb_status find_files(file_list *list, arena *mem, const char *folder)
{
    char inner[MAX_PATH];
    plumb_status st = list_files(list, mem, folder);
    if (st || list->count) return st;
    snprintf(inner, sizeof inner, "%s/raw_surprises", folder);
    DIR *dir = opendir(inner);
    if (!dir) return fail(PLUMB_EFILE, "%s: has no .pth files", folder);
    closedir(dir);
    st = list_files(list, mem, inner);
    if (!st && !list->count) st = fail(PLUMB_EFILE, "%s: has no .pth files", inner);
    return st;
}

// ---- entries ----

typedef struct clip_loss {
    double loss;
    bool impossible;
} clip_loss;

static int compare_losses(const void *a, const void *b)
{
    const clip_loss *x = a, *y = b;
    return (x->loss > y->loss) - (x->loss < y->loss);
}

// The share of (possible, impossible) in which the impossible clip has the higher loss; ties half.
static double compute_auroc(clip_loss *clip, int64_t count)
{
    double below = 0.0, won = 0.0, impossible = 0.0;
    if (count) qsort(clip, (size_t)count, sizeof *clip, compare_losses);
    for (int64_t i = 0; i < count;) {
        const double loss = clip[i].loss;
        double p = 0.0, n = 0.0;
        for (; i < count && clip[i].loss == loss; i++) *(clip[i].impossible ? &n : &p) += 1.0;
        won += n * (below + 0.5 * p);
        below += p;
        impossible += n;
    }
    return below > 0.0 && impossible > 0.0 ? won / (below * impossible) : (double)NAN;
}

// reduced (clips, 2): mean and maximum over windows of context c; -1: of the least over contexts.
// The mean counts windows of padding, as the study's own script does.
static void reduce_windows(double *reduced, const loss_set *set, int64_t c)
{
    const int64_t contexts = set->losses.shape[1], windows = set->losses.shape[2];
    const double *loss = set->losses.data;
    for (int64_t i = 0; i < set->losses.shape[0]; i++) {
        double sum = 0.0, most = 0.0;
        for (int64_t w = 0; w < windows; w++) {
            double x = loss[(i * contexts + (c < 0 ? 0 : c)) * windows + w];
            for (int64_t k = 1; c < 0 && k < contexts; k++)
                x = fmin(x, loss[(i * contexts + k) * windows + w]);
            sum += x;
            most = w ? fmax(most, x) : x;
        }
        reduced[2 * i + BY_MEAN] = sum / (double)windows;
        reduced[2 * i + BY_MAXIMUM] = most;
    }
}

static const char *get_concept(const loss_set *set, int64_t tuple)
{
    return set->concept ? set->concept[tuple] : set->block;
}

// The pairs of a concept: clips that begin alike, places 0 and 2, 1 and 3 of a tuple.
static plumb_status measure_pairs(study_entry *entry, arena *mem, const loss_set *set,
                                  const double *reduced, const int64_t *clip)
{
    int64_t singles = 0;
    entry->scene = ARENA_ALLOC(mem, int64_t, 2 * set->tuples);
    clip_loss *single = ARENA_ALLOC(mem, clip_loss, 4 * set->tuples);
    for (int r = 0; r < REDUCTIONS; r++) entry->right[r] = ARENA_ALLOC(mem, bool, 2 * set->tuples);
    if (!entry->scene || !single || !entry->right[0] || !entry->right[1]) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < 2 * set->tuples; k++) {
        const int64_t tuple = k / 2, p = clip[4 * tuple + k % 2], q = clip[4 * tuple + k % 2 + 2];
        if (strcmp(get_concept(set, tuple), entry->row.property) != 0) continue;
        if (p < 0 && q < 0) continue;
        if (p < 0 || q < 0)
            return fail(PLUMB_EVALUE,
                        "%s: a clip of tuple %lld has no partner; expected as many possible as "
                        "impossible clips",
                        set->path, (long long)tuple);
        for (int r = 0; r < REDUCTIONS; r++)
            entry->right[r][entry->pairs] = reduced[2 * p + r] < reduced[2 * q + r];
        entry->scene[entry->pairs++] = tuple;
    }
    for (int r = 0; r < REDUCTIONS; r++) {
        int64_t right = 0;
        singles = 0;
        for (int64_t k = 0; k < entry->pairs; k++) right += entry->right[r][k];
        for (int64_t k = 0; k < 4 * set->tuples; k++)
            if (clip[k] >= 0 && !strcmp(get_concept(set, k / 4), entry->row.property))
                single[singles++] = (clip_loss){reduced[2 * clip[k] + r], k % 4 > 1};
        const double share = (double)right / (double)entry->pairs,
                     auroc = compute_auroc(single, singles);
        *(r ? &entry->row.maximum : &entry->row.mean) = share;
        *(r ? &entry->row.auroc_maximum : &entry->row.auroc_mean) = auroc;
    }
    return PLUMB_OK;
}

static plumb_status add_entry(study *s, arena *mem, const loss_set *set, const char *property,
                              const char *context, const double *reduced, const int64_t *clip)
{
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        study_entry *grown = ARENA_ALLOC(mem, study_entry, s->room);
        if (!grown) return PLUMB_EMEMORY;
        if (s->count) memcpy(grown, s->entry, (size_t)s->count * sizeof *grown);
        s->entry = grown;
    }
    study_entry *entry = &s->entry[s->count++];
    *entry = (study_entry){.row = {.property = property,
                                   .context = context,
                                   .frame_step = set->frame_step,
                                   .file = set->path}};
    return measure_pairs(entry, mem, set, reduced, clip);
}

// Clips whose last windows are 0 in all contexts.
static int64_t count_padded(const loss_set *set)
{
    const int64_t row = set->losses.shape[1], windows = set->losses.shape[2];
    const double *loss = set->losses.data;
    int64_t padded = 0;
    for (int64_t i = 0; i < set->losses.shape[0]; i++) {
        bool zero = true;
        for (int64_t c = 0; c < row && zero; c++)
            zero = loss[(i * row + c + 1) * windows - 1] == 0.0;
        padded += zero;
    }
    return padded;
}

// All entries of one file: contexts in its order, then "filtered".
static plumb_status add_set(study *s, arena *mem, const loss_set *set)
{
    const int64_t clips = set->losses.shape[0], contexts = set->losses.shape[1];
    double *reduced = ARENA_ALLOC(mem, double, 2 * clips);
    int64_t *clip = ARENA_ALLOC(mem, int64_t, 4 * set->tuples);
    if (!reduced || !clip) return PLUMB_EMEMORY;
    for (int64_t k = 0; k < 4 * set->tuples; k++) clip[k] = -1;
    for (int64_t i = 0; i < clips; i++)
        if (set->slot[i] >= 0) clip[set->slot[i]] = i;
    s->out->files += set->files;
    s->out->repeated += set->repeated;
    s->out->padded += count_padded(set);
    for (int64_t c = 0; c <= contexts; c++) {
        reduce_windows(reduced, set, c < contexts ? c : -1);
        // A property that was seen in an earlier tuple has its entry already.
        const int64_t first = s->count;
        for (int64_t t = 0; t < set->tuples; t++) {
            bool known = false;
            for (int64_t k = first; k < s->count && !known; k++)
                known = !strcmp(s->entry[k].row.property, get_concept(set, t));
            if (known) continue;
            const plumb_status st =
                add_entry(s, mem, set, get_concept(set, t),
                          c < contexts ? set->context[c] : "filtered", reduced, clip);
            if (st) return st;
        }
    }
    return PLUMB_OK;
}

// ---- the best of each property ----

static double get_share(const study_entry *entry, int reduction)
{
    return reduction ? entry->row.maximum : entry->row.mean;
}

// Right pairs of a entry in one fifth of the scenes, or outside of it.
static int64_t count_right(const study_entry *entry, int reduction, int64_t fold, bool outside)
{
    int64_t right = 0;
    for (int64_t k = 0; k < entry->pairs; k++)
        if ((entry->scene[k] % FOLDS != fold) == outside) right += entry->right[reduction][k];
    return right;
}

// The first of the best entries of a property, by all pairs or (fold >= 0) by those outside the
// fold.
static const study_entry *find_best(const study *s, const char *property, int reduction,
                                    int64_t fold)
{
    const study_entry *best = NULL;
    double most = -1.0;
    for (int64_t i = 0; i < s->count; i++) {
        const study_entry *entry = &s->entry[i];
        if (strcmp(entry->row.property, property) != 0) continue;
        const double share = fold < 0 ? get_share(entry, reduction)
                                      : (double)count_right(entry, reduction, fold, true);
        if (share > most) best = entry, most = share;
    }
    return best;
}

// Pairs and scenes must be the same in all entries of a property.
static bool has_same_pairs(const study *s, const study_entry *first)
{
    for (int64_t i = 0; i < s->count; i++) {
        const study_entry *entry = &s->entry[i];
        if (strcmp(entry->row.property, first->row.property) != 0) continue;
        if (entry->pairs != first->pairs ||
            memcmp(entry->scene, first->scene, (size_t)entry->pairs * sizeof *entry->scene) != 0)
            return false;
    }
    return true;
}

static double correct_share(const study *s, const study_entry *first, int reduction)
{
    int64_t right = 0;
    if (!has_same_pairs(s, first)) return (double)NAN;
    for (int64_t fold = 0; fold < FOLDS; fold++)
        right +=
            count_right(find_best(s, first->row.property, reduction, fold), reduction, fold, false);
    return (double)right / (double)first->pairs;
}

static plumb_status fill_result(plumb_surprise_study *out, arena *mem, const study *s)
{
    out->rows = ARENA_ALLOC(mem, plumb_surprise_study_row, s->count);
    out->properties = ARENA_ALLOC(mem, plumb_surprise_study_property, s->count);
    if (!out->rows || !out->properties) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < s->count; i++) {
        const study_entry *entry = &s->entry[i];
        out->rows[out->row_count++] = entry->row;
        int64_t known = 0;
        while (known < out->property_count &&
               strcmp(out->properties[known].name, entry->row.property) != 0)
            known++;
        out->properties[known].rows++;
        if (known < out->property_count) continue;
        const study_entry *mean = find_best(s, entry->row.property, BY_MEAN, -1),
                          *maximum = find_best(s, entry->row.property, BY_MAXIMUM, -1);
        out->properties[out->property_count++] = (plumb_surprise_study_property){
            .name = entry->row.property,
            .pairs = entry->pairs,
            .rows = 1,
            .mean = mean->row.mean,
            .maximum = maximum->row.maximum,
            .mean_context = mean->row.context,
            .maximum_context = maximum->row.context,
            .mean_corrected = correct_share(s, entry, BY_MEAN),
            .maximum_corrected = correct_share(s, entry, BY_MAXIMUM)};
    }
    const double n = (double)out->property_count;
    for (int64_t i = 0; i < out->property_count; i++) {
        const plumb_surprise_study_property *p = &out->properties[i];
        out->mean += p->mean / n;
        out->maximum += p->maximum / n;
        out->mean_corrected += p->mean_corrected / n;
        out->maximum_corrected += p->maximum_corrected / n;
    }
    return PLUMB_OK;
}

// ---- the public functions ----

plumb_status plumb_surprise_study_measure(plumb_surprise_study *result, const char *folder,
                                          const plumb_surprise_losses_options *options)
{
    REQUIRE_ARGUMENT(result);
    REQUIRE_ARGUMENT(folder);
    plumb_surprise_losses_options opt = plumb_surprise_losses_defaults();
    plumb_status st = options_resolve(&opt, sizeof opt, options, "plumb_surprise_losses_options");
    if (st) return st;
    plumb_surprise_study found = {0};
    arena *mem = result_begin(&found.memory);
    file_list files = {0};
    study s = {.out = &found};
    if (!mem) return PLUMB_EMEMORY;
    st = find_files(&files, mem, folder);
    for (int64_t i = 0; i < files.count && !st; i++) {
        loss_set set;
        st = loss_set_read(&set, mem, files.path[i], &opt);
        if (!st) st = add_set(&s, mem, &set);
    }
    if (!st) st = fill_result(&found, mem, &s);
    st = result_end(st, &found.memory);
    if (!st) *result = found;
    return st;
}

void plumb_surprise_study_record(plumb_record *record, const plumb_surprise_study *result)
{
    if (!record || !result) return;
    plumb_record_set_double(record, "mean", result->mean);
    plumb_record_set_double(record, "maximum", result->maximum);
    plumb_record_set_double(record, "mean_corrected", result->mean_corrected);
    plumb_record_set_double(record, "maximum_corrected", result->maximum_corrected);
    plumb_record_begin_array(record, "properties");
    for (int64_t i = 0; i < result->property_count; i++) {
        const plumb_surprise_study_property *p = &result->properties[i];
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "name", p->name);
        plumb_record_set_int(record, "pairs", p->pairs);
        plumb_record_set_int(record, "rows", p->rows);
        plumb_record_set_double(record, "mean", p->mean);
        plumb_record_set_string(record, "mean_context", p->mean_context);
        plumb_record_set_double(record, "mean_corrected", p->mean_corrected);
        plumb_record_set_double(record, "maximum", p->maximum);
        plumb_record_set_string(record, "maximum_context", p->maximum_context);
        plumb_record_set_double(record, "maximum_corrected", p->maximum_corrected);
        plumb_record_end(record);
    }
    plumb_record_end(record);
    plumb_record_begin_array(record, "rows");
    for (int64_t i = 0; i < result->row_count; i++) {
        const plumb_surprise_study_row *row = &result->rows[i];
        plumb_record_begin_object(record, NULL);
        plumb_record_set_string(record, "property", row->property);
        plumb_record_set_string(record, "context", row->context);
        plumb_record_set_int(record, "frame_step", row->frame_step);
        plumb_record_set_string(record, "file", row->file);
        plumb_record_set_double(record, "mean", row->mean);
        plumb_record_set_double(record, "maximum", row->maximum);
        plumb_record_set_double(record, "auroc_mean", row->auroc_mean);
        plumb_record_set_double(record, "auroc_maximum", row->auroc_maximum);
        plumb_record_end(record);
    }
    plumb_record_end(record);
    plumb_record_set_int(record, "files", result->files);
    plumb_record_set_int(record, "repeated", result->repeated);
    plumb_record_set_int(record, "padded", result->padded);
}

void plumb_surprise_study_clear(plumb_surprise_study *result)
{
    if (result) result_clear(result, sizeof *result, result->memory);
}
