// SPDX-License-Identifier: MIT
// 3. Training data without a file: batches of a world, made by threads ahead of their use.
//
//     cc 03_stream.c -o stream $(pkg-config --cflags --libs plumb) && ./stream pendulum+c
#include <plumb/plumb.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    const plumb_world *world;
    plumb_loader *stream = NULL;
    plumb_loader_batch batch;
    plumb_loader_options opt = plumb_loader_defaults(); // 32 windows of 64 frames a batch
    opt.steps = 256; // each cut at random from a trajectory of 256 frames

    if (plumb_world_find(&world, argc > 1 ? argv[1] : "pendulum+c") ||
        plumb_loader_open(&stream, world, &opt)) {
        fprintf(stderr, "%s\n", plumb_last_error());
        return 1;
    }
    const plumb_world_info *facts = plumb_world_get_info(world);
    const int64_t bytes = opt.batch * opt.window * facts->height * facts->width * facts->channels;
    for (int step = 0; step < 5; step++) {
        // The batch is ours until the next call; meanwhile the threads are making the next ones.
        if (plumb_loader_next(&batch, stream)) {
            fprintf(stderr, "%s\n", plumb_last_error());
            break;
        }
        double sum = 0.0; // a training step would stand here
        for (int64_t i = 0; i < bytes; i++) sum += batch.frames[i];
        printf("%s, batch %lld: mean brightness %.3f\n", facts->name, (long long)batch.index,
               sum / 255.0 / (double)bytes);
    }
    plumb_loader_close(stream);
    return 0;
}
