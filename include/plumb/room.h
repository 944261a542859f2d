// SPDX-License-Identifier: MIT
// Rooms: rigid things that fall, roll, collide and hide behind each other [Piloto22]. Free scenes
// to train on, and probes of five concepts: tuples of two possible and two impossible clips.
//
// The impossible clips are the possible ones cut where both show the same picture and joined
// crosswise. So at every time the two pictures of the possible pair are those of the impossible
// pair, byte for byte, and so are the two pairs of consecutive pictures: whoever looks at fewer
// than three frames cannot tell them apart.
#ifndef PLUMB_ROOM_H
#define PLUMB_ROOM_H

#include "plumb/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One row of the table of rooms. It is there for ever; nothing to free.
typedef struct plumb_room plumb_room;

enum {
    PLUMB_ROOM_STEPS = 15,       ///< frames of a clip
    PLUMB_ROOM_OBJECTS = 8,      ///< places for objects; object i has the number i + 1 in a mask
    PLUMB_ROOM_OBJECT_SIZE = 21, ///< of an object in a frame, at the places below
    PLUMB_ROOM_CUTS = 2,
    PLUMB_ROOM_EVENTS = 12, ///< kinds of event in a free scene
};

/// Where the numbers of an object are. Lengths and times are arbitrary units with g = 9.81.
enum {
    PLUMB_ROOM_COLUMN_SHAPE = 0,             ///< plumb_room_shape
    PLUMB_ROOM_COLUMN_HALF_EXTENT = 1,       ///< 3: half extents; of a ball its radius
    PLUMB_ROOM_COLUMN_COLOR = 4,             ///< 3: red, green, blue, 0 to 1
    PLUMB_ROOM_COLUMN_MASS = 7,              ///< 0 if nothing moves it
    PLUMB_ROOM_COLUMN_POSITION = 8,          ///< 3: of the centre of mass; z is up
    PLUMB_ROOM_COLUMN_ORIENTATION = 11,      ///< 4: a unit quaternion, w first
    PLUMB_ROOM_COLUMN_VELOCITY = 15,         ///< 3
    PLUMB_ROOM_COLUMN_ANGULAR_VELOCITY = 18, ///< 3: angular velocity in the room's axes
};

typedef enum plumb_room_shape {
    PLUMB_ROOM_SHAPE_NONE,
    PLUMB_ROOM_SHAPE_BALL,
    PLUMB_ROOM_SHAPE_BOX,
    PLUMB_ROOM_SHAPE_CONTAINER, ///< open above
    PLUMB_ROOM_SHAPE_COVER,     ///< open below
    PLUMB_ROOM_SHAPE_ARCH,
    PLUMB_ROOM_SHAPE_PLANK,
    PLUMB_ROOM_SHAPE_PILLAR,
    PLUMB_ROOM_SHAPE_RAMP,
    PLUMB_ROOM_SHAPE_CURTAIN,
    PLUMB_ROOM_SHAPE_POLE,
} plumb_room_shape;

typedef struct plumb_room_facts {
    const char *name;    ///< "rooms/continuity"
    const char *summary; ///< one line
    const char *concept; ///< "continuity"; NULL for free scenes
    int64_t clips;       ///< of an item: 4 in a probe, 1 in a free scene
    double dt;           ///< time between frames
} plumb_room_facts;

/// The rooms there are, free scenes first.
PLUMB_API int64_t plumb_room_count(void);
PLUMB_API const plumb_room *plumb_room_at(int64_t index);
/// By name. Fails with PLUMB_EVALUE, saying which there are.
PLUMB_API plumb_status plumb_room_find(const plumb_room **out, const char *name);
PLUMB_API const plumb_room_facts *plumb_room_describe(const plumb_room *room);

/// What kind of event number `block` is: "roll", "curtain" ...
PLUMB_API const char *plumb_room_block(int64_t block);

/// One item. The caller brings memory for what is wanted and leaves the rest NULL. Of the four
/// clips of a probe 0 and 1 are possible, and 2 begins as 0, 3 as 1.
typedef struct plumb_room_item {
    uint8_t *frames; ///< (clips, 15, image, image, 3), row 0 at the top
    uint8_t *mask;   ///< (clips, 15, image, image): number of the object, 0 the floor
    float *camera;   ///< (clips, 15, 6): look x, y, z, distance, azimuth, elevation in degrees
    double *objects; ///< (clips, 15, 8, 21)
    int64_t *cut;    ///< (2): the last frame before a change of clip, -1 if there is no second
    uint8_t *blocks; ///< (12): how many events of each kind there are in a free scene
} plumb_room_item;

/// Makes item `item` with seed `seed`: always the same, on any thread. `image` is the height and
/// width of a frame, a multiple of 4 from 16 to 256; 0: 64. Fails with PLUMB_EVALUE and
/// PLUMB_EMEMORY.
PLUMB_API plumb_status plumb_room_make(const plumb_room_item *out, const plumb_room *room,
                                       uint64_t seed, int64_t item, int64_t image);

/// Writes `count` items from `first` on to `path`, as plumb_dataset_simulate does: frames, mask,
/// camera_pose, objects, and of probes concept and cut, of free scenes blocks. With
/// `opt->published` a .tfrecord has the layout of Physical Concepts.
PLUMB_API plumb_status plumb_room_simulate(const char *path, const plumb_room *room, int64_t count,
                                           uint64_t seed, int64_t first, int64_t image,
                                           const plumb_dataset_write_options *opt, int threads);

#ifdef __cplusplus
}
#endif
#endif
