// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "train/checkpoint.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plumb/training.h"
#include "support/alloc_failure.h"
#include "train/run_config.h"
#include "train/toy_model.h"

// Behind the others: cmocka has a macro called fail.
#include "support/test.h"

static char root[40], out[80];

static plumb_status train_toy(bool force)
{
    plumb_training_options o = plumb_training_defaults();
    o.model = "toy";
    o.world = "mass-spring";
    o.preset = "tiny";
    o.steps = 3;
    o.threads = 1;
    o.out = out;
    o.force = force;
    plumb_training r;
    return plumb_training_run(&r, &o);
}

static void make_root(void)
{
    strcpy(root, "/tmp/plumb-rundir-XXXXXX");
    CHECK(mkdtemp(root));
    snprintf(out, sizeof out, "%s/run", root);
}

static void remove_root(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK_EQUAL(system(command), 0);
}

static const char *path_in_run(const char *file)
{
    static char path[120];
    snprintf(path, sizeof path, "%s/%s", out, file);
    return path;
}

static const char *read_text(const char *file)
{
    static char text[4096];
    FILE *f = fopen(path_in_run(file), "r");
    CHECK(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static void flip_bit(const char *file, long at)
{
    FILE *f = fopen(path_in_run(file), "r+");
    CHECK(f && !fseek(f, at, SEEK_END));
    const int old = fgetc(f);
    CHECK(!fseek(f, at, SEEK_END) && fputc(old ^ 4, f) >= 0);
    fclose(f);
}

// As plumb evaluate does: config.json gives the model, weights.safetensors its parameters.
static plumb_status load_weights(checkpoint_origin *origin, trainable_model *t, arena *mem,
                                 video_set *video)
{
    char *text;
    size_t size;
    run_config *r = ARENA_ALLOC(mem, run_config, 1);
    run_config_hashes hashes;
    plumb_status st = run_dir_read_config(&text, &size, mem, out);
    if (!st) st = run_config_parse(r, mem, text, size, "config.json");
    if (!st) st = run_config_list_hashes(&hashes, r);
    if (!st) st = run_config_load_video(video, mem, r, NULL, 1);
    if (!st) st = r->model->create(t, mem, r->model_settings, &r->training, video);
    return st ? st : checkpoint_load_weights(t, origin, out, &hashes);
}

TEST(weights_are_read_without_training)
{
    make_root();
    CHECK_OK(train_toy(false));
    arena mem = {0};
    trainable_model t;
    video_set video;
    checkpoint_origin origin;
    CHECK_OK(load_weights(&origin, &t, &mem, &video));
    CHECK_EQUAL(origin.step, 3);
    CHECK_EQUAL(strlen(origin.data_hash), 32);
    float first[TOY_SIZE];
    memcpy(first, t.parameters, sizeof first);
    flip_bit("weights.safetensors", -100);
    CHECK_FAILS(load_weights(&origin, &t, &mem, &video), PLUMB_EFORMAT,
                "weights.safetensors: is damaged, its checksum is wrong; training the run again");
    CHECK_EQUAL(truncate(path_in_run("weights.safetensors"), 100), 0);
    CHECK_FAILS(load_weights(&origin, &t, &mem, &video), PLUMB_EFORMAT, "writes it anew");
    unlink(path_in_run("weights.safetensors"));
    CHECK_FAILS(load_weights(&origin, &t, &mem, &video), PLUMB_EFILE,
                "weights.safetensors: is missing; training the run again");
    plumb_training_options o = plumb_training_defaults();
    plumb_training r;
    o.out = out;
    o.resume = true;
    CHECK_OK(plumb_training_run(&r, &o));
    CHECK_OK(load_weights(&origin, &t, &mem, &video));
    CHECK(!memcmp(first, t.parameters, sizeof first));
    t.name = "other";
    CHECK_FAILS(checkpoint_load_weights(&t, &origin, out, NULL), PLUMB_EFORMAT,
                "is of the model toy, config.json is of other");
    t.name = "toy";
    const run_config_hashes other = {.count = 1, .hash = {"0"}};
    CHECK_FAILS(checkpoint_load_weights(&t, &origin, out, &other), PLUMB_EFORMAT, "other settings");
    t.tensor_count = 1;
    CHECK_FAILS(checkpoint_load_weights(&t, &origin, out, NULL), PLUMB_EFORMAT, "other parameters");
    unlink(path_in_run("config.json"));
    CHECK_FAILS(load_weights(&origin, &t, &mem, &video), PLUMB_EFILE, "config.json: is missing");
    arena_clear(&mem);
    remove_root();
}

static void write_section(const char *section, int64_t value)
{
    plumb_record *r = plumb_record_create();
    plumb_record_set_int(r, "x", value);
    CHECK_OK(run_dir_write_results(out, section, r));
    plumb_record_free(r);
}

TEST(results_keep_the_sections_of_others)
{
    make_root();
    CHECK_EQUAL(mkdir(out, 0777), 0);
    write_section("train", 1);
    write_section("evaluate", 2);
    write_section("train", 3);
    CHECK_TEXT(read_text("results.json"), "{\"evaluate\": {\"x\": 2}, \"train\": {\"x\": 3}}\n");
    FILE *f = fopen(path_in_run("results.json"), "w");
    fputs("{\"a\": ", f);
    fclose(f);
    plumb_record *r = plumb_record_create();
    CHECK_FAILS(run_dir_write_results(out, "train", r), PLUMB_EFORMAT, "remove it");
    plumb_record_free(r);
    CHECK_TEXT(read_text("results.json"), "{\"a\": ");
    remove_root();
}

// Eight processes write a section each, many times. What one of them reads and writes must not undo
// what another wrote in between.
TEST(sections_that_are_written_at_the_same_time_are_all_kept)
{
    enum { PROCESSES = 8, TIMES = 25 };
    make_root();
    CHECK_EQUAL(mkdir(out, 0777), 0);
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        CHECK(child[i] >= 0);
        if (child[i]) continue;
        const char section[] = {(char)('a' + i), 0};
        plumb_status st = PLUMB_OK;
        for (int64_t k = 1; k <= TIMES && !st; k++) {
            plumb_record *r = plumb_record_create();
            plumb_record_set_int(r, "x", k);
            st = run_dir_write_results(out, section, r);
            plumb_record_free(r);
        }
        _exit(st ? 1 : 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        CHECK_EQUAL(waitpid(child[i], &status, 0), child[i]);
        CHECK_EQUAL(status, 0);
    }
    char want[64];
    const char *text = read_text("results.json");
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(want, sizeof want, "\"%c\": {\"x\": %d}", 'a' + i, TIMES);
        CHECK(strstr(text, want));
    }
    remove_root();
}

TEST(one_process_at_a_time)
{
    make_root();
    run_dir a, b;
    CHECK_OK(run_dir_open(&a, out, RUN_DIR_NEW));
    CHECK_FAILS(run_dir_open(&b, out, RUN_DIR_NEW), PLUMB_EFILE, "is training into it");
    CHECK_FAILS(train_toy(true), PLUMB_EFILE, "is training into it");
    run_dir_close(&a);
    CHECK(access(out, F_OK) != 0); // it came to nothing, and is gone
    CHECK_OK(train_toy(false));
    CHECK_OK(run_dir_open(&b, out, RUN_DIR_RESUME));
    run_dir_close(&b);
    CHECK(access(out, F_OK) == 0);
    remove_root();
}

TEST(what_a_killed_process_left_is_swept_and_nothing_else)
{
    make_root();
    CHECK_OK(train_toy(false));
    static const char *const names[] = {"weights.safetensors.part-abcdef",
                                        "config.json.part-123456", "config.json.backup",
                                        "notes.abcdef"};
    for (int i = 0; i < 4; i++) {
        FILE *f = fopen(path_in_run(names[i]), "w");
        CHECK(f);
        fclose(f);
    }
    run_dir r;
    CHECK_OK(run_dir_open(&r, out, RUN_DIR_RESUME));
    run_dir_close(&r);
    CHECK(access(path_in_run(names[0]), F_OK) && access(path_in_run(names[1]), F_OK));
    CHECK(!access(path_in_run(names[2]), F_OK) && !access(path_in_run(names[3]), F_OK));
    remove_root();
}

#if STARVE
TEST(memory_that_runs_out_is_a_message_and_no_leak)
{
    make_root();
    CHECK_OK(train_toy(false));
    long k = 0;
    for (bool through = false; !through && k < 20000; k++) {
        starve_live = 0;
        starve_until = k;
        starve_counting = true;
        const plumb_status st = train_toy(true);
        starve_counting = false;
        through = !st && starve_until > 0;
        starve_until = -1;
        CHECK_EQUAL(starve_live, 0);
        if (st) CHECK(plumb_last_error()[0] && !strchr(plumb_last_error(), '\n'));
    }
    print_message("  %ld requests\n", k);
    CHECK(k > 20 && k < 20000);
    remove_root();
}
#endif
