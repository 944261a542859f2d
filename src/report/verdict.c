// SPDX-License-Identifier: MIT
// The verdict in words that need no paper to be read beside them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report_model.h"

// Of the phase space. plumb's own answer counts where it was asked for; else the published one.
static int of_state(char *text, size_t size, const report_model *s)
{
    const json_tree *m = s->measure ? s->measure : s->mlp;
    const double r2 = json_tree_double(m, "r2");
    const double kappa = json_tree_double(s->own, "kappa");
    char sym[32];
    if (json_tree_double(m, "sym") < 1e-9) snprintf(sym, sizeof sym, "0 to nine digits");
    else snprintf(sym, sizeof sym, "%.2g", json_tree_double(m, "sym"));
    const bool published = json_tree_double(m, "symetric") > 0.5,
               dead = json_tree_double(m, "degenerate") > 0.5;
    const json_tree *own = json_tree_find(s->own, "canonical");
    const int canonical = own && isfinite(own->number) ? own->number > 0.5 : -1;
    const bool open = own && canonical < 0 && r2 > 0.9; // asked, and the data do not tell
    const int verdict = open ? -1 : canonical >= 0 ? canonical : published;
    if (dead)
        snprintf(
            text, size,
            "The latents carry the state (R2 %.4g), but some of them do not move at "
            "all: there is no area in this latent space, and no Hamiltonian moves it. This model "
            "remembers; it did not learn the dynamics.",
            r2);
    else if (open)
        snprintf(text, size,
                 "The latents carry the state (R2 %.4g), and the published measure %s them (Sym "
                 "%s), but whether the true symplectic form is kept where the data are cannot be "
                 "told from so few of them: longer or more trajectories may decide.",
                 r2, published ? "passes" : "refuses", sym);
    else if (canonical == 1 && !published)
        snprintf(text, size,
                 "The true symplectic form is kept where the data are (kappa %.4g), so this model "
                 "learnt the "
                 "dynamics. The published measure says otherwise (R2 %.4g, Sym %s): it looks at "
                 "the map off "
                 "the data as well, where it is arbitrary.",
                 kappa, r2, sym);
    else if (canonical == 0 && published)
        snprintf(text, size,
                 "The latents carry the state (R2 %.4g) and the published measure passes them (Sym "
                 "%s), but the "
                 "true symplectic form is not kept where the data are (kappa %.4g): this model did "
                 "not learn "
                 "the dynamics.",
                 r2, sym, kappa);
    else if (published)
        snprintf(text, size,
                 "The latents carry the state (R2 %.4g) and the map to it is canonical "
                 "(Sym %s): this model learnt the dynamics.",
                 r2, sym);
    else if (r2 > 0.9)
        snprintf(text, size,
                 "The latents carry the state (R2 %.4g), but the map to it is not canonical "
                 "(Sym %s, wanted below 0.05): areas of phase space are not kept. Good pictures, "
                 "wrong physics.",
                 r2, sym);
    else
        snprintf(text, size,
                 "The state cannot be read off the latents (R2 %.4g, wanted above 0.9): this "
                 "model did not learn the state, let alone its dynamics.",
                 r2);
    // Where Sym cannot fail it proves nothing, and the reader is told.
    if (published && !own && json_tree_double(m, "n") == 1 && json_tree_double(m, "order") == 1) {
        const size_t used = strlen(text);
        snprintf(
            text + used, size - used,
            " (With one degree of freedom every linear map keeps areas in proportion, so here it "
            "is R2 that decides.)");
    }
    return dead ? 0 : verdict;
}

static void add(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? " " : "", more);
}

static int of_surprise(char *text, size_t size, const report_model *s)
{
    const json_tree *all = json_tree_find(s->surprise, "scorers"), *best = NULL, *plain = NULL;
    if (!all) all = json_tree_find(s->surprise, "overall");
    for (const json_tree *c = all ? all->child : NULL; c; c = c->next) {
        if (!c->key) continue; // not as plumb writes it
        if (!strcmp(c->key, "plain")) plain = c;
        if (!best || json_tree_double(c, "accuracy") > json_tree_double(best, "accuracy")) best = c;
    }
    if (!best) return -1;
    char more[320];
    double ci[2] = {0};
    json_tree_doubles(ci, 2, best, "accuracy_ci");
    const bool tells = ci[0] > 0.5;
    snprintf(more, sizeof more,
             "It tells impossible clips from possible ones in %.0f %% of the tuples by "
             "%s%s; chance is 50 %%.",
             100 * json_tree_double(best, "accuracy"), best == plain ? "surprise alone" : best->key,
             tells ? "" : ", which may be luck");
    add(text, size, more);
    if (plain && plain != best) {
        snprintf(more, sizeof more, "Surprise alone does in %.0f %%.",
                 100 * json_tree_double(plain, "accuracy"));
        add(text, size, more);
    }
    return tells;
}

int verdict_text(char *text, size_t size, const report_model *s)
{
    char more[200];
    int verdict = -1;
    text[0] = 0;
    if (s->measure || s->mlp) verdict = of_state(text, size, s);
    const double vpt = report_model_vpt(s),
                 length = json_tree_double(s->forecast, "forward.length");
    if (isfinite(vpt)) {
        if (isfinite(length))
            snprintf(more, sizeof more,
                     "Its pictures stay right for %.4g of the %.4g frames beyond those it was "
                     "trained to predict.",
                     vpt, length);
        else
            snprintf(
                more, sizeof more,
                "Its pictures stay right for %.4g frames beyond those it was trained to predict.",
                vpt);
        add(text, size, more);
    }
    if (s->surprise) {
        const int tells = of_surprise(text, size, s);
        if (verdict < 0) verdict = tells;
    }
    if (!text[0] && s->failed) {
        char reason[700];
        snprintf(reason, sizeof reason, "This run failed: %.600s.", s->failed);
        add(text, size, reason);
    }
    if (!text[0])
        add(text, size,
            s->config ? "This run was trained and not yet judged: plumb evaluate does that."
                      : "Nothing was measured.");
    return verdict;
}
