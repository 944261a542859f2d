// SPDX-License-Identifier: MIT
// The verdict of a model in words. It decides nothing: the measures do.
// Each case names the numbers that decide it, so that a reader can check them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "plumb/phase_space.h"
#include "report/report_model.h"

// The verdict that the measure wrote into the record. An older record has only its parts.
static plumb_verdict find_verdict(const report_model *model)
{
    const char *name = json_tree_string(model->kappa, "verdict");
    // By name.
    for (int v = PLUMB_VERDICT_NOT_DETERMINED; name && v <= PLUMB_VERDICT_LEARNT; v++)
        if (!strcmp(name, plumb_verdict_name((plumb_verdict)v))) return (plumb_verdict)v;
    const json_tree *canonical = json_tree_find(model->kappa, "canonical");
    const bool known = canonical && isfinite(canonical->number);
    return !known                    ? PLUMB_VERDICT_NOT_DETERMINED
           : canonical->number > 0.5 ? PLUMB_VERDICT_LEARNT
                                     : PLUMB_VERDICT_NOT_LEARNT;
}

// The words for a verdict that is not determined.
static void explain_undetermined(char *text, size_t size, const report_model *model,
                                 const char *published)
{
    const bool measured = isfinite(json_tree_double(model->kappa, "kappa"));
    if (measured)
        text_format(text, size,
                    "The data do not determine whether the latents keep the true symplectic form "
                    "(kappa %.4g): longer or more trajectories may decide. %s",
                    json_tree_double(model->kappa, "kappa"), published);
    else
        snprintf(text, size,
                 "kappa was not measured, and the published numbers alone do not decide. %s",
                 published);
}

// The verdict on the phase space, in words.
static plumb_verdict describe_phase_space(char *text, size_t size, const report_model *model)
{
    const json_tree *m = model->measure ? model->measure : model->mlp;
    const double r2 = json_tree_double(m, "r2"), kappa = json_tree_double(model->kappa, "kappa");
    const bool passes = json_tree_double(m, "symetric") > 0.5;
    const plumb_verdict verdict = find_verdict(model);
    char sym[32], published[160];
    if (json_tree_double(m, "sym") < 1e-9) snprintf(sym, sizeof sym, "0 to nine digits");
    else text_format(sym, sizeof sym, "%.2g", json_tree_double(m, "sym"));
    text_format(published, sizeof published,
                "The published measure, SyMetric, %s this model (R2 %.4g, Sym %s).",
                passes ? "accepts" : "rejects", r2, sym);
    // The sentence of the measure, which all that shows the verdict shows.
    const char *name = json_tree_string(model->kappa, "verdict"),
               *why = json_tree_string(model->kappa, "verdict_why");
    if (name && why) {
        snprintf(text, size, "%s: %.1000s. %s", name, why, published);
        return verdict;
    }
    // Of an older record: the first case that holds is used. A degenerate latent space comes early:
    // its Sym has no meaning.
    if (verdict == PLUMB_VERDICT_NOT_DETERMINED) explain_undetermined(text, size, model, published);
    else if (json_tree_double(m, "degenerate") > 0.5)
        text_format(
            text, size,
            "The latents hold the state (R2 %.4g), but some of them never change: the latent "
            "space has no area, and no Hamiltonian moves it. This model stores the state; it "
            "did not learn the dynamics.",
            r2);
    else if (verdict == PLUMB_VERDICT_LEARNT && passes)
        text_format(text, size,
                    "The latents hold the state (R2 %.4g) and keep the true symplectic form (kappa "
                    "%.4g, Sym %s): this model learnt the dynamics.",
                    r2, kappa, sym);
    else if (verdict == PLUMB_VERDICT_LEARNT)
        text_format(
            text, size,
            "The latents keep the true symplectic form where the data are (kappa %.4g), so "
            "this model learnt the dynamics. %s It also uses the map off the data, where it "
            "is arbitrary.",
            kappa, published);
    else if (passes)
        text_format(text, size,
                    "The latents do not keep the true symplectic form where the data are (kappa "
                    "%.4g): this model did not learn the dynamics. %s",
                    kappa, published);
    else if (r2 > 0.9)
        text_format(text, size,
                    "The latents hold the state (R2 %.4g), but not in canonical coordinates (kappa "
                    "%.4g, Sym %s): areas of phase space are not kept. Good images, wrong physics.",
                    r2, kappa, sym);
    else
        text_format(text, size,
                    "The state cannot be read off the latents (R2 %.4g, must be above 0.9): this "
                    "model did not learn the state.",
                    r2);
    return verdict;
}

// Appends a sentence to the text.
static void append_sentence(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? " " : "", more);
}

// The accuracy of the best scorer. Returns 1 if its interval lies above chance, 0 if not, -1 if
// there is no scorer.
static int describe_surprise(char *text, size_t size, const report_model *model)
{
    const json_tree *all = json_tree_find(model->surprise, "scorers"), *best = NULL, *plain = NULL;
    if (!all) all = json_tree_find(model->surprise, "overall");
    for (const json_tree *scorer = all ? all->child : NULL; scorer; scorer = scorer->next) {
        if (!scorer->key) continue; // not as plumb writes it
        if (!strcmp(scorer->key, "plain")) plain = scorer;
        if (!best || json_tree_double(scorer, "accuracy") > json_tree_double(best, "accuracy"))
            best = scorer;
    }
    if (!best) return -1;
    char sentence[320];
    double ci[2] = {0};
    json_tree_doubles(ci, 2, best, "accuracy_ci");
    const bool above_chance = ci[0] > 0.5;
    text_format(sentence, sizeof sentence,
                "It tells impossible clips from possible ones in %.0f %% of the tuples by "
                "%s%s; chance is 50 %%.",
                100 * json_tree_double(best, "accuracy"),
                best == plain ? "surprise alone" : best->key,
                above_chance ? "" : ", which may be luck");
    append_sentence(text, size, sentence);
    if (plain && plain != best) {
        text_format(sentence, sizeof sentence, "Surprise alone does in %.0f %%.",
                    100 * json_tree_double(plain, "accuracy"));
        append_sentence(text, size, sentence);
    }
    return above_chance;
}

// The verdict of plumb dynamics with its reason. Returns 1 if the motion is right, 0 if not, -1 if
// that cannot be told.
static int describe_motion(char *text, size_t size, const json_tree *record)
{
    char sentence[700];
    const char *verdict = json_tree_string(record, "verdict"),
               *why = json_tree_string(record, "verdict_why");
    if (!verdict) return -1;
    snprintf(sentence, sizeof sentence, "Motion, %s: %.600s.", verdict, why ? why : "");
    append_sentence(text, size, sentence);
    return !strcmp(verdict, "right") ? 1 : !strcmp(verdict, "unknown") ? -1 : 0;
}

// The mean R2 of a probe, which is no verdict: what can be read out need not be used.
static void describe_probe(char *text, size_t size, const json_tree *record)
{
    char sentence[200];
    text_format(sentence, sizeof sentence,
                "A linear probe reads its targets out of the latents with a mean R2 of %.3g.",
                json_tree_double(record, "r2"));
    append_sentence(text, size, sentence);
}

int verdict_text(char *text, size_t size, const report_model *model)
{
    char sentence[200];
    int verdict = -1;
    text[0] = 0;
    // The phase space decides; surprise only if there is no phase space.
    if (model->measure || model->mlp) verdict = (int)describe_phase_space(text, size, model);
    if (model->dynamics) {
        const int motion = describe_motion(text, size, model->dynamics);
        if (!model->measure && !model->mlp) verdict = motion;
    }
    const double vpt = report_model_vpt(model),
                 length = json_tree_double(model->forecast, "forward.length");
    // How long the predicted frames stay right.
    if (isfinite(vpt)) {
        if (isfinite(length))
            text_format(
                sentence, sizeof sentence,
                "Its predicted frames stay right for %.4g of the %.4g frames beyond those it was "
                "trained to predict.",
                vpt, length);
        else
            text_format(
                sentence, sizeof sentence,
                "Its predicted frames stay right for %.4g frames beyond those it was trained "
                "to predict.",
                vpt);
        append_sentence(text, size, sentence);
    }
    if (model->surprise) {
        const int above_chance = describe_surprise(text, size, model);
        if (verdict < 0) verdict = above_chance;
    }
    if (verdict < 0 && model->probe && isfinite(json_tree_double(model->probe, "r2")))
        describe_probe(text, size, model->probe);
    if (model->state_forecast) {
        text_format(sentence, sizeof sentence, "Predicted states are right for %.4g of %.4g steps.",
                    json_tree_double(model->state_forecast, "vpt"),
                    json_tree_double(model->state_forecast, "scored"));
        append_sentence(text, size, sentence);
    }
    // Without any measure: why.
    if (!text[0] && model->failed) {
        char reason[700];
        snprintf(reason, sizeof reason, "This run failed: %.600s.", model->failed);
        append_sentence(text, size, reason);
    }
    if (!text[0])
        append_sentence(text, size,
                        model->config
                            ? "This run was trained but not evaluated; run plumb evaluate."
                            : "Nothing was measured.");
    return verdict;
}
