// SPDX-License-Identifier: MIT
// The counter-example of [Lin23] in one dimension, in closed form and in logarithms: the more
// surprising of two points is not the one that the likelihood ratio calls impossible.
#include "measures/surprise/counterexample.h"

#include <math.h>

#include "math/special.h"
#include "plumb/surprise.h"

// log of the density of N(0, deviation^2) at x.
static double log_normal_density(double x, double deviation)
{
    return -0.5 * (x / deviation) * (x / deviation) - log(deviation) -
           0.5 * log(2.0 * 3.141592653589793238462643383279503);
}

double counterexample_log_ratio(double x, double deviation)
{
    return log_normal_density(x, deviation) - log_normal_density(x, 1.0);
}

// Possible clips are N(0, 1), impossible ones N(0, deviation^2); x = 0 and x = 1 are compared.
plumb_surprise_counterexample plumb_surprise_counterexample_judge(double deviation, double prior)
{
    plumb_surprise_counterexample example = {.deviation = deviation};
    for (int x = 0; x < 2; x++) {
        example.surprise[x] = -log_normal_density(x, 1.0);
        example.log_ratio[x] = counterexample_log_ratio(x, deviation);
        // p / (p + (1 - p) / LR)
        example.posterior[x] = 1.0 / (1.0 + (1.0 - prior) / prior * exp(-example.log_ratio[x]));
    }
    // log ratio = -log d - x^2 (1/d^2 - 1)/2 = 0
    example.even = sqrt(-2.0 * log(deviation) / (1.0 / (deviation * deviation) - 1.0));
    return example;
}

plumb_surprise_counterexample plumb_surprise_counterexample_compute(double deviation)
{
    return plumb_surprise_counterexample_judge(deviation, 0.5);
}

// ---- the annulus ----

// P(|x| <= radius) of N(0, I) in d dimensions.
static double compute_ball(double radius, double d)
{
    return radius > 0.0 ? 1.0 - special_chi_square_tail(radius * radius, d) : 0.0;
}

plumb_surprise_annulus plumb_surprise_annulus_compute(int64_t dims)
{
    const double d = (double)(dims < 1 ? 1 : dims), radius = sqrt(d);
    const double constant = 0.5 * d * log(2.0 * 3.141592653589793238462643383279503);
    return (plumb_surprise_annulus){
        .dims = (int64_t)d,
        .radius = radius,
        .mean_norm =
            sqrt(2.0) * exp(special_log_gamma(0.5 * (d + 1.0)) - special_log_gamma(0.5 * d)),
        .within_1 = compute_ball(radius + 1.0, d) - compute_ball(radius - 1.0, d),
        .within_3 = compute_ball(radius + 3.0, d) - compute_ball(radius - 3.0, d),
        .surprise = {constant, constant + 0.5 * d},
    };
}

// ---- records ----

static void put_case(plumb_record *record, const char *key, double deviation, double prior)
{
    const plumb_surprise_counterexample example =
        plumb_surprise_counterexample_judge(deviation, prior);
    plumb_record_begin_object(record, key);
    plumb_record_set_double(record, "deviation", example.deviation);
    plumb_record_set_doubles(record, "surprise", example.surprise, 2);
    plumb_record_set_doubles(record, "log_likelihood_ratio", example.log_ratio, 2);
    plumb_record_set_doubles(record, "posterior", example.posterior, 2);
    plumb_record_set_double(record, "even", example.even);
    plumb_record_end(record);
}

void plumb_surprise_example_record(plumb_record *record, double prior)
{
    static const int64_t dims[] = {1, 2, 8, 32, 128, 512};
    if (!record) return;
    plumb_record_set_doubles(record, "x", (double[]){0.0, 1.0}, 2);
    plumb_record_set_double(record, "prior", prior);
    put_case(record, "variance_0.001", sqrt(0.001), prior);
    put_case(record, "deviation_0.001", 0.001, prior);
    plumb_record_set_string(record, "meaning",
                            "surprise calls x = 1 the stranger one, the likelihood ratio x = 0");
    plumb_record_begin_array(record, "annulus");
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        const plumb_surprise_annulus annulus = plumb_surprise_annulus_compute(dims[i]);
        plumb_record_begin_object(record, NULL);
        plumb_record_set_int(record, "dims", annulus.dims);
        plumb_record_set_double(record, "radius", annulus.radius);
        plumb_record_set_double(record, "mean_norm", annulus.mean_norm);
        plumb_record_set_double(record, "within_1", annulus.within_1);
        plumb_record_set_double(record, "within_3", annulus.within_3);
        plumb_record_set_doubles(record, "surprise", annulus.surprise, 2);
        plumb_record_end(record);
    }
    plumb_record_end(record);
    plumb_record_set_int(record, "measure_version", PLUMB_SURPRISE_VERSION);
    plumb_record_set_string(record, "version", plumb_version());
}

void plumb_surprise_counterexample_record(plumb_record *record)
{
    plumb_surprise_example_record(record, 0.5);
}
