// SPDX-License-Identifier: MIT
#include "dataset/video.h"

#include "support/test.h"

static uint8_t frames[5 * 9 * 2 * 3];
static const video_set videos = {
    .frames = frames, .count = 5, .steps = 9, .height = 2, .width = 3, .channels = 1};

TEST(a_cut_is_a_function_of_seed_step_and_sample)
{
    const video_window a = video_sample_window(&videos, 1, 7, 3, 4),
                       b = video_sample_window(&videos, 1, 7, 3, 4);
    CHECK(a.item == b.item && a.start == b.start);
    int same[3] = {0};
    for (int i = 0; i < 200; i++) {
        const video_window x = video_sample_window(&videos, 1, i, 3, 4);
        const video_window other[] = {video_sample_window(&videos, 2, i, 3, 4),
                                      video_sample_window(&videos, 1, i + 1, 3, 4),
                                      video_sample_window(&videos, 1, i, 4, 4)};
        for (int k = 0; k < 3; k++) same[k] += x.item == other[k].item && x.start == other[k].start;
    }
    for (int k = 0; k < 3; k++) CHECK(same[k] < 25); // 200 / 30 by chance
}

TEST(every_trajectory_and_every_start_is_as_likely)
{
    enum { DRAWS = 30000, WINDOWS = 5 * 6 };
    int seen[5][6] = {{0}};
    for (int i = 0; i < DRAWS; i++) {
        const video_window window = video_sample_window(&videos, 11, i / 16, i % 16, 4);
        CHECK(window.item >= 0 && window.item < 5 && window.start >= 0 && window.start < 6);
        seen[window.item][window.start]++;
    }
    double chi = 0.0;
    const double want = (double)DRAWS / WINDOWS;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 6; k++) chi += (seen[i][k] - want) * (seen[i][k] - want) / want;
    CHECK(chi < 58.3); // one in a thousand with 29 degrees of freedom
}

TEST(a_cut_of_all_frames_starts_at_the_first)
{
    for (int i = 0; i < 50; i++) CHECK_EQUAL(video_sample_window(&videos, 1, i, 0, 9).start, 0);
    CHECK(video_window_frames(&videos, (video_window){2, 3}) == frames + (2 * 9 + 3) * 6);
}
