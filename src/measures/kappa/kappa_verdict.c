// SPDX-License-Identifier: MIT
// The verdict of kappa. First the numbers decide on a reason, then the reason gets its text. Where
// the fit is uncertain, a map that is symplectic by design is fitted as a second opinion.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measures/kappa/kappa.h"

// More motion than this that is neither explained nor noise could hide a wrong map.
static const double max_missed = 0.05;
// A larger share of the squared slopes of a latent that is neither explained nor noise could change
// the form.
static const double max_missed_slope = 0.08;
// Missed slopes may change kappa by this many times their share.
static const double max_wave_error = 3.0;
// Above this form error the correction for it decides, not the data.
static const double max_form_error = 0.1;
// Below this form error a low kappa is certain.
static const double certain_form_error = 0.005;
// kappa below this is wrong whatever the form error.
static const double min_doubtful_kappa = 0.1;
// A low kappa is certain only if this many form errors below the bar.
static const double error_margin = 6.0;
// Latents that hold this share of the state may hold all of it by a map that is hard to fit.
static const double most_of_state = 0.85;
// With fewer trajectories per dimension than the second value, latents that hold more than the
// first may hold all of the state too.
static const double some_of_state = 0.5;
static const int64_t few_trajectories = 15;
// A form this small relative to what it could be is only the error of the fit; the second value is
// for a form whose constant is not distinguishable from 0.
static const double min_relative_area = 1e-3, small_relative_area = 0.05;
// Between the bar and this value kappa is doubtful if its interval reaches below the bar by the
// second value.
static const double clear_kappa = 0.95, doubt_margin = 0.05;
// A latent of which more than this is unexplained is no function of the state.
static const double function_limit = 0.5;
// Of the true form less than this is left on a surface without area.
static const double min_form_share = 0.01;
// The symplectic map is better if it leaves less than this share of what the free one leaves; where
// waves may be hidden, far less.
static const double better = 0.9, far_better = 0.5;
// With less than the first share, and less than the second in all, it is so much better that what
// the free map misses does not matter: few trajectories of a bent map.
static const double clearly_better = 0.25, nearly_all = 0.01;
// Where the free map has a kappa below this, or no inverse was found, the symplectic map must be
// found from latents to truth too, with the second value: momenta that are 0 are easy to predict.
static const double contradicted_kappa = 0.5, min_backward_r2 = 0.95;
// What the training of the symplectic map may leave unexplained.
static const double training_error = 0.002;

// Few trajectories carry the loss if at most one in MIN_SHARE has this share of it.
enum { MIN_SHARE = 20 };
static const double most_of_loss = 0.5;

typedef enum verdict_reason {
    REASON_ONE_SURFACE,      // all states lie on a surface without area
    REASON_HALVES_DIFFER,    // the fits to the two halves differ too much
    REASON_STATE_LOST,       // the latents do not hold the state
    REASON_MANY_TO_ONE,      // distant states have the same latents
    REASON_STATE_NOT_FOUND,  // the latents follow from the state; no inverse was found
    REASON_MAP_TOO_CURVED,   // too much motion is neither explained nor noise
    REASON_FINE_WAVES,       // some slopes are finer than the fit
    REASON_CANONICAL,        // kappa is above its bar
    REASON_NOT_A_FUNCTION,   // some latents are no function of the state
    REASON_FORM_BROKEN,      // kappa is below its bar
    REASON_SYMPLECTIC_FITS,  // the symplectic map predicts at least as well as the free one
    REASON_SYMPLECTIC_FAILS, // the symplectic map predicts clearly worse
    REASON_NO_AREA,          // q and p of each pair carry the same
    REASON_NEAR_BAR,         // kappa is near its bar, on either side of it within the interval
} verdict_reason;

const char *plumb_verdict_name(plumb_verdict verdict)
{
    return verdict == PLUMB_VERDICT_LEARNT       ? "learnt"
           : verdict == PLUMB_VERDICT_NOT_LEARNT ? "not learnt"
                                                 : "not determined";
}

static plumb_verdict verdict_of(verdict_reason reason)
{
    switch (reason) {
    case REASON_CANONICAL:
    case REASON_SYMPLECTIC_FITS: return PLUMB_VERDICT_LEARNT;
    case REASON_STATE_LOST:
    case REASON_MANY_TO_ONE:
    case REASON_FORM_BROKEN:
    case REASON_SYMPLECTIC_FAILS:
    case REASON_NO_AREA: return PLUMB_VERDICT_NOT_LEARNT;
    default: return PLUMB_VERDICT_NOT_DETERMINED;
    }
}

// ---- decisions ----
// The kappa that decides: where c depends on constants of the trajectory, that with such a c.
static double deciding_kappa(const plumb_kappa *r)
{
    return isnan(r->kappa_constants) ? r->kappa : r->kappa_constants;
}

// Is there a latent that moves smoothly, is no function of the state, and has a partner that
// varies? The area that the two span cannot be computed from the state. Noise is not smooth: for
// white noise the mean squared step is twice the variance.
static bool has_hidden_motion(const kappa_work *work)
{
    const kappa_rows *rows = &work->rows;
    const kappa_latent *l = &work->latent;
    const int64_t m = rows->latent_dims / 2;
    for (int64_t i = 0; i < rows->latent_dims; i++) {
        const int64_t partner = i < m ? i + m : i - m;
        if (!l->varies[i] || l->constant[i] || l->unpaired[i] ||
            work->form.unexplained[i] < function_limit)
            continue;
        if (!l->varies[partner]) continue;
        double step2 = 0.0, square = 0.0;
        for (int64_t k = 0; k < rows->trajectories; k++)
            for (int64_t t = 0; t < rows->steps; t++) {
                const double *y = l->y + (k * rows->steps + t) * rows->latent_dims + i;
                square += *y * *y;
                if (t) step2 += (*y - y[-rows->latent_dims]) * (*y - y[-rows->latent_dims]);
            }
        if (step2 < 0.5 * 2.0 * square) return true;
    }
    return false;
}

// The interval of the kappa that decides.
static plumb_interval deciding_interval(const plumb_kappa *r)
{
    return isnan(r->kappa_constants) ? r->kappa_ci : r->kappa_constants_ci;
}

// Is kappa just above its bar, while its interval reaches far below it?
static bool is_barely_above(const plumb_kappa *r, const plumb_kappa_options *opt)
{
    return deciding_kappa(r) > opt->kappa_bar && deciding_kappa(r) < clear_kappa &&
           deciding_interval(r).low < opt->kappa_bar - doubt_margin;
}

// Is kappa below its bar, while its interval reaches above it?
static bool may_be_above(const plumb_kappa *r, const plumb_kappa_options *opt)
{
    return !(deciding_kappa(r) > opt->kappa_bar) && deciding_interval(r).high > opt->kappa_bar;
}

// Is the form error too large for a certain verdict?
static bool is_uncertain(const plumb_kappa *r, const plumb_kappa_options *opt)
{
    if (r->r2_state > opt->r2_bar && deciding_kappa(r) > min_doubtful_kappa &&
        (is_barely_above(r, opt) || may_be_above(r, opt)))
        return true;
    const double limit = deciding_kappa(r) > opt->kappa_bar ? max_form_error : certain_form_error;
    return r->r2_state > opt->r2_bar && deciding_kappa(r) > min_doubtful_kappa &&
           r->form_error > limit;
}

// Are there slopes finer than the fit, which could change the form?
static bool has_fine_waves(const kappa_work *work)
{
    return work->form.missed_slope > max_missed_slope;
}

// How much of the state the latents hold: the better of two ways to recover it from them.
static double state_held(const plumb_kappa *r)
{
    return isnan(r->r2_nearest) ? r->r2_state : fmax(r->r2_state, r->r2_nearest);
}

// Should nearest neighbours be tried? Where kappa is high and the latents follow from the state
// with little noise, the map is invertible at least locally, and its inverse may only be hard to
// fit.
static bool needs_neighbours(const plumb_kappa *r, const plumb_kappa_options *opt)
{
    return deciding_kappa(r) > opt->kappa_bar && !(r->r2_state > opt->r2_bar) &&
           r->r2_local > opt->r2_bar;
}

// Are there so few trajectories that a bent map could be fitted neither way?
static bool has_few_trajectories(const kappa_work *work)
{
    return work->rows.trajectories < few_trajectories * work->truth.form_dims;
}

// What the free fit alone says.
static verdict_reason decide_by_kappa(const plumb_kappa *r, const kappa_work *work, bool hidden,
                                      bool many_to_one)
{
    const plumb_kappa_options *opt = work->opt;
    const double held = state_held(r);
    const bool high = deciding_kappa(r) > opt->kappa_bar;
    if (work->surface.form_share < min_form_share) return REASON_ONE_SURFACE;
    if (many_to_one) return REASON_MANY_TO_ONE;
    if (held > most_of_state && r->form_error > max_form_error &&
        deciding_interval(r).high > opt->kappa_bar)
        return REASON_HALVES_DIFFER;
    if (!(held > opt->r2_bar) && held > some_of_state && has_few_trajectories(work) &&
        work->form.missed > max_missed && r->form_error > max_form_error)
        return REASON_MAP_TOO_CURVED;
    if (!(held > opt->r2_bar))
        return needs_neighbours(r, opt) ? REASON_STATE_NOT_FOUND : REASON_STATE_LOST;
    if (high && work->form.missed > max_missed) return REASON_MAP_TOO_CURVED;
    if (high && has_fine_waves(work)) return REASON_FINE_WAVES;
    if (high) return is_barely_above(r, opt) ? REASON_NEAR_BAR : REASON_CANONICAL;
    if (hidden) return REASON_NOT_A_FUNCTION;
    if (has_fine_waves(work) && deciding_kappa(r) > min_doubtful_kappa &&
        deciding_interval(r).high + max_wave_error * work->form.missed_slope > opt->kappa_bar)
        return REASON_FINE_WAVES;
    if (is_uncertain(r, opt) && deciding_kappa(r) + error_margin * r->form_error > opt->kappa_bar)
        return REASON_HALVES_DIFFER;
    return may_be_above(r, opt) ? REASON_NEAR_BAR : REASON_FORM_BROKEN;
}

// Must the symplectic map be found in the other direction too before it speaks for the model?
static bool needs_backward_map(const plumb_kappa *r, const plumb_kappa_options *opt)
{
    return !(state_held(r) > opt->r2_bar) || deciding_kappa(r) < contradicted_kappa;
}

// The symplectic map against the free one, on trajectories that neither has seen. It must leave
// clearly less unexplained, and little in all. With constants as inputs each trajectory is a single
// arc, which a symplectic map can bend at will, and which it may need a map of its own for: there
// it speaks neither for a model nor against it.
static verdict_reason decide_by_symplectic_map(const plumb_kappa *r, const kappa_work *work,
                                               double free_r2, verdict_reason reason)
{
    const double unexplained = 1.0 - r->symplectic_r2, free_unexplained = 1.0 - free_r2;
    bool constants = work->rows.constants > 0 && !work->no_constants;
    for (int64_t i = 0; i < work->rows.latent_dims; i++)
        constants = constants || work->latent.constant[i];
    const bool found = !needs_backward_map(r, work->opt) || r->symplectic > min_backward_r2;
    if (unexplained <= clearly_better * free_unexplained && unexplained < nearly_all &&
        !constants && found)
        return REASON_SYMPLECTIC_FITS;
    if (reason == REASON_MAP_TOO_CURVED) return reason;
    const double share = reason == REASON_FINE_WAVES ? far_better : better;
    if (unexplained <= share * free_unexplained && !constants && found &&
        work->form.missed <= max_missed && unexplained < max_missed)
        return REASON_SYMPLECTIC_FITS;
    const bool high = deciding_kappa(r) > work->opt->kappa_bar;
    if ((reason != REASON_FINE_WAVES || !high) && !constants &&
        unexplained > 2.0 * free_unexplained + training_error && r->form_error < max_form_error)
        return REASON_SYMPLECTIC_FAILS;
    return reason;
}

// Is there no area, but for errors of the fit? Either it is far too small, or it is small and its
// mean, by which a map sheared ever so much keeps its sign, differs between the halves.
static bool has_no_area(const plumb_kappa *r, const kappa_work *work)
{
    const double *c = work->form.half_c;
    if (deciding_kappa(r) > work->opt->kappa_bar) return false;
    if (work->form.relative_area < min_relative_area) return true;
    return deciding_kappa(r) < min_doubtful_kappa && r->r2_latent > work->opt->r2_bar &&
           work->form.relative_area < small_relative_area &&
           fabs(c[0] - c[1]) > 0.5 * fabs(c[0] + c[1]);
}

// ---- text ----

static void format_reason(char *text, size_t size, verdict_reason reason, const plumb_kappa *r,
                          const kappa_work *work, double free_r2)
{
    const plumb_kappa_options *opt = work->opt;
    char kappa[32], held[32];
    text_beside(kappa, sizeof kappa, 'f', deciding_kappa(r), opt->kappa_bar);
    text_beside(held, sizeof held, 'f', state_held(r), opt->r2_bar);
    switch (reason) {
    case REASON_ONE_SURFACE:
        text_format(text, size,
                    "not determined: all states lie on one surface (within %.2g of their "
                    "deviation), on which the true form vanishes; vary the energy of the "
                    "trajectories",
                    work->surface.thickness);
        break;
    case REASON_HALVES_DIFFER:
        text_format(text, size,
                    "not determined: kappa %.4f, but the fits to two halves of the trajectories "
                    "differ in %.2g of the form; more trajectories would tell",
                    deciding_kappa(r), 4.0 * r->form_error);
        break;
    case REASON_STATE_LOST:
        text_format(text, size,
                    "held-out R2 %s is not above %g: the latents do not hold the true state", held,
                    opt->r2_bar);
        break;
    case REASON_MANY_TO_ONE:
        text_format(text, size,
                    "distant states have the same latents: the state cannot be recovered from them "
                    "(held-out R2 %.4f, by nearest neighbours %.4f), although the map keeps the "
                    "symplectic form locally (kappa %.4f)",
                    r->r2_state, r->r2_nearest, deciding_kappa(r));
        break;
    case REASON_STATE_NOT_FOUND:
        text_format(text, size,
                    "not determined: kappa %.4f and the latents follow from the state, but the "
                    "state could not be recovered from them (held-out R2 %.4f, by nearest "
                    "neighbours %.4f); more trajectories would tell",
                    deciding_kappa(r), r->r2_state, r->r2_nearest);
        break;
    case REASON_MAP_TOO_CURVED:
        text_format(
            text, size,
            "not determined: the map to the latents is too bent for so few trajectories: %.2g "
            "of their motion is neither explained by the state nor noise",
            work->form.missed);
        break;
    case REASON_FINE_WAVES:
        text_format(text, size,
                    "not determined: kappa %.4f, but %.2g of the squared slopes of a latent is "
                    "neither explained by the state nor noise: it has structure finer than the "
                    "trajectories resolve; more trajectories would tell",
                    deciding_kappa(r), work->form.missed_slope);
        break;
    case REASON_CANONICAL:
        text_format(text, size,
                    "kappa %s is above %g and held-out R2%s %s above %g: the latents are the true "
                    "phase space in other canonical coordinates",
                    kappa, opt->kappa_bar,
                    state_held(r) > r->r2_state ? " by nearest neighbours" : "", held, opt->r2_bar);
        break;
    case REASON_NOT_A_FUNCTION:
        text_format(
            text, size,
            "not determined: some latents move in ways that are no single-valued function of "
            "the true state (R2 %.4f), so the area they span cannot be seen",
            r->r2_latent);
        break;
    case REASON_FORM_BROKEN:
        text_format(
            text, size,
            "kappa %s is not above %g: the latents hold the true state, but do not keep its "
            "symplectic form",
            kappa, opt->kappa_bar);
        break;
    case REASON_SYMPLECTIC_FITS:
        text_format(
            text, size,
            "a map symplectic by design predicts unseen latents better than a free one does "
            "(R2 %.4f, %.4f), whose kappa is %.4f: the latents are the true phase space in "
            "other canonical coordinates",
            r->symplectic_r2, free_r2, deciding_kappa(r));
        break;
    case REASON_SYMPLECTIC_FAILS:
        text_format(
            text, size,
            "kappa %.4f, and a map symplectic by design predicts unseen latents worse than a "
            "free one does (R2 %.4f, %.4f): the latents hold the true state, but do not keep "
            "its symplectic form",
            deciding_kappa(r), r->symplectic_r2, free_r2);
        break;
    case REASON_NEAR_BAR:
        text_format(text, size,
                    "not determined: kappa %s, and its interval [%.3f, %.3f] reaches to the other "
                    "side of the bar %g; more trajectories would tell",
                    kappa, deciding_interval(r).low, deciding_interval(r).high, opt->kappa_bar);
        break;
    case REASON_NO_AREA:
        text_format(text, size,
                    "kappa %.4f: the latents hold the true state, but positions and momenta that "
                    "belong together say the same, and span no area",
                    deciding_kappa(r));
        break;
    }
}

// Names the trajectories with most of `loss` (trajectories, in row order), if they are few.
static bool append_losers(char *text, size_t size, const double *loss, const char *what,
                          const kappa_work *work)
{
    enum { MAX_NAMED = 5 };
    const int64_t all = work->rows.trajectories;
    int64_t named[MAX_NAMED], count = 0;
    double sum = 0.0, part = 0.0;
    for (int64_t k = 0; k < all; k++) sum += loss[k];
    while (count < MAX_NAMED && (count + 1) * MIN_SHARE <= all && part < most_of_loss * sum) {
        int64_t worst = -1;
        for (int64_t k = 0; k < all; k++) {
            bool taken = false;
            for (int64_t i = 0; i < count; i++) taken = taken || named[i] == k;
            if (!taken && (worst < 0 || loss[k] > loss[worst])) worst = k;
        }
        named[count++] = worst;
        part += loss[worst];
    }
    if (!(sum > 0.0) || part < most_of_loss * sum) return false;
    size_t used = strlen(text);
    text_format(text + used, size - used, "; %.2g of %s is in %s", part / sum, what,
                count == 1 ? "trajectory" : "trajectories");
    for (int64_t i = 0; i < count; i++) {
        used = strlen(text);
        text_format(text + used, size - used, i ? ", %lld" : " %lld",
                    (long long)work->rows.trajectory[named[i]]);
    }
    return true;
}

// Of a model that is not learnt: which trajectories carry the loss of the form, or of the fit.
static plumb_status append_loss(char *text, size_t size, const plumb_kappa *r,
                                const kappa_work *work)
{
    const kappa_pullback_form *f = &work->form;
    double *loss = ARENA_ALLOC(work->mem, double, work->rows.trajectories);
    if (!loss) return PLUMB_EMEMORY;
    const double scale =
        work->latent.max_deviation * work->rows.latent_unit / work->rows.truth_unit;
    const double c = scale > 0.0 ? r->c / (scale * scale) : 0.0;
    for (int64_t k = 0; k < work->rows.trajectories; k++)
        loss[k] = fmax(f->form_norm2[k] - 2.0 * c * f->dot[k] + c * c * f->true_norm2[k], 0.0);
    if (deciding_kappa(r) > work->opt->kappa_bar ||
        !append_losers(text, size, loss, "the loss of the form", work))
        append_losers(text, size, f->residual2, "what is unexplained", work);
    return PLUMB_OK;
}

// Does c depend on the constants?
static bool has_c_by_constants(const plumb_kappa *r)
{
    return !isnan(r->kappa_constants) && r->kappa_constants != r->kappa;
}

// What else the reader must know to trust the sentence.
static void append_notes(char *text, size_t size, const plumb_kappa *r)
{
    size_t used = strlen(text);
    if (has_c_by_constants(r)) {
        text_format(text + used, size - used, "; c is a function of the constants (one c: %.4f)",
                    r->kappa);
        used = strlen(text);
    }
    for (int64_t i = 0; i < r->diverged_count && used + 60 < size; i++, used = strlen(text))
        text_format(text + used, size - used, i ? ", %lld" : "; left out because it diverges: %lld",
                    (long long)r->diverged[i]);
}

// ---- all of it ----

// Sets the interval of kappa, and of kappa_constants where there is one.
static void set_intervals(plumb_kappa *r, plumb_interval ci)
{
    r->kappa_ci = ci;
    if (!isnan(r->kappa_constants)) r->kappa_constants_ci = ci;
}

bool kappa_is_doubtful(const plumb_kappa *result, const kappa_work *work)
{
    switch (decide_by_kappa(result, work, false, false)) {
    case REASON_HALVES_DIFFER:
    case REASON_MAP_TOO_CURVED:
    case REASON_FINE_WAVES:
    case REASON_NEAR_BAR: return true;
    default: return is_uncertain(result, work->opt);
    }
}

plumb_status kappa_decide(plumb_kappa *result, kappa_work *work)
{
    const plumb_kappa_options *opt = work->opt;
    const bool hidden = has_hidden_motion(work);
    bool many_to_one = false;
    if (needs_neighbours(result, opt)) {
        const plumb_status st = kappa_nearest_r2(&result->r2_nearest, &many_to_one, work);
        if (st) return st;
    }
    verdict_reason reason = decide_by_kappa(result, work, hidden, many_to_one);
    // The second opinion, where the fit is uncertain or the caller asks for it.
    double free_r2 = (double)NAN;
    const bool uncertain = !hidden && reason != REASON_ONE_SURFACE &&
                           (is_uncertain(result, opt) || work->was_doubtful ||
                            (work->surface.is_near && reason == REASON_FORM_BROKEN));
    if (uncertain) {
        const plumb_status st =
            kappa_symplectic_map(&result->symplectic_r2, &free_r2, work, result->c);
        if (st) return st;
    }
    const bool backward = uncertain && needs_backward_map(result, opt) &&
                          1.0 - result->symplectic_r2 < max_missed &&
                          1.0 - result->symplectic_r2 < 1.0 - free_r2;
    if (opt->symplectic || backward) {
        const plumb_status st = kappa_measure_symplectic(result, work);
        if (st) return st;
    }
    if (uncertain && !isnan(free_r2))
        reason = decide_by_symplectic_map(result, work, free_r2, reason);
    // A correct map may be sheared until hardly any area is left, so this test comes last.
    if (verdict_of(reason) == PLUMB_VERDICT_NOT_DETERMINED && !hidden &&
        reason != REASON_ONE_SURFACE && has_no_area(result, work))
        reason = REASON_NO_AREA;
    result->canonical = verdict_of(reason);

    char text[900];
    format_reason(text, sizeof text, reason, result, work, free_r2);
    plumb_status st = PLUMB_OK;
    if (result->canonical != PLUMB_VERDICT_LEARNT && reason != REASON_ONE_SURFACE)
        st = append_loss(text, sizeof text, result, work);
    if (st) return st;
    append_notes(text, sizeof text, result);
    result->why = arena_strdup(work->keep, text);
    // Of a wave that is only just seen, the slopes may be of any size.
    if (reason == REASON_FINE_WAVES) set_intervals(result, (plumb_interval){0.0, 1.0});
    // The symplectic map is then the better estimate of the two, and its kappa is 1.
    if (reason == REASON_SYMPLECTIC_FITS) {
        result->kappa = result->kappa_ci.high = 1.0;
        if (!isnan(result->kappa_constants))
            result->kappa_constants = result->kappa_constants_ci.high = 1.0;
    }
    if (reason == REASON_ONE_SURFACE) {
        set_intervals(result, (plumb_interval){0.0, 1.0});
        result->kappa = result->kappa_constants = (double)NAN;
    }
    result->score = state_held(result) > opt->r2_bar
                        ? deciding_kappa(result) * fmax(result->r2_latent, 0.0)
                        : 0.0;
    return result->why ? PLUMB_OK : PLUMB_EMEMORY;
}
