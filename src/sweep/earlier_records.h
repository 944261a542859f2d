// SPDX-License-Identifier: MIT
// Records of runs that were finished elsewhere: lines of a results.jsonl whose run directories may
// be gone. Their runs count as done.
#ifndef SWEEP_EARLIER_RECORDS_H
#define SWEEP_EARLIER_RECORDS_H

#include "sweep/study_file.h"

/// Adds the finished runs of the file `path` that belong to the study. Lines of other studies,
/// failures and incomplete lines are skipped; the last line of a run counts. Fails with PLUMB_EFILE
/// if the file cannot be read, PLUMB_EVALUE if a line has other settings or another evaluation than
/// the study.
plumb_status earlier_records_add(study_file *study, const char *path);

/// The line of a run, without its newline. NULL: there is none.
const char *earlier_records_find(const study_file *study, const study_run *run);

#endif
