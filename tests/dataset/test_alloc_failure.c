// SPDX-License-Identifier: MIT
// The k-th allocation fails, for every k, while datasets are written, converted and drawn: each
// call succeeds or fails with one line, frees all memory, and leaves no incomplete file.
// Allocations of zlib, libpng and libzip are counted too.
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io/hdf5/client.h"
#include "plumb/plumb.h"
#include "support/alloc_failure.h"
#include "support/simulate.h"
#include "support/test.h"

#if !STARVE
TEST(memory_that_runs_out_is_tested_without_sanitizers)
{
    skip();
}
#else

static char folder[] = "/tmp/plumb-starving-XXXXXX";
static char from[128], to[128], figure[128];
static const plumb_world *world;
static bool compress;

static plumb_status simulate(void)
{
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    opt.replace = true;
    opt.compress = compress;
    return plumb_dataset_simulate(
        to, world, SIMULATE(.count = 2, .steps = 2, .seed = 1, .threads = 1, .write = &opt));
}

static plumb_status convert(void)
{
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    int64_t records;
    opt.replace = true;
    opt.compress = compress;
    return plumb_dataset_convert(&records, to, from, NULL, &opt);
}

static plumb_status draw(void)
{
    plumb_dataset *d;
    plumb_image_size size;
    plumb_status st = plumb_dataset_open(&d, from, NULL);
    if (st) return st;
    st = plumb_item_figure_save(&size, figure, d, 1, NULL);
    plumb_dataset_close(d);
    return st;
}

static plumb_status stream(void)
{
    plumb_loader *s;
    plumb_loader_options opt = plumb_loader_defaults();
    opt.batch = opt.window = opt.ahead = opt.threads = 1;
    // Only the opening: later requests come from another thread, and are not counted in order.
    const plumb_status st = plumb_loader_open(&s, world, &opt);
    if (!st) plumb_loader_close(s);
    return st;
}

static plumb_status write_probes(void)
{
    const plumb_world *room;
    plumb_dataset_write_options opt = plumb_dataset_write_defaults();
    opt.replace = opt.published = true;
    const plumb_status st = plumb_world_find(&room, "rooms/directional-inertia");
    return st ? st
              : write_room(to, room, (room_file){.count = 8, .seed = 1, .image = 16, .threads = 1},
                           &opt);
}

static plumb_status audit(void)
{
    plumb_dataset *d;
    plumb_audit result;
    plumb_audit_options opt = plumb_audit_defaults();
    opt.resamples = 10;
    plumb_status st = plumb_dataset_open(&d, from, NULL);
    if (st) return st;
    st = plumb_audit_measure(&result, d, &opt);
    plumb_dataset_close(d);
    return st;
}

static int strangers(void)
{
    int count = 0;
    DIR *d = opendir(folder);
    CHECK(d);
    for (struct dirent *e; (e = readdir(d));) {
        const char *dot = strrchr(e->d_name, '.');
        // What is being written has .part- or six letters behind its name until it is whole.
        if (strstr(e->d_name, ".part-")) count++;
        if (e->d_name[0] != '.' && dot && strlen(dot) == 7 && strcmp(dot, ".tfrecord")) count++;
    }
    closedir(d);
    return count;
}

static long exhaust(plumb_status (*call)(void), int slack)
{
    for (long k = 0; k < 20000; k++) {
        starve_live = 0;
        starve_until = k;
        starve_counting = true;
        const plumb_status st = call();
        starve_counting = false;
        const bool untouched = starve_until > 0; // it did not come to the k-th
        starve_until = -1;
        if (labs(starve_live) > slack) print_message("request %ld: %ld blocks\n", k, starve_live);
        CHECK(labs(starve_live) <= slack);
        CHECK_EQUAL(strangers(), 0);
        if (st) CHECK(plumb_last_error()[0] && !strchr(plumb_last_error(), '\n'));
        if (!st && untouched) return k;
    }
    fail_msg("it never got through");
    return -1;
}

TEST(memory_that_runs_out_is_a_message_and_no_half_file)
{
    static const char *const kinds[] = {"npz", "tfrecord", "h5"};
    tzset(); // the C library keeps a time zone, for libzip
    CHECK(mkdtemp(folder));
    CHECK_OK(plumb_world_find(&world, "pendulum+c"));
    snprintf(figure, sizeof figure, "%s/figure.png", folder);
    for (int i = 0; i < (hdf5_client_available() ? 3 : 2); i++)
        for (int packed = 0; packed < 2; packed++) {
            // libzip 1.7.3, which reads .npz, loses a block in some of its own failures.
            compress = packed;
            snprintf(to, sizeof to, "%s/x.%s", folder, kinds[i]);
            const long made = exhaust(simulate, 0);
            CHECK(made > 5);
            if (i == 2) continue; // every array read is a process; data-failing has reading
            memcpy(from, to, sizeof to);
            snprintf(to, sizeof to, "%s/y.%s", folder,
                     kinds[(i + 1) % (hdf5_client_available() ? 3 : 2)]);
            const long converted = exhaust(convert, i == 0);
            const long drawn = exhaust(draw, i == 0);
            print_message("  %s: %ld requests to make, %ld to convert, %ld to draw\n", kinds[i],
                          made, converted, drawn);
            CHECK(converted > 5 && drawn > 5);
        }
    CHECK(exhaust(stream, 8) > 2);

    // Rooms, as Physical Concepts has them. The list of features of before is not theirs.
    snprintf(from, sizeof from, "%s/features.txt", folder);
    unlink(from);
    snprintf(to, sizeof to, "%s/r.tfrecord", folder);
    CHECK(exhaust(write_probes, 0) > 5);
    memcpy(from, to, sizeof to);
    snprintf(to, sizeof to, "%s/r.npz", folder);
    CHECK(exhaust(convert, 0) > 5);
    CHECK(exhaust(draw, 0) > 5);
    CHECK(exhaust(audit, 0) > 5);
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_EQUAL(system(command), 0);
}
#endif
