// SPDX-License-Identifier: MIT
// Records of the Physical Concepts data set [Piloto22]: free clips (image, mask, camera_pose) and
// probes (the same as possible_* and impossible_*, two clips each). Bytes as they are, no PNG; no
// list of features beside the file.
#ifndef DATASET_PHYSICAL_CONCEPTS_H
#define DATASET_PHYSICAL_CONCEPTS_H

#include "base/buffer.h"
#include "base/status.h"
#include "plumb/array.h"

enum { PHYSICAL_CONCEPTS_FIELDS = 3, PHYSICAL_CONCEPTS_POSE = 6 };

/// What a record holds; the sizes follow from how many bytes and floats there are.
typedef struct physical_concepts_layout {
    bool probe;
    int64_t steps, size; ///< frames are size x size
} physical_concepts_layout;

/// Looks into an Example. `*is` is false if it has other keys. Fails with PLUMB_EFORMAT if it has
/// these and their lengths fit no clip. `what` names file and record.
plumb_status physical_concepts_detect(physical_concepts_layout *out, bool *is, const void *example,
                                      size_t bytes, const char *what);

/// Field 0 .. 2 as plumb names it, frames, mask or camera_pose, and its shape in an item.
const char *physical_concepts_name(int field);
plumb_array physical_concepts_array(const physical_concepts_layout *p, int field);

/// The field of one record, which must be like `p`.
plumb_status physical_concepts_read(buffer *out, const physical_concepts_layout *p, int field,
                                    const void *example, size_t bytes, const char *what);

/// Puts an item's three fields, of these shapes, together as features of an Example.
void physical_concepts_append(buffer *features, const physical_concepts_layout *p,
                              const void *frames, const void *mask, const float *pose);

/// "rooms/continuity" for ".../probes/continuity/data.tfrecord-...", or "": by the folders of a
/// path. `concept`, if not NULL, becomes the name of the folder of a probe, else "".
void physical_concepts_world(char out[64], char concept[32], const char *path);

#endif
