// SPDX-License-Identifier: MIT
// Records of the Physical Concepts data set [Piloto22]: free-scene clips (image, mask, camera_pose)
// and probes (the same as possible_* and impossible_*, two clips each). Raw bytes, not PNG, and no
// features.txt.
#ifndef DATASET_PHYSICAL_CONCEPTS_H
#define DATASET_PHYSICAL_CONCEPTS_H

#include "base/buffer.h"
#include "base/status.h"
#include "plumb/array.h"

enum { PHYSICAL_CONCEPTS_FIELDS = 3, PHYSICAL_CONCEPTS_POSE = 6 };

/// Layout of a record; the sizes follow from the number of bytes and floats.
typedef struct physical_concepts_layout {
    bool probe;    ///< Four clips, else one.
    int64_t steps; ///< Frames per clip.
    int64_t size;  ///< Height and width in pixels.
} physical_concepts_layout;

/// Reads the layout of an Example. `*is` is false if it has other keys. Fails with PLUMB_EFORMAT if
/// the keys match but the lengths fit no clip. `what` names file and record.
plumb_status physical_concepts_detect(physical_concepts_layout *out, bool *is, const void *example,
                                      size_t bytes, const char *what);

/// Name in plumb of field 0 to 2, frames, mask or camera_pose, and its type and shape in an item.
const char *physical_concepts_name(int field);
plumb_array physical_concepts_array(const physical_concepts_layout *layout, int field);

/// Reads a field of one record, which must have the given layout.
plumb_status physical_concepts_read(buffer *out, const physical_concepts_layout *layout, int field,
                                    const void *example, size_t bytes, const char *what);

/// Appends the three fields of an item as features of an Example.
void physical_concepts_append(buffer *features, const physical_concepts_layout *layout,
                              const void *frames, const void *mask, const float *pose);

/// Finds the world by the folders of a path: "rooms/continuity" for
/// ".../probes/continuity/data.tfrecord-...", or "". `concept_name` becomes the folder name of a
/// probe, else "". May be NULL: concept_name.
void physical_concepts_world(char out[64], char concept_name[32], const char *path);

#endif
