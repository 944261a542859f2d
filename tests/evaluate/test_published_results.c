// SPDX-License-Identifier: MIT
// The published table: 13 worlds that plumb has, two stars, and the means that the paper's text
// has.
#include <string.h>

#include "plumb/evaluation.h"
#include "plumb/world.h"
#include "support/test.h"

TEST(the_table_has_thirteen_worlds_of_plumb_and_a_star_on_two)
{
    plumb_published_row row;
    int64_t count = 0, stars = 0, hgn_stars = 0;
    for (; plumb_published_at(&row, count); count++) {
        const plumb_world *world;
        CHECK_OK(plumb_world_find(&world, row.world));
        stars += row.hgnpp.symetric_network && row.hgnpp.symetric_polynomial;
        hgn_stars += row.hgn.symetric_network || row.hgn.symetric_polynomial;
        const plumb_published_scores *both[] = {&row.hgnpp, &row.hgn};
        for (int i = 0; i < 2; i++) {
            // A star is where R2 is above 0.9 and Sym below 0.05, as printed.
            CHECK(both[i]->symetric_polynomial ==
                  (both[i]->r2_polynomial > 0.9 && both[i]->sym_polynomial < 0.05));
            CHECK(both[i]->symetric_network ==
                  (both[i]->r2_network > 0.9 && both[i]->sym_network < 0.05));
            CHECK(both[i]->rec_mse > 0 && both[i]->rec_mse < both[i]->ext_mse);
        }
    }
    CHECK_EQUAL(count, 13);
    CHECK_EQUAL(stars, 2);
    CHECK_EQUAL(hgn_stars, 0);
    CHECK(!plumb_published_at(&row, -1) && !plumb_published_at(NULL, 0));
}

TEST(the_mean_vpt_is_that_of_the_text)
{
    // The text has 267 forward and 178 backward for HGN++, and 11 and 0 for HGN.
    plumb_published_row row;
    double hgnpp = 0, hgn = 0;
    for (int64_t i = 0; plumb_published_at(&row, i); i++) {
        hgnpp += row.hgnpp.vpt / 13;
        hgn += row.hgn.vpt / 13;
    }
    CHECK_NEAR(hgnpp, (267.0 + 178.0) / 2, 0.5);
    CHECK_NEAR(hgn, (11.0 + 0.0) / 2, 0.5);
}

TEST(a_row_is_found_by_its_world_only)
{
    plumb_published_row row;
    CHECK(plumb_published_find(&row, "two-body"));
    CHECK_NEAR(row.hgnpp.vpt, 447.0, 0.0);
    CHECK_NEAR(row.hgn.sym_polynomial, 0.14, 0.0);
    CHECK(!plumb_published_find(&row, "two") && !plumb_published_find(&row, "") &&
          !plumb_published_find(&row, NULL));
}

TEST(a_protocol_sets_what_it_decides_and_nothing_else)
{
    plumb_evaluation_options options = plumb_evaluation_defaults();
    plumb_symetric_options symetric = plumb_symetric_defaults();
    plumb_forecast_options forecast = plumb_forecast_defaults();
    options.tuples = 7;
    symetric.resamples = 3;
    CHECK_OK(plumb_evaluation_set_protocol(&options, &symetric, &forecast,
                                           PLUMB_EVALUATION_PROTOCOL_PAPER));
    CHECK_EQUAL(options.forecast_videos, 10);
    CHECK_EQUAL(options.phase_trajectories, 100);
    CHECK_EQUAL(symetric.mode, PLUMB_SYMETRIC_MODE_REFERENCE);
    CHECK_EQUAL(forecast.average, PLUMB_FORECAST_AVERAGE_MEAN);
    CHECK(options.tuples == 7 && symetric.resamples == 3);
    CHECK(options.symetric == &symetric && options.forecast == &forecast);
    CHECK_EQUAL(
        plumb_evaluation_set_protocol(&options, &symetric, &forecast, (plumb_evaluation_protocol)2),
        PLUMB_EVALUE);
}
