// SPDX-License-Identifier: MIT
/// @file
/// The table of a study of intuitive physics: a folder of losses of one model on one data set, with
/// several context lengths. The V-JEPA study takes the best context of each property, then the mean
/// over properties. A number that was chosen as the best of many is too high; here it is also
/// measured on pairs that had no part in the choice.
#ifndef PLUMB_SURPRISE_STUDY_H
#define PLUMB_SURPRISE_STUDY_H

#include "plumb/surprise.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One property with one context length. Shares of right pairs; a tie is wrong.
typedef struct plumb_surprise_study_row {
    const char *property; ///< "object_permanence" ...: a block of the study.
    const char *context;  ///< "2", "4", ...; "filtered": the least loss over all contexts.
    int64_t frame_step;   ///< 0 if the file does not say.
    const char *file;     ///< The file that it is from, the first of several ranks.
    double mean;          ///< Of the mean over windows, padding counted as the study does, 0 to 1.
    double maximum;       ///< Of the maximum over windows, 0 to 1.
    double auroc_mean;    ///< AUROC of single clips by the mean over windows.
    double auroc_maximum; ///< AUROC of single clips by the maximum over windows.
} plumb_surprise_study_row;

/// One property: its best context, and what remains if the choice is made on other pairs.
typedef struct plumb_surprise_study_property {
    const char *name;            ///< Name of the property.
    int64_t pairs;               ///< Pairs of a possible and an impossible clip.
    int64_t rows;                ///< Context lengths to choose from.
    double mean;                 ///< Best row by the mean over windows, 0 to 1.
    double maximum;              ///< Best row by the maximum over windows, 0 to 1.
    const char *mean_context;    ///< Context of that row; the first of equals.
    const char *maximum_context; ///< Likewise.
    /// Share of right pairs if the context for each fifth of the scenes is chosen on the other four
    /// fifths. NaN if files of one property have different clips.
    double mean_corrected;
    double maximum_corrected; ///< Likewise.
} plumb_surprise_study_property;

/// The table. Free what it owns with plumb_surprise_study_clear().
typedef struct plumb_surprise_study {
    plumb_surprise_study_property *properties; ///< (property_count) in the order of the files.
    int64_t property_count;                    ///< At least 1.
    plumb_surprise_study_row *rows; ///< All properties and contexts, in the order of the files.
    int64_t row_count;              ///< At least 1.
    double mean;                    ///< Mean over properties of their best row: the study's number.
    double maximum;                 ///< Likewise by the maximum over windows.
    double mean_corrected;          ///< Mean over properties, each corrected for the choice.
    double maximum_corrected;       ///< Likewise.
    int64_t files;                  ///< Loss files, the files of all ranks counted.
    int64_t repeated;               ///< Clips that two ranks have; each is taken once.
    int64_t padded;                 ///< Clips that end with windows of 0, which the study counts.
    void *memory;                   ///< Private.
} plumb_surprise_study;

/// Reads all .pth files in `folder`, or in its folder raw_surprises, and measures the table. With
/// the option metadata (IntPhys 2) a concept of the table is a property; `concept_by` makes it from
/// several columns, "Difficulty,Camera". Other options are ignored. May be NULL: options. On
/// failure `result` is unchanged. Fails as plumb_surprise_losses_read() does, with PLUMB_EFILE if
/// the folder has no .pth file.
PLUMB_API plumb_status plumb_surprise_study_measure(plumb_surprise_study *result,
                                                    const char *folder,
                                                    const plumb_surprise_losses_options *options);

/// Writes the table under the names that `plumb surprise FOLDER --json` prints.
PLUMB_API void plumb_surprise_study_record(plumb_record *record,
                                           const plumb_surprise_study *result);

/// Frees what the result owns. May be NULL: result.
PLUMB_API void plumb_surprise_study_clear(plumb_surprise_study *result);

#ifdef __cplusplus
}
#endif

#endif
