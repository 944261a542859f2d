// SPDX-License-Identifier: MIT
// Simulated files have the same bits for any count, first item, number of threads and format.
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/hdf5/client.h"
#include "plumb/dataset.h"
#include "support/simulate.h"
#include "support/test.h"

static char folder[] = "/tmp/plumb-simulate-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    static bool made; // a name can end in X
    if (!made) CHECK(mkdtemp(folder));
    made = true;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int files_left(void)
{
    int count = 0;
    in_folder("");
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            count++;
            unlink(in_folder(e->d_name));
        }
    if (dir) closedir(dir);
    return count;
}

static const plumb_world *world(const char *name)
{
    const plumb_world *found;
    CHECK_OK(plumb_world_find(&found, name));
    return found;
}

static unsigned char *whole(const char *path, long *size)
{
    FILE *f = fopen(path, "rb");
    CHECK(f);
    fseek(f, 0, SEEK_END);
    *size = ftell(f);
    rewind(f);
    unsigned char *bytes = malloc((size_t)*size + 1);
    CHECK(bytes && fread(bytes, 1, (size_t)*size, f) == (size_t)*size);
    fclose(f);
    return bytes;
}

static void same_file(const char *a, const char *b)
{
    long m, n;
    unsigned char *x = whole(a, &m), *y = whole(b, &n);
    CHECK_EQUAL(m, n);
    CHECK(!memcmp(x, y, (size_t)m));
    free(x);
    free(y);
}

TEST(threads_change_no_byte_of_any_file)
{
    static const char *const names[] = {".npz", ".tfrecord", ".h5"};
    for (int i = 0; i < (hdf5_client_available() ? 3 : 2); i++) {
        char one[16], many[16];
        snprintf(one, sizeof one, "1%s", names[i]);
        snprintf(many, sizeof many, "3%s", names[i]);
        CHECK_OK(
            plumb_dataset_simulate(in_folder(one), world("pendulum+c"),
                                   SIMULATE(.count = 17, .steps = 9, .seed = 5, .threads = 1)));
        CHECK_OK(
            plumb_dataset_simulate(in_folder(many), world("pendulum+c"),
                                   SIMULATE(.count = 17, .steps = 9, .seed = 5, .threads = 3)));
        same_file(in_folder(one), in_folder(many));
    }
    CHECK(files_left() >= 4);
}

TEST(an_item_is_the_same_wherever_it_stands_and_as_the_world_makes_it)
{
    const plumb_world *w = world("mass-spring+c");
    const plumb_world_info *facts = plumb_world_get_info(w);
    plumb_dataset *a, *b;
    CHECK_OK(plumb_dataset_simulate(in_folder("a.npz"), w,
                                    SIMULATE(.count = 7, .steps = 6, .seed = 9, .threads = 2)));
    CHECK_OK(plumb_dataset_simulate(
        in_folder("b.npz"), w,
        SIMULATE(.count = 2, .steps = 6, .seed = 9, .first = 4, .threads = 2)));
    CHECK_OK(plumb_dataset_open(&a, in_folder("a.npz"), NULL));
    CHECK_OK(plumb_dataset_open(&b, in_folder("b.npz"), NULL));
    for (int64_t i = 0; i < plumb_dataset_field_count(a); i++) {
        const char *name = plumb_dataset_field_name(a, i);
        if (plumb_dataset_is_shared(a, name)) continue;
        plumb_array x, y;
        CHECK_OK(plumb_dataset_read_field(&x, a, 5, name));
        CHECK_OK(plumb_dataset_read_field(&y, b, 1, name));
        CHECK_EQUAL(plumb_array_count(&x), plumb_array_count(&y));
        CHECK(!memcmp(x.data, y.data, (size_t)plumb_array_count(&x) * plumb_dtype_size(x.dtype)));
    }
    double state[6][2], energy[6], parameters[16];
    uint8_t frames[6 * 32 * 32 * 3];
    plumb_array found;
    const plumb_world_item made = {
        .state = &state[0][0], .energy = energy, .parameters = parameters, .frames = frames};
    CHECK_OK(plumb_world_simulate(&made, w, 9, 5, 6, NULL));
    CHECK_OK(plumb_dataset_read_field(&found, a, 5, "state"));
    CHECK(!memcmp(found.data, state, sizeof state));
    CHECK_OK(plumb_dataset_read_field(&found, a, 5, "frames"));
    CHECK(!memcmp(found.data, frames, sizeof frames));
    CHECK_OK(plumb_dataset_read_field(&found, a, 5, "energy"));
    CHECK(!memcmp(found.data, energy, sizeof energy));
    const double *at = parameters;
    for (int64_t i = 0; i < facts->parameter_count; at += facts->parameters[i++].count) {
        CHECK_OK(plumb_dataset_read_field(&found, a, 5, facts->parameters[i].name));
        for (int64_t k = 0; k < facts->parameters[i].count; k++) {
            double value;
            plumb_array_to_double(&value, &found, k, 1);
            CHECK(value == at[k]);
        }
    }
    plumb_dataset_close(a);
    plumb_dataset_close(b);
    files_left();
}

TEST(options_of_the_world_go_into_the_file)
{
    plumb_world_options opt = plumb_world_defaults();
    plumb_dataset *d;
    plumb_array a;
    double value;
    opt.dt = 0.02;
    opt.stride = 5;
    opt.image = 8;
    opt.backward = true;
    CHECK_OK(plumb_dataset_simulate(
        in_folder("a.npz"), world("pendulum"),
        SIMULATE(.count = 1, .steps = 4, .seed = 1, .threads = 1, .world = &opt)));
    CHECK_OK(plumb_dataset_open(&d, in_folder("a.npz"), NULL));
    CHECK_OK(plumb_dataset_read_field(&a, d, 0, "frames"));
    CHECK(a.shape[0] == 4 && a.shape[1] == 8 && a.shape[2] == 8 && a.shape[3] == 3);
    CHECK_OK(plumb_dataset_read_field(&a, d, 0, "dt"));
    plumb_array_to_double(&value, &a, 0, 1);
    CHECK_NEAR(value, -0.1, 1e-15);
    CHECK_OK(plumb_dataset_read_field(&a, d, 0, "time"));
    plumb_array_to_double(&value, &a, 3, 1);
    CHECK_NEAR(value, -0.3, 1e-15);
    plumb_dataset_close(d);
    files_left();
}

TEST(what_cannot_be_made_is_refused_and_leaves_nothing)
{
    const plumb_world *w = world("pendulum");
    plumb_world_options opt = plumb_world_defaults();
    opt.image = 7;
    CHECK_FAILS(plumb_dataset_simulate(
                    in_folder("a.npz"), w,
                    SIMULATE(.count = 1, .steps = 4, .seed = 1, .threads = 1, .world = &opt)),
                PLUMB_EVALUE, "");
    CHECK_FAILS(plumb_dataset_simulate(in_folder("a.npz"), w,
                                       SIMULATE(.count = 0, .steps = 4, .seed = 1, .threads = 1)),
                PLUMB_EVALUE, "count is 0");
    CHECK_FAILS(plumb_dataset_simulate(in_folder("a.npz"), w,
                                       SIMULATE(.count = 1, .steps = -1, .seed = 1, .threads = 1)),
                PLUMB_EVALUE, "steps is -1");
    CHECK_FAILS(plumb_dataset_simulate(
                    in_folder("a.npz"), w,
                    SIMULATE(.count = 1, .steps = 4, .seed = 1, .first = -1, .threads = 1)),
                PLUMB_EVALUE, "first is -1");
    CHECK_FAILS(
        plumb_dataset_simulate(in_folder("a.tfrecord"), w,
                               SIMULATE(.count = 1, .steps = 40000, .seed = 1, .threads = 1)),
        PLUMB_EVALUE, "at most 1000000 rows");
    CHECK_EQUAL(files_left(), 0);
}

static int reports;

static void stop_soon(void *context, double fraction)
{
    (void)context;
    (void)fraction;
    if (++reports == 2) plumb_set_stop(true);
}

TEST(a_request_to_stop_is_heard_and_leaves_nothing)
{
    static const char *const names[] = {"x.npz", "x.tfrecord", "x.h5"};
    for (int i = 0; i < (hdf5_client_available() ? 3 : 2); i++)
        for (int compress = 0; compress < 2; compress++) {
            plumb_dataset_write_options opt = plumb_dataset_write_defaults();
            opt.compress = compress;
            reports = 0;
            plumb_set_progress(stop_soon, NULL);
            CHECK_FAILS(plumb_dataset_simulate(in_folder(names[i]), world("pendulum"),
                                               SIMULATE(.count = 1000000, .steps = 4, .seed = 1,
                                                        .threads = 2, .write = &opt)),
                        PLUMB_ESTOPPED, "stopped");
            plumb_set_progress(NULL, NULL);
            plumb_set_stop(false);
            CHECK_EQUAL(files_left(), 0);
        }
    rmdir(folder);
}
