// SPDX-License-Identifier: MIT
// One HTML file: verdict, numbers, figures. No script but the one that turns the pages of a film,
// no font, no address of anything: it opens from disk, in the dark too, and prints.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/png.h"
#include "plot/palette.h"
#include "report/report_model.h"

enum { SHEET_FRAMES = 240, SHEET_COLUMNS = 20, STAGE = 192 };

static const char style[] =
    "*{box-sizing:border-box}body{margin:0;background:var(--PAPER);color:var(--INK);"
    "font:16px/1.55 system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}"
    "main{max-width:880px;margin:0 auto;padding:32px 24px 64px}"
    "h1{font-size:30px;font-weight:600;margin:0 0 4px;letter-spacing:-.01em}"
    "h2{font-size:24px;font-weight:600;margin:56px 0 "
    "8px}h3{font-size:18px;font-weight:600;margin:36px 0 4px}"
    "p{margin:6px 0 14px}.pale{color:var(--PALE)}a{color:var(--BLUE)}"
    ".verdict{border-left:6px solid var(--AXIS);background:var(--BAND);padding:16px "
    "20px;margin:20px 0;"
    "border-radius:0 8px 8px 0;font-size:18px;line-height:1.5}.verdict "
    "b{display:block;font-size:15px;"
    "letter-spacing:.02em;margin-bottom:4px}.yes{border-color:var(--GREEN)}.yes "
    "b{color:var(--GREEN)}"
    ".no{border-color:var(--RED)}.no b{color:var(--RED)}"
    "table{border-collapse:collapse;width:100%;font-size:15px;margin:12px 0 "
    "8px;font-variant-numeric:tabular-nums}"
    "th,td{text-align:left;padding:7px 14px 7px 0;border-bottom:1px solid "
    "var(--GRID);vertical-align:top}"
    "th,td:nth-child(-n+4){white-space:nowrap}th{font-weight:500;color:var(--PALE);font-"
    "size:14px}td.n{white-space:nowrap;font-weight:500}"
    "figure{margin:10px 0 8px;overflow-x:auto}figure svg{max-width:100%;height:auto;display:block}"
    "figcaption{color:var(--PALE);font-size:14.5px;margin-top:6px}"
    ".stage{display:flex;gap:20px;flex-wrap:wrap}.stage "
    "div{text-align:center;font-size:14px;color:var(--PALE)}"
    ".stage "
    "i{display:block;image-rendering:pixelated;border-radius:4px;background-repeat:no-repeat}"
    ".scrub{display:flex;align-items:center;gap:14px;margin:14px 0 4px}.scrub "
    "input{flex:1;accent-color:var(--BLUE)}"
    ".scrub button{font:inherit;font-size:14px;padding:4px 14px;border:1px solid "
    "var(--AXIS);border-radius:6px;"
    "background:var(--PAPER);color:var(--INK);cursor:pointer}.scrub "
    "output{min-width:9em;font-size:14px;"
    "font-variant-numeric:tabular-nums}.wrong{color:var(--RED)}"
    "footer{margin-top:64px;padding-top:14px;border-top:1px solid "
    "var(--GRID);color:var(--PALE);font-size:14px}"
    "code{font-size:14px;overflow-wrap:anywhere}summary{cursor:pointer;color:var(--PALE)}"
    "@media "
    "print{body{background:#fff}main{max-width:none;padding:0}h2{break-before:page}h2:first-of-type"
    "{break-before:auto}figure,table,.verdict{break-inside:avoid}.scrub{display:none}*{-webkit-"
    "print-color-adjust:exact;"
    "print-color-adjust:exact}}";

static const char script[] =
    "document.querySelectorAll('.roll').forEach(function(f){var "
    "d=f.dataset,s=f.querySelector('input'),"
    "o=f.querySelector('output'),b=f.querySelector('button'),t=0;function show(){var k=+s.value,"
    "x=-(k%d.columns)*d.size,y=-Math.floor(k/"
    "d.columns)*d.tall;f.querySelectorAll('i').forEach(function(i){"
    "i.style.backgroundPosition=x+'px '+y+'px'});var n=Math.round(k*(d.steps-1)/(d.frames-1||1));"
    "o.textContent='frame '+n;o.className=n>=+d.wrong?'wrong':''}s.addEventListener('input',show);"
    "b.addEventListener('click',function(){if(t){clearInterval(t);t=0;b.textContent='play';return}"
    "b.textContent='pause';t=setInterval(function(){s.value=(+s.value+1)%d.frames;show()},60)});"
    "show()});";

// ---- text ----

static void words(buffer *b, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '<') buffer_printf(b, "&lt;");
        else if (*text == '>') buffer_printf(b, "&gt;");
        else if (*text == '&') buffer_printf(b, "&amp;");
        else if (*text == '"') buffer_printf(b, "&quot;");
        else if ((unsigned char)*text >= 0x20) buffer_put(b, text, 1);
        else buffer_printf(b, " ");
    }
}

static void themes(buffer *b)
{
    buffer_printf(b, ":root{color-scheme:light dark;");
#define LIGHT(name, light, dark) buffer_printf(b, "--" #name ":#%06x;", light);
#define DARK(name, light, dark) buffer_printf(b, "--" #name ":#%06x;", dark);
#define CLASSES(name, light, dark) \
    buffer_printf(b, ".f" #name "{fill:var(--" #name ")}.s" #name "{stroke:var(--" #name ")}");
    PALETTE(LIGHT)
    buffer_printf(b, "}@media screen and (prefers-color-scheme:dark){:root{");
    PALETTE(DARK)
    buffer_printf(b, "}}");
    PALETTE(CLASSES)
#undef LIGHT
#undef DARK
#undef CLASSES
}

// ---- numbers ----

// Four digits; what is nothing but the rounding of zero says so.
static void put_number(buffer *b, double v)
{
    if (fabs(v) < 1e-12) buffer_printf(b, v == 0 ? "0" : "&lt; 1e-12");
    else buffer_printf(b, "%.4g", v);
}

static void put_interval(buffer *b, const json_tree *t, const char *path)
{
    double ci[2];
    if (json_tree_doubles(ci, 2, t, path) != 2) return;
    put_number(b, ci[0]);
    buffer_printf(b, " to ");
    put_number(b, ci[1]);
}

typedef struct line {
    const char *label, *key, *wanted, *question;
} line;

static const line of_state[] = {
    {"R2", "r2", "above 0.9", "Can the true state be read off the latents?"},
    {"R2, held out", "r2_heldout", "", "The same for trajectories the fit has not seen"},
    {"Sym", "sym", "below 0.05", "Does the map keep areas of phase space, up to one constant?"},
    {"SyMetric", "symetric", "1", "Both, as published"},
};
static const line of_own[] = {
    {"kappa", "kappa", "above 0.9",
     "plumb's own: is the true symplectic form kept where the data are?"},
    {"R2 of state", "r2_state", "above 0.9", "Held out, by the map that kappa rests on"},
    {"symplectic R2", "symplectic_r2", "near 1", "How well a map symplectic by design fits"},
    {"canonical", "canonical", "1", "plumb's own verdict: 1 right, 0 wrong"},
};
static const line of_forecast[] = {
    {"VPT", "vpt", "all frames", "For how many frames is the picture right?"},
    {"VPT forward", "vpt_forward", "", "Run on from the first frames"},
    {"VPT backward", "vpt_backward", "", "Run back from the last ones"},
    {"MSE Rec", "rec_mse", "0", "Error of the frames it was trained to predict, as published"},
    {"MSE Ext", "ext_mse", "0", "Error of as many after them"},
};

static void put_rows(buffer *b, const json_tree *t, const line *lines, int count)
{
    for (int i = 0; i < count; i++) {
        char path[64];
        const double v = json_tree_double(t, lines[i].key);
        if (!isfinite(v)) continue;
        buffer_printf(b, "<tr><td>%s</td><td class=n>", lines[i].label);
        put_number(b, v);
        buffer_printf(b, "</td><td>");
        snprintf(path, sizeof path, "%s_ci", lines[i].key);
        put_interval(b, t, path);
        buffer_printf(b, "</td><td>%s</td><td class=pale>%s</td></tr>\n", lines[i].wanted,
                      lines[i].question);
    }
}

static void put_scorers(buffer *b, const report_model *s)
{
    const json_tree *all = json_tree_find(s->surprise, "scorers");
    if (!all) all = json_tree_find(s->surprise, "overall");
    for (const json_tree *c = all ? all->child : NULL; c; c = c->next) {
        if (!isfinite(json_tree_double(c, "accuracy"))) continue;
        buffer_printf(b, "<tr><td>accuracy, ");
        words(b, c->key);
        buffer_printf(b, "</td><td class=n>%.4g</td><td>", json_tree_double(c, "accuracy"));
        put_interval(b, c, "accuracy_ci");
        buffer_printf(b, "</td><td>above 0.5</td><td class=pale>relative surprise %.4g</td></tr>\n",
                      json_tree_double(c, "relative_surprise"));
    }
}

static void put_numbers(buffer *b, const report_model *s)
{
    if (!s->measure && !s->mlp && !s->forecast && !s->surprise) return;
    buffer_printf(b, "<table><tr><th>measure</th><th>value</th><th>95 %% "
                     "interval</th><th>wanted</th><th>question</th></tr>\n");
    put_rows(b, s->measure ? s->measure : s->mlp, of_state, sizeof of_state / sizeof *of_state);
    if (s->measure && s->mlp) {
        buffer_printf(b, "<tr><th colspan=5>the same by a network (MLP)</th></tr>\n");
        put_rows(b, s->mlp, of_state, sizeof of_state / sizeof *of_state);
    }
    if (s->own) put_rows(b, s->own, of_own, sizeof of_own / sizeof *of_own);
    if (s->forecast)
        put_rows(b, s->forecast, of_forecast, sizeof of_forecast / sizeof *of_forecast);
    put_scorers(b, s);
    buffer_printf(b, "</table>\n");
}

// The reason in the measure's own words, and what makes the numbers repeatable.
static void put_details(buffer *b, const report_model *s)
{
    const json_tree *const parts[] = {s->measure, s->mlp, s->forecast, s->surprise};
    static const char *const names[] = {"phase space, polynomial", "phase space, MLP", "forecast",
                                        "surprise"};
    if (s->measure && json_tree_string(s->measure, "why")) {
        buffer_printf(b, "<p class=pale>In the measure's words: ");
        words(b, json_tree_string(s->measure, "why"));
        buffer_printf(b, ".</p>\n");
    }
    const char *own = json_tree_string(s->own, "canonical_why");
    if (own) {
        buffer_printf(b, "<p class=pale>In the words of plumb's own: ");
        words(b, own);
        buffer_printf(b, ".</p>\n");
    }
    buffer_printf(b, "<details><summary>What these numbers rest on</summary><table>\n");
    for (int i = 0; i < 4; i++) {
        if (!parts[i]) continue;
        const double n = json_tree_double(parts[i], "trajectories"),
                     m = json_tree_double(parts[i], "n");
        buffer_printf(b,
                      "<tr><td>%s</td><td>%.6g %s</td><td>seed %.20g</td><td>measure version "
                      "%.3g</td><td>input <code>",
                      names[i],
                      i < 2    ? n
                      : i == 2 ? m
                               : json_tree_double(parts[i], "tuples"),
                      i == 3 ? "tuples" : "trajectories", json_tree_double(parts[i], "seed"),
                      json_tree_double(parts[i], "measure_version"));
        words(b, json_tree_string(parts[i], "input_hash"));
        buffer_printf(b, "</code>");
        if (isfinite(json_tree_double(parts[i], "k")))
            buffer_printf(b, ", k = %.6g neighbours", json_tree_double(parts[i], "k"));
        buffer_printf(b, "</td></tr>\n");
    }
    for (const json_tree *c = s->config ? json_tree_find(s->config, "settings")->child : NULL; c;
         c = c->next) {
        buffer_printf(b, "<tr><td>");
        words(b, c->key);
        buffer_printf(b, "</td><td colspan=4>");
        if (c->text) words(b, c->text);
        else if (c->kind == JSON_BOOL) buffer_printf(b, c->number > 0.5 ? "true" : "false");
        else buffer_printf(b, "%.10g", c->number);
        buffer_printf(b, "</td></tr>\n");
    }
    buffer_printf(b, "</table></details>\n");
}

// ---- a film to scrub ----

// All frames on one picture, so that turning a page is moving it.
static plumb_status put_sheet(buffer *b, const report_model *s, const report_video *f,
                              int64_t frames)
{
    const int64_t rows = (frames + SHEET_COLUMNS - 1) / SHEET_COLUMNS, row = 3 * f->width;
    arena mem = {0};
    buffer png = {0};
    uint8_t *all = arena_alloc(&mem, rows * SHEET_COLUMNS * f->height, (size_t)row);
    uint8_t *one = arena_alloc(&mem, f->height, (size_t)row);
    plumb_status st = all && one ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t k = 0; k < frames && !st; k++) {
        report_model_picture(
            one, s, f, 0,
            frames < 2 ? 0 : (int64_t)llround((double)(k * (f->steps - 1)) / (double)(frames - 1)));
        for (int64_t y = 0; y < f->height; y++)
            memcpy(all + ((k / SHEET_COLUMNS * f->height + y) * SHEET_COLUMNS + k % SHEET_COLUMNS) *
                             row,
                   one + y * row, (size_t)row);
    }
    if (!st)
        st = png_write(&png, all, (png_shape){SHEET_COLUMNS * f->width, rows * f->height, 3},
                       PNG_USE_VIDEO);
    if (!st) {
        buffer_printf(b, "url(data:image/png;base64,");
        svg_base64(b, png.data, png.size);
        buffer_printf(b, ")");
    }
    buffer_clear(&png);
    arena_clear(&mem);
    return st;
}

static plumb_status put_film(buffer *b, const report_model *s)
{
    const report_video *f = &s->frames;
    static const char *const names[] = {"truth", "prediction"};
    if (!f->rgb || f->steps < 2 || f->width > 128) return PLUMB_OK;
    const int64_t frames = f->steps < SHEET_FRAMES ? f->steps : SHEET_FRAMES;
    const int64_t wide = STAGE / f->width * f->width > 0 ? STAGE / f->width * f->width : f->width;
    const int64_t tall = wide * f->height / f->width;
    const int64_t rows = (frames + SHEET_COLUMNS - 1) / SHEET_COLUMNS;
    plumb_status st = PLUMB_OK;
    buffer_printf(b,
                  "<h3>The film</h3>\n<figure class=roll id=rollout data-frames=%lld "
                  "data-steps=%lld data-columns=%d data-size=%lld "
                  "data-tall=%lld data-wrong=%.6g><div class=stage>",
                  (long long)frames, (long long)f->steps, SHEET_COLUMNS, (long long)wide,
                  (long long)tall,
                  isfinite(report_model_vpt_frame(s, 0)) ? report_model_vpt_frame(s, 0) : 1e9);
    for (int i = 0; i < (s->prediction.rgb ? 2 : 1) && !st; i++) {
        buffer_printf(b,
                      "<div><i style=\"width:%lldpx;height:%lldpx;background-size:%lldpx "
                      "%lldpx;background-image:",
                      (long long)wide, (long long)tall, (long long)(wide * SHEET_COLUMNS),
                      (long long)(tall * rows));
        st = put_sheet(b, s, i ? &s->prediction : f, frames);
        buffer_printf(b, "\"></i>%s</div>", names[i]);
    }
    buffer_printf(
        b,
        "</div><div class=scrub><button type=button>play</button><input type=range min=0 "
        "max=%lld value=0 "
        "aria-label=\"frame\"><output>frame 0</output></div><figcaption>Drag to any "
        "moment. The model watches the "
        "first frames and then runs on alone; the number turns red when its picture is no "
        "longer right.</figcaption>"
        "</figure>\n",
        (long long)(frames - 1));
    return st;
}

// ---- the page ----

static plumb_status put_figure(buffer *b, const figure *f, const plumb_report *r,
                               const report_model *s)
{
    if (!(f->height(r, s) > 0)) return PLUMB_OK;
    buffer_printf(b, "<h3>%s</h3>\n<figure class=figure data-name=\"%s\">\n", f->title, f->name);
    const plumb_status st = figure_render(b, f, FIGURE_INSIDE, r, s);
    buffer_printf(b, "<figcaption>%s</figcaption></figure>\n", f->caption);
    return st;
}

static void put_verdict(buffer *b, const report_model *s)
{
    static const char *const classes[] = {"", "no", "yes"};
    static const char *const heads[] = {"Not judged", "It did not learn the physics",
                                        "It learnt the physics"};
    static const char *const heads_surprise[] = {"Not judged", "It does not expect the possible",
                                                 "It expects the possible"};
    char text[1600];
    const int v = 1 + verdict_text(text, sizeof text, s);
    const bool state = s->measure || s->mlp;
    buffer_printf(b, "<div class=\"verdict %s\"><b>%s</b>", classes[v],
                  !v && state ? "Not decided"
                              : (state || !s->surprise ? heads : heads_surprise)[v]);
    words(b, text);
    buffer_printf(b, "</div>\n");
}

static plumb_status put_subject(buffer *b, const plumb_report *r, const report_model *s,
                                int64_t index)
{
    plumb_status st = PLUMB_OK;
    const char *model = json_tree_string(s->config, "model");
    buffer_printf(b, "<section><h2 id=m%lld>", (long long)index);
    words(b, s->name);
    buffer_printf(b, "</h2>\n");
    if (model || s->world) {
        buffer_printf(b, "<p class=pale>");
        words(b, model ? model : "a model");
        if (s->world) buffer_printf(b, " on %s: %s", s->world->name, s->world->summary);
        const double steps = json_tree_double(s->train, "steps"),
                     seconds = json_tree_double(s->train, "seconds");
        if (isfinite(steps))
            buffer_printf(b, "; %.6g updates in %.3g minutes", steps, seconds / 60);
        buffer_printf(b, "</p>\n");
    }
    put_verdict(b, s);
    put_numbers(b, s);
    put_details(b, s);
    if (!st) st = put_film(b, s);
    for (int i = 0; figures[i] && !st; i++)
        if (!figures[i]->all) st = put_figure(b, figures[i], r, s);
    buffer_printf(b, "</section>\n");
    return st;
}

static plumb_status put_overview(buffer *b, const plumb_report *r)
{
    int64_t index = 0;
    buffer_printf(b, "<table "
                     "id=overview><tr><th>model</th><th>verdict</th><th>R2</th><th>Sym</"
                     "th><th>kappa</th><th>VPT</th></tr>\n");
    for (const report_model *s = r->first; s; s = s->next) {
        static const char *const short_words[] = {"not judged", "did not learn it", "learnt it"};
        static const char *const classes[] = {"pale", "wrong", "right"};
        char text[1600];
        const double numbers[] = {json_tree_double(s->measure, "r2"),
                                  json_tree_double(s->measure, "sym"),
                                  json_tree_double(s->own, "kappa"), report_model_vpt(s)};
        const int v = 1 + verdict_text(text, sizeof text, s);
        buffer_printf(b, "<tr><td><a href=\"#m%lld\">", (long long)index++);
        words(b, s->name);
        buffer_printf(b, "</a></td><td class=%s>%s</td>", classes[v],
                      v            ? short_words[v]
                      : s->failed  ? "failed"
                      : s->measure ? "not decided"
                                   : short_words[v]);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            buffer_printf(b, "<td class=n>");
            if (isfinite(numbers[i])) put_number(b, numbers[i]);
            buffer_printf(b, "</td>");
        }
        buffer_printf(b, "</tr>\n");
    }
    buffer_printf(b, "</table>\n");
    plumb_status st = PLUMB_OK;
    for (int i = 0; figures[i] && !st; i++)
        if (figures[i]->all && figures[i] != &figure_example)
            st = put_figure(b, figures[i], r, NULL);
    return st;
}

plumb_status html_page_write(buffer *b, const plumb_report *r)
{
    plumb_status st = PLUMB_OK;
    bool surprise = false;
    int64_t index = 0;
    buffer_printf(
        b,
        "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
        "content=\"width=device-width,initial-scale=1\"><meta name=generator content=\"plumb %s\">"
        "<link rel=icon href=\"data:,\"><title>plumb: ",
        plumb_version());
    words(b, r->first->name);
    if (r->subjects > 1) buffer_printf(b, " and %lld more", (long long)r->subjects - 1);
    buffer_printf(b, "</title><style>");
    themes(b);
    buffer_put(b, style, sizeof style - 1);
    buffer_printf(b,
                  ".right{color:var(--GREEN)}</style></head>\n<body><main>\n<h1>Did it learn the "
                  "physics?</h1>\n<p class=pale>"
                  "%lld model%s, judged by plumb %s</p>\n",
                  (long long)r->subjects, r->subjects > 1 ? "s" : "", plumb_version());
    if (r->subjects > 1) st = put_overview(b, r);
    for (const report_model *s = r->first; s && !st; s = s->next) {
        st = put_subject(b, r, s, index++);
        surprise |= s->surprise != NULL;
    }
    if (!st && surprise) st = put_figure(b, &figure_example, r, NULL);
    buffer_printf(b,
                  "<footer>Made by plumb %s. SyMetric, MSE and VPT: Higgins et al., NeurIPS 2021. "
                  "Surprise: Lin, Ye and Liu, "
                  "2023. A high R2 or a long VPT alone does not make a model right; read the "
                  "numbers together.</footer>\n"
                  "</main>\n<script>",
                  plumb_version());
    buffer_put(b, script, sizeof script - 1);
    buffer_printf(b, "</script></body></html>\n");
    return st ? st : b->failed ? fail(PLUMB_EMEMORY, "no memory for the page") : PLUMB_OK;
}
