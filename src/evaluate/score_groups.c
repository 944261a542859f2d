// SPDX-License-Identifier: MIT
// Clips with the same group and concept belong together. They are sorted by that, and stay in the
// order of the file inside a group.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "evaluate/score_table.h"
#include "measures/surprise/input.h"

enum { MAX_CONCEPT = 128 };

// Clips first .. end - 1 of the sorted order.
typedef struct clip_group {
    int64_t first, end, possible, impossible;
} clip_group;

typedef struct grouping {
    const score_table *table;
    int64_t *order; // (rows) sorted by concept and group
    clip_group *group;
    int64_t groups, tuples;
    bool quadruples, pairs; // all groups are 2 + 2, or 1 + 1
} grouping;

static int compare_texts(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

// qsort has no context; rows carry their place.
typedef struct sorted_row {
    const score_row *row;
    int64_t place;
} sorted_row;

static int compare_rows(const void *a, const void *b)
{
    const sorted_row *x = a, *y = b;
    int order = compare_texts(x->row->concept, y->row->concept);
    if (!order) order = compare_texts(x->row->group, y->row->group);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static plumb_status sort_rows(grouping *out, arena *mem, const char *path)
{
    const score_table *table = out->table;
    sorted_row *sorted = ARENA_ALLOC(mem, sorted_row, table->count);
    out->order = ARENA_ALLOC(mem, int64_t, table->count);
    out->group = ARENA_ALLOC(mem, clip_group, table->count);
    if (!sorted || !out->order || !out->group) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < table->count; i++) sorted[i] = (sorted_row){&table->row[i], i};
    if (table->count) qsort(sorted, (size_t)table->count, sizeof *sorted, compare_rows);
    out->quadruples = out->pairs = true;
    for (int64_t i = 0; i < table->count;) {
        clip_group *group = &out->group[out->groups++];
        *group = (clip_group){.first = i};
        const score_row *first = sorted[i].row;
        for (; i < table->count && !compare_texts(sorted[i].row->group, first->group) &&
               !compare_texts(sorted[i].row->concept, first->concept);
             i++) {
            out->order[i] = sorted[i].place;
            if (sorted[i].row->possible) group->possible++;
            else group->impossible++;
        }
        group->end = i;
        if (!group->possible || !group->impossible)
            return fail(PLUMB_EVALUE,
                        "%s: the group \"%s\" has %lld possible and %lld impossible "
                        "clips; it must have at least one of each",
                        path, first->group ? first->group : "", (long long)group->possible,
                        (long long)group->impossible);
        out->quadruples = out->quadruples && group->possible == 2 && group->impossible == 2;
        out->pairs = out->pairs && group->possible == 1 && group->impossible == 1;
    }
    for (int64_t i = 0; i < out->groups; i++)
        out->tuples += out->quadruples ? 1 : out->group[i].possible * out->group[i].impossible;
    return PLUMB_OK;
}

// Number `index` of the possible or impossible clips of a group.
static const score_row *find_clip(const grouping *from, const clip_group *group, bool possible,
                                  int64_t index)
{
    for (int64_t i = group->first; i < group->end; i++) {
        const score_row *row = &from->table->row[from->order[i]];
        if (!row->possible == !possible && index-- == 0) return row;
    }
    return NULL; // not reached: the counts are those of the group
}

// The length that all clips have, or 0.
static int64_t find_length(const score_table *table)
{
    const int64_t length = table->count ? table->row[0].count : 0;
    for (int64_t i = 0; i < table->count; i++)
        if (table->row[i].count != length) return 0;
    return length;
}

// Clips of one length stay frames; others are reduced over their own frames.
static void put_clip(double *to, const score_row *row, int64_t width, bool reduce,
                     const plumb_surprise_losses_options *opt)
{
    if (reduce) *to = surprise_reduce_frames(row->value, row->count, opt->frames);
    else memcpy(to, row->value, (size_t)width * sizeof *to);
}

static plumb_status put_singles(plumb_surprise_losses *out, arena *mem, const score_table *table,
                                const plumb_surprise_losses_options *opt)
{
    double *score = ARENA_ALLOC(mem, double, table->count);
    uint8_t *label = ARENA_ALLOC(mem, uint8_t, table->count);
    if (!score || !label) return PLUMB_EMEMORY;
    for (int64_t i = 0; i < table->count; i++) {
        score[i] = surprise_reduce_frames(table->row[i].value, table->row[i].count, opt->frames);
        label[i] = table->row[i].possible != 0;
    }
    out->single = true;
    out->clips = plumb_array_view(score, PLUMB_FLOAT64, 1, &table->count);
    out->possible = plumb_array_view(label, PLUMB_UINT8, 1, &table->count);
    return PLUMB_OK;
}

plumb_status score_groups_make(plumb_surprise_losses *out, arena *mem, const score_table *table,
                               const char *path, const plumb_surprise_losses_options *opt)
{
    bool grouped = false, conceptual = false;
    for (int64_t i = 0; i < table->count; i++) {
        grouped = grouped || table->row[i].group;
        conceptual = conceptual || table->row[i].concept;
    }
    if (!table->count) return fail(PLUMB_EFORMAT, "%s: has no clips", path);
    if (!grouped) return put_singles(out, mem, table, opt);
    grouping from = {.table = table};
    const plumb_status st = sort_rows(&from, mem, path);
    if (st) return st;
    const int64_t length = find_length(table), width = length ? length : 1;
    if (from.tuples > ((int64_t)1 << 40) / (4 * width))
        return fail(PLUMB_EVALUE, "%s: the groups have too many pairs of clips", path);
    double *to = ARENA_ALLOC(mem, double, from.tuples * 4 * width);
    const int64_t motions = table->motion_count;
    double *motion = ARENA_ALLOC(mem, double, from.tuples * 4 * motions);
    if (!motion) return PLUMB_EMEMORY;
    uint8_t *text = ARENA_ALLOC(mem, uint8_t, conceptual ? from.tuples * MAX_CONCEPT : 1);
    if (!to || !text) return PLUMB_EMEMORY;
    int64_t t = 0;
    for (int64_t g = 0; g < from.groups; g++) {
        const clip_group *group = &from.group[g];
        const int64_t n = from.quadruples ? 1 : group->possible * group->impossible;
        for (int64_t k = 0; k < n; k++, t++) {
            // A pair takes the places 0 and 1, 2 and 3.
            const int64_t p = from.quadruples ? 0 : k / group->impossible,
                          i = from.quadruples ? 0 : k % group->impossible;
            for (int64_t place = 0; place < 4; place++) {
                const int64_t second = from.quadruples ? place % 2 : 0;
                const score_row *clip =
                    find_clip(&from, group, place < 2, (place < 2 ? p : i) + second);
                put_clip(to + (4 * t + place) * width, clip, width, !length, opt);
                memcpy(motion + (4 * t + place) * motions, clip->motion,
                       (size_t)motions * sizeof *motion);
            }
            const char *concept = table->row[from.order[group->first]].concept;
            if (conceptual && concept)
                memcpy(text + t * MAX_CONCEPT, concept, strnlen(concept, MAX_CONCEPT - 1));
        }
    }
    out->padded = length ? 0 : table->count;
    out->pairs = !from.quadruples;
    out->groups = from.groups;
    out->expanded = !from.quadruples && !from.pairs;
    out->has_motion = motions > 0;
    if (motions)
        out->motion =
            plumb_array_view(motion, PLUMB_FLOAT64, 3, (int64_t[]){from.tuples, 4, motions});
    out->has_concepts = conceptual;
    if (conceptual)
        out->concepts =
            plumb_array_view(text, PLUMB_UINT8, 2, (int64_t[]){from.tuples, MAX_CONCEPT});
    out->surprise =
        plumb_array_view(to, PLUMB_FLOAT64, width > 1 ? 3 : 2, (int64_t[]){from.tuples, 4, width});
    return PLUMB_OK;
}
