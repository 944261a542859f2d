// SPDX-License-Identifier: MIT
// Free scenes for training: two to four random events per clip.
#ifndef WORLDS_ROOMS_FREEFORM_H
#define WORLDS_ROOMS_FREEFORM_H

#include "worlds/rooms/scene.h"

/// Samples and simulates a scene. `event_counts` gets the number of events of each kind. False if
/// it must be sampled again.
bool freeform_sample(room_scene *scene, uint8_t event_counts[PLUMB_ROOM_EVENTS], rng *random);
/// Returns true if a moving body is visible. `mask` is (15, size, size).
bool freeform_accept(const room_scene *scene, const uint8_t *mask, int64_t size);
/// Names of the events, in the order of their counts: "roll", "collide" ...
extern const char *const freeform_event_names[PLUMB_ROOM_EVENTS];

#endif
