// SPDX-License-Identifier: MIT
// The weight of the KL divergence over training: its delay, and its growth to a final value.
#include "models/latent_dynamics/curriculum.h"

#include "support/test.h"

static double weight_at(const hgn_settings *given, hgn_objective objective, int64_t step)
{
    const hgn_config config = {.objective = objective, .beta = given->beta};
    const hgn_curriculum curriculum = {.settings = given, .config = &config};
    return hgn_curriculum_kl_weight(&curriculum, step, (double)step / 1000.0);
}

TEST(beta_rises_from_0_over_its_delay)
{
    hgn_settings s = {.beta = 2.0, .beta_delay = 200};
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 0), 0.0, 1e-12);
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 50), 0.5, 1e-12);
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 200), 2.0, 1e-12);
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 900), 2.0, 1e-12);
    // Without a delay, and with other objectives, it changes nothing.
    CHECK_NEAR(weight_at(&s, HGN_GECO, 50), 1.0, 1e-12);
    CHECK_NEAR(weight_at(&s, HGN_MSE, 50), 0.0, 1e-12);
    s.beta_delay = 0;
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 0), 2.0, 1e-12);
}

TEST(a_final_beta_is_reached_after_the_delay)
{
    const hgn_settings s = {.beta = 1.0, .beta_final = 4.0, .beta_delay = 100};
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 50), 0.5, 1e-12);
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 300), 1.0, 1e-12);
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 550), 2.0, 1e-12);
    CHECK_NEAR(weight_at(&s, HGN_ELBO, 1000), 4.0, 1e-12);
}
