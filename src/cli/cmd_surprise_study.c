// SPDX-License-Identifier: MIT
// plumb surprise FOLDER: the best context of each property, then the mean over properties.
#include "cli/cmd_surprise_study.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool surprise_study_is(const char *path)
{
    char inner[4096];
    struct stat info;
    snprintf(inner, sizeof inner, "%s/raw_surprises", path);
    if (!stat(inner, &info) && S_ISDIR(info.st_mode)) return true;
    DIR *dir = opendir(path);
    bool found = false;
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        const size_t length = strlen(entry->d_name);
        found = length > 4 && !strcmp(entry->d_name + length - 4, ".pth");
    }
    if (dir) closedir(dir);
    return found;
}

static void fill_record(plumb_record *record, const void *context)
{
    plumb_surprise_study_record(record, context);
}

// "71.67", or "-" for NaN.
static const char *format_share(char text[16], double share)
{
    if (isnan(share)) return "-";
    snprintf(text, 16, "%.2f", 100.0 * share);
    return text;
}

// A line for each property; the columns are those of the heading in print_study().
static void print_property(const plumb_surprise_study_property *p)
{
    char text[4][16];
    printf("  %-24.24s %6lld  %6s %-9.9s %9s  %6s %-9.9s %9s\n", p->name[0] ? p->name : "all",
           (long long)p->pairs, format_share(text[0], p->mean), p->mean_context,
           format_share(text[1], p->mean_corrected), format_share(text[2], p->maximum),
           p->maximum_context, format_share(text[3], p->maximum_corrected));
}

static void print_rows(const plumb_surprise_study *study)
{
    printf("\nevery context\n  %-24s %-9s %5s  %6s %6s  %7s %7s\n", "property", "context", "step",
           "mean", "max", "AUROC", "max");
    for (int64_t i = 0; i < study->row_count; i++) {
        const plumb_surprise_study_row *row = &study->rows[i];
        printf("  %-24.24s %-9.9s %5lld  %6.2f %6.2f  %7.4f %7.4f\n",
               row->property[0] ? row->property : "all", row->context, (long long)row->frame_step,
               100.0 * row->mean, 100.0 * row->maximum, row->auroc_mean, row->auroc_maximum);
    }
}

static void print_study(const void *context)
{
    const plumb_surprise_study *study = context;
    char text[4][16];
    table_paragraph("pairs of a possible and an impossible clip that are right, in %%, with the "
                    "best context of each property; corrected: the context for a fifth of the "
                    "scenes is chosen on the other four");
    printf("\n  %-24s %6s  %-16s %9s  %-16s %9s\n", "property", "pairs", "mean (context)",
           "corrected", "max (context)", "corrected");
    for (int64_t i = 0; i < study->property_count; i++) print_property(&study->properties[i]);
    printf("  %-24s %6s  %6s %-9s %9s  %6s %-9s %9s\n", "mean over properties", "",
           format_share(text[0], study->mean), "", format_share(text[1], study->mean_corrected),
           format_share(text[2], study->maximum), "",
           format_share(text[3], study->maximum_corrected));
    print_rows(study);
    putchar('\n');
    table_paragraph("the mean over windows is the study's number of pairs; for single clips it "
                    "takes the maximum");
    if (study->padded)
        table_paragraph("%lld clips are shorter than the longest; as in the study, the mean counts "
                        "their padding as windows of 0",
                        (long long)study->padded);
    if (study->repeated)
        table_paragraph("%lld clips are in the files of two ranks; each is taken once",
                        (long long)study->repeated);
}

int surprise_study_run(const char *folder, const plumb_surprise_losses_options *options,
                       cli_format format)
{
    plumb_surprise_study study;
    if (plumb_surprise_study_measure(&study, folder, options)) return cli_last_error(&cmd_surprise);
    const int code = cli_print(&cmd_surprise, format, fill_record, print_study, &study);
    plumb_surprise_study_clear(&study);
    return code;
}
