// SPDX-License-Identifier: MIT
#include "evaluate/score_rows.h"

#include <string.h>
#include <strings.h>

#include "base/status.h"

const char *const score_words_name[] = {"clip",    "name",     "file_name", "filename", "video",
                                        "videoid", "video_id", "path",      "movie",    NULL};
const char *const score_words_group[] = {"group",      "tuple", "tuple_id", "quadruple",
                                         "SceneIndex", "scene", "scenario", NULL};
const char *const score_words_possible[] = {
    "possible", "is_possible", "plausible", "valid", "label", "type", "role", "trial_type", NULL};
const char *const score_words_concept[] = {"concept",        "property",  "principle", "split",
                                           "event_category", "condition", NULL};
const char *const score_words_motion[] = {"motion", "motion_energy", NULL};
const char *const score_words_difference[] = {"frame_difference", "frame_diff", NULL};
const char *const score_words_score[] = {"score", "surprise", "loss", NULL};

const char *const score_words_plausibility[] = {"plausibility", "plausibility_score", "p_possible",
                                                NULL};

plumb_status score_table_add(score_table *table, arena *mem, const score_row *row)
{
    if (table->count == table->room) {
        const int64_t room = table->room ? 2 * table->room : 256;
        score_row *grown = ARENA_ALLOC(mem, score_row, room);
        if (!grown) return PLUMB_EMEMORY;
        if (table->count) memcpy(grown, table->row, (size_t)table->count * sizeof *grown);
        table->row = grown;
        table->room = room;
    }
    table->row[table->count++] = *row;
    return PLUMB_OK;
}

// Does the text have the word in it, whatever its case?
static bool has_word(const char *text, const char *word)
{
    for (; *text; text++)
        if (!strncasecmp(text, word, strlen(word))) return true;
    return false;
}

int score_parse_possible(const char *text)
{
    static const char *const yes[] = {"1",  "1.0", "true", "yes", "real",
                                      "vv", "ii",  "ui",   "cv",  NULL};
    static const char *const no[] = {"0",  "0.0", "false", "no", "magic",
                                     "iv", "vi",  "uv",    "ci", NULL};
    for (int i = 0; yes[i]; i++)
        if (!strcasecmp(text, yes[i])) return 1;
    for (int i = 0; no[i]; i++)
        if (!strcasecmp(text, no[i])) return 0;
    if (has_word(text, "impossible") || has_word(text, "implausible") || has_word(text, "invalid"))
        return 0;
    return has_word(text, "possible") || has_word(text, "plausible") || has_word(text, "valid")
               ? 1
               : -1;
}
