// SPDX-License-Identifier: MIT
// Checks that a model fits what it is evaluated on. The hash of its training videos is in the
// metadata of its weights.
#include "evaluate/match.h"

#include <string.h>
#include <sys/stat.h>

#include "base/status.h"
#include "dataset/video_load.h"

static bool same_frames(const video_set *one, const video_set *other)
{
    return one->height == other->height && one->width == other->width &&
           one->channels == other->channels;
}

// "NAME: frames of .., and RUN was trained on ..".
static plumb_status refuse_frames(const trained_model *trained, const char *name, const char *what,
                                  const video_set *videos)
{
    const video_set *shape = &trained->shape;
    return fail(PLUMB_ESHAPE, "%s: %s %lldx%lldx%lld, and %s was trained on %lldx%lldx%lld", name,
                what, (long long)videos->height, (long long)videos->width,
                (long long)videos->channels, trained->run, (long long)shape->height,
                (long long)shape->width, (long long)shape->channels);
}

plumb_status match_frames(const trained_model *trained, const char *name, const video_set *videos)
{
    return same_frames(videos, &trained->shape)
               ? PLUMB_OK
               : refuse_frames(trained, name, "has frames of", videos);
}

plumb_status match_naive(const trained_model *trained, const trained_model *naive)
{
    struct stat first, second;
    // The same device and inode: two paths of one directory.
    if (!stat(trained->run, &first) && !stat(naive->run, &second) &&
        first.st_dev == second.st_dev && first.st_ino == second.st_ino)
        return fail(PLUMB_EVALUE,
                    "%s: is the run that is evaluated; the naive model is another run, trained on "
                    "impossible clips",
                    naive->run);
    if (strcmp(naive->model.name, trained->model.name))
        return fail(PLUMB_EVALUE, "%s: is a run of %s, and %s is one of %s; they must be the same",
                    naive->run, naive->model.name, trained->run, trained->model.name);
    return same_frames(&naive->shape, &trained->shape)
               ? PLUMB_OK
               : refuse_frames(trained, naive->run, "was trained on frames of", &naive->shape);
}

plumb_status match_unseen(const trained_model *trained, const char *path)
{
    const run_config_data *data = &trained->config.data;
    char hash[33];
    const frame_size size = {.side = trained->config.data.resize}; // as in training
    // Of a longer file, the videos that training would have taken.
    const plumb_status st = video_hash_file(hash, path, data->trajectories, &size);
    // A file that training cannot read, or that has fewer videos, is another one.
    if (st) return st == PLUMB_EMEMORY || st == PLUMB_ESTOPPED ? st : PLUMB_OK;
    if (strcmp(hash, trained->data_hash)) return PLUMB_OK;
    return fail(PLUMB_EVALUE,
                "%s: %s was trained on these videos; give other ones, or set the option "
                "allow_training_data",
                path, trained->run);
}
