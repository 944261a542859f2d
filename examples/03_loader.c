// SPDX-License-Identifier: MIT
// 3. Training data without a file: threads simulate batches of a world ahead of their use.
//
//     cc 03_loader.c -o loader $(pkg-config --cflags --libs plumb) && ./loader pendulum+c
#include <plumb/plumb.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const plumb_world *world;
    plumb_loader *loader = NULL;
    plumb_loader_batch batch;
    plumb_loader_options opt = plumb_loader_defaults(); // 32 windows of 64 frames per batch
    opt.steps = 256; // each window is a random part of a trajectory of 256 frames

    if (plumb_world_find(&world, argc > 1 ? argv[1] : "pendulum+c") ||
        plumb_loader_open(&loader, world, &opt)) {
        fprintf(stderr, "%s\n", plumb_last_error());
        return 1;
    }
    const plumb_world_info *info = plumb_world_get_info(world);
    const int64_t bytes = opt.batch * opt.window * info->height * info->width * info->channels;
    for (int step = 0; step < 5; step++) {
        // The batch is valid until the next call. The threads simulate the next ones meanwhile.
        if (plumb_loader_next(&batch, loader)) {
            fprintf(stderr, "%s\n", plumb_last_error());
            break;
        }
        double sum = 0.0; // in place of a training step
        for (int64_t i = 0; i < bytes; i++) sum += batch.frames[i];
        printf("%s, batch %lld: mean brightness %.3f\n", info->name, (long long)batch.index,
               sum / 255.0 / (double)bytes);
    }
    plumb_loader_close(loader);
    return 0;
}
