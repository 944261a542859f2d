// SPDX-License-Identifier: MIT
// Writes the report as one HTML file: verdict, numbers, figures. It needs no other file, no font
// and no network. The only script plays the video. The page has a dark theme and can be printed.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cost.h"
#include "base/status.h"
#include "io/png.h"
#include "plot/palette.h"
#include "report/paper_table.h"
#include "report/report_model.h"
#include "report/state_tables.h"

// A sheet is one image with all frames; at most 240 frames keep the page small.
enum { SHEET_FRAMES = 240, SHEET_COLUMNS = 20, VIDEO_WIDTH = 192 };

// The style sheet. Colors are variables, so that both themes share it.
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
    "th,td:first-child{white-space:nowrap}th{font-weight:500;color:var(--PALE);font-"
    "size:14px}td.n,td.w{white-space:nowrap}td.n{font-weight:500}"
    "figure{margin:10px 0 8px;overflow-x:auto}figure svg{max-width:100%;height:auto;display:block}"
    "figcaption{color:var(--PALE);font-size:14.5px;margin-top:6px}"
    ".stage{display:flex;gap:20px;flex-wrap:wrap}.stage "
    "div{text-align:center;font-size:14px;color:var(--PALE)}"
    ".stage "
    "i{display:block;image-rendering:pixelated;border-radius:4px;background-repeat:no-repeat}"
    ".stage svg{width:100%;height:100%;overflow:hidden}.stage "
    "path{fill:none;stroke-width:.35;stroke-linecap:round}"
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
    "@media(max-width:920px){table{display:block;overflow-x:auto}}"
    "@media(max-width:640px){main{padding:20px 14px 48px}td.pale{min-width:15em}}"
    "@media "
    "print{body{background:#fff}main{max-width:none;padding:0}h2{break-before:page}h2:first-of-type"
    "{break-before:auto}figure,table,.verdict{break-inside:avoid}.scrub{display:none}*{-webkit-"
    "print-color-adjust:exact;"
    "print-color-adjust:exact}}";

// The script: the slider chooses a frame by moving the sheet behind a window of one frame. A track
// is drawn from its start to this frame, at most 24 frames of the sheet; it is interrupted where a
// place is unknown, or where the object returns on the other side.
static const char script[] =
    "document.querySelectorAll('.roll').forEach(function(f){var "
    "d=f.dataset,s=f.querySelector('input'),"
    "o=f.querySelector('output'),b=f.querySelector('button'),t=0;function show(){var k=+s.value,"
    "x=-(k%d.columns)*d.size,y=-Math.floor(k/"
    "d.columns)*d.tall;f.querySelectorAll('i').forEach(function(i){"
    "i.style.backgroundPosition=x+'px '+y+'px'});f.querySelectorAll('path').forEach(function(p){"
    "var a=JSON.parse(p.dataset.track),w='',l=null;for(var j=Math.max(0,k-24);j<=k;j++){var q=a[j];"
    "if(q)w+=(l&&Math.abs(q[0]-l[0])<d.jump&&Math.abs(q[1]-l[1])<d.jump?'L':'M')+q[0]+' '+q[1]+"
    "(j==k?'h0':'');l=q}p.setAttribute('d',w)});var n=Math.round(k*(d.steps-1)/(d.frames-1||1));"
    "o.textContent='frame '+n;o.className=n>=+d.wrong?'wrong':''}s.addEventListener('input',show);"
    "b.addEventListener('click',function(){if(t){clearInterval(t);t=0;b.textContent='play';return}"
    "b.textContent='pause';t=setInterval(function(){s.value=(+s.value+1)%d.frames;show()},60)});"
    "show()});";

// ---- text ----

// Prints text with the special characters of HTML escaped.
void html_page_text(buffer *html, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '<') buffer_printf(html, "&lt;");
        else if (*text == '>') buffer_printf(html, "&gt;");
        else if (*text == '&') buffer_printf(html, "&amp;");
        else if (*text == '"') buffer_printf(html, "&quot;");
        else if ((unsigned char)*text >= 0x20) buffer_put(html, text, 1);
        else buffer_printf(html, " ");
    }
}

// Prints the colors of both themes, and the classes that the figures use.
static void print_colors(buffer *html)
{
    buffer_printf(html, ":root{color-scheme:light dark;");
#define LIGHT(name, light, dark) buffer_printf(html, "--" #name ":#%06x;", light);
#define DARK(name, light, dark) buffer_printf(html, "--" #name ":#%06x;", dark);
#define CLASSES(name, light, dark) \
    buffer_printf(html, ".f" #name "{fill:var(--" #name ")}.s" #name "{stroke:var(--" #name ")}");
    PALETTE(LIGHT)
    buffer_printf(html, "}@media screen and (prefers-color-scheme:dark){:root{");
    PALETTE(DARK)
    buffer_printf(html, "}}");
    PALETTE(CLASSES)
#undef LIGHT
#undef DARK
#undef CLASSES
}

// ---- numbers ----

// Four digits. Values that differ from zero only by rounding are shown as "< 1e-12".
static void print_number(buffer *html, double value)
{
    if (fabs(value) < 1e-12) buffer_printf(html, value == 0 ? "0" : "&lt; 1e-12");
    else buffer_printf(html, "%.4g", value);
}

// "low to high", or nothing.
static void print_interval(buffer *html, const json_tree *record, const char *path)
{
    double ci[2];
    if (json_tree_doubles(ci, 2, record, path) != 2) return;
    print_number(html, ci[0]);
    buffer_printf(html, " to ");
    print_number(html, ci[1]);
}

// One row of the table of numbers: `wanted` and `question` explain the value to a reader.
typedef struct table_line {
    const char *label, *key, *wanted, *question;
} table_line;

static const table_line symetric_lines[] = {
    {"R2", "r2", "above 0.9", "Can the true state be read off the latents?"},
    {"R2, held out", "r2_heldout", "", "The same for trajectories the fit has not seen"},
    {"Sym", "sym", "below 0.05", "Does the map keep areas of phase space, up to one constant?"},
    {"SyMetric", "symetric", "1", "Both, as published"},
};
static const table_line kappa_lines[] = {
    {"kappa", "kappa", "above 0.9",
     "plumb's measure: is the true symplectic form kept where the data are?"},
    {"R2 of state", "r2_state", "above 0.9", "Held out, by the map that kappa uses"},
    {"symplectic R2", "symplectic_r2", "near 1", "How well a map symplectic by design fits"},
    {"canonical", "canonical", "1", "plumb's verdict: 1 right, 0 wrong"},
};
static const table_line forecast_lines[] = {
    {"VPT", "vpt", "all frames", "How many predicted frames are right?"},
    {"VPT forward", "vpt_forward", "", "Predicted forward from the first frames"},
    {"VPT backward", "vpt_backward", "", "Predicted backward from the last frames"},
    {"VPT of the mean frame", "vpt_mean_frame", "short", "What a still picture scores"},
    {"VPT of the last frame", "vpt_last_frame", "short", "What a copy of the last frame scores"},
    {"VPT above still", "vpt_above_still", "all frames",
     "The model's VPT by a threshold that these pictures fail"},
    {"MSE Rec", "rec_mse", "0", "Error of the frames it was trained to predict, as published"},
    {"MSE Ext", "ext_mse", "0", "Error of the same number of frames after them"},
};

// Prints the rows of those measures that the record has.
static void print_lines(buffer *html, const json_tree *record, const table_line *lines, int count)
{
    for (int i = 0; i < count; i++) {
        char path[64];
        const double value = json_tree_double(record, lines[i].key);
        if (!isfinite(value)) continue;
        buffer_printf(html, "<tr><td>%s</td><td class=n>", lines[i].label);
        print_number(html, value);
        buffer_printf(html, "</td><td>");
        snprintf(path, sizeof path, "%s_ci", lines[i].key);
        print_interval(html, record, path);
        buffer_printf(html, "</td><td class=w>%s</td><td class=pale>%s</td></tr>\n",
                      lines[i].wanted, lines[i].question);
    }
}

// Prints one row per scorer.
static void print_scorers(buffer *html, const report_model *model)
{
    const json_tree *scorers = json_tree_find(model->surprise, "scorers");
    if (!scorers) scorers = json_tree_find(model->surprise, "overall");
    for (const json_tree *scorer = scorers ? scorers->child : NULL; scorer; scorer = scorer->next) {
        if (!isfinite(json_tree_double(scorer, "accuracy"))) continue;
        buffer_printf(html, "<tr><td>accuracy, ");
        html_page_text(html, scorer->key);
        buffer_printf(html, "</td><td class=n>%.4g</td><td>", json_tree_double(scorer, "accuracy"));
        print_interval(html, scorer, "accuracy_ci");
        buffer_printf(html,
                      "</td><td>above 0.5</td><td class=pale>relative surprise %.4g</td></tr>\n",
                      json_tree_double(scorer, "relative_surprise"));
    }
}

// Prints the table of all measures.
static void print_numbers(buffer *html, const report_model *model)
{
    // A model without these measures gets no table.
    if (!model->measure && !model->mlp && !model->forecast && !model->surprise) return;
    buffer_printf(html, "<table><tr><th>measure</th><th>value</th><th>95 %% "
                        "interval</th><th>wanted</th><th>question</th></tr>\n");
    print_lines(html, model->measure ? model->measure : model->mlp, symetric_lines,
                sizeof symetric_lines / sizeof *symetric_lines);
    if (model->measure && model->mlp) {
        buffer_printf(html, "<tr><th colspan=5>the same by a network (MLP)</th></tr>\n");
        print_lines(html, model->mlp, symetric_lines,
                    sizeof symetric_lines / sizeof *symetric_lines);
    }
    if (model->kappa)
        print_lines(html, model->kappa, kappa_lines, sizeof kappa_lines / sizeof *kappa_lines);
    if (model->forecast)
        print_lines(html, model->forecast, forecast_lines,
                    sizeof forecast_lines / sizeof *forecast_lines);
    print_scorers(html, model);
    buffer_printf(html, "</table>\n");
}

// A part of the record of a model, as the page calls it.
typedef struct record_part {
    const json_tree *record;
    const char *name, *count; // the key of the number of trajectories or tuples
} record_part;

// One row per measure: number of inputs, seed, version and hash.
static void print_part(buffer *html, const record_part *part)
{
    const json_tree *record = part->record;
    buffer_printf(html,
                  "<tr><td>%s</td><td>%.6g %s</td><td>seed %.20g</td><td>measure version "
                  "%.3g</td><td>input <code>",
                  part->name, json_tree_double(record, part->count),
                  strcmp(part->count, "tuples") ? "trajectories" : "tuples",
                  json_tree_double(record, "seed"), json_tree_double(record, "measure_version"));
    html_page_text(html, json_tree_string(record, "input_hash"));
    buffer_printf(html, "</code>");
    if (isfinite(json_tree_double(record, "k")))
        buffer_printf(html, ", k = %.6g neighbours", json_tree_double(record, "k"));
    buffer_printf(html, "</td></tr>\n");
}

// The reasons given by the measures, and what is needed to repeat the numbers.
static void print_details(buffer *html, const report_model *model)
{
    const record_part parts[] = {{model->measure, "phase space, polynomial", "trajectories"},
                                 {model->mlp, "phase space, MLP", "trajectories"},
                                 {model->dynamics, "motion", "n"},
                                 {model->state_forecast, "predicted states", "n"},
                                 {model->probe, "probes", "n"},
                                 {model->forecast, "forecast", "n"},
                                 {model->surprise, "surprise", "tuples"}};
    if (model->measure && json_tree_string(model->measure, "why")) {
        buffer_printf(html, "<p class=pale>SyMetric: ");
        html_page_text(html, json_tree_string(model->measure, "why"));
        buffer_printf(html, ".</p>\n");
    }
    const char *why = json_tree_string(model->kappa, "canonical_why");
    if (why) {
        buffer_printf(html, "<p class=pale>kappa: ");
        html_page_text(html, why);
        buffer_printf(html, ".</p>\n");
    }
    buffer_printf(html, "<details><summary>Inputs, seeds and settings</summary><table>\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].record) print_part(html, &parts[i]);
    // The settings of the run.
    for (const json_tree *setting = model->config ? json_tree_find(model->config, "settings")->child
                                                  : NULL;
         setting; setting = setting->next) {
        buffer_printf(html, "<tr><td>");
        html_page_text(html, setting->key);
        buffer_printf(html, "</td><td colspan=4>");
        if (setting->text) html_page_text(html, setting->text);
        else if (setting->kind == JSON_BOOL)
            buffer_printf(html, setting->number > 0.5 ? "true" : "false");
        else buffer_printf(html, "%.10g", setting->number);
        buffer_printf(html, "</td></tr>\n");
    }
    buffer_printf(html, "</table></details>\n");
}

// ---- video ----

// The step that frame `k` of `frames` of a sheet shows.
static int64_t find_step(const report_video *video, int64_t k, int64_t frames)
{
    if (frames < 2) return 0;
    return (int64_t)llround((double)(k * (video->steps - 1)) / (double)(frames - 1));
}

// Writes all frames as one image, SHEET_COLUMNS per row. The script shows a frame by moving it.
static plumb_status print_sheet(buffer *html, const report_model *model, const report_video *video,
                                int64_t frames)
{
    const int64_t rows = (frames + SHEET_COLUMNS - 1) / SHEET_COLUMNS, row = 3 * video->width;
    arena mem = {0};
    buffer png = {0};
    uint8_t *sheet = arena_alloc(&mem, rows * SHEET_COLUMNS * video->height, (size_t)row);
    uint8_t *frame = arena_alloc(&mem, video->height, (size_t)row);
    plumb_status st = sheet && frame ? PLUMB_OK : PLUMB_EMEMORY;
    for (int64_t k = 0; k < frames && !st; k++) {
        report_model_copy_frame(frame, model, video, 0, find_step(video, k, frames));
        // Row y of frame k goes to its place on the sheet.
        for (int64_t y = 0; y < video->height; y++)
            memcpy(sheet + ((k / SHEET_COLUMNS * video->height + y) * SHEET_COLUMNS +
                            k % SHEET_COLUMNS) *
                               row,
                   frame + y * row, (size_t)row);
    }
    if (!st)
        st = png_write(&png, sheet,
                       (png_shape){SHEET_COLUMNS * video->width, rows * video->height, 3, 0},
                       PNG_USE_VIDEO);
    if (!st) {
        buffer_printf(html, "url(data:image/png;base64,");
        svg_base64(html, png.data, png.size);
        buffer_printf(html, ")");
    }
    buffer_clear(&png);
    arena_clear(&mem);
    return st;
}

// Prints the tracks of the objects that the model predicts, over a frame: a path for each, with
// its places on the sheet.
static void print_tracks(buffer *html, const report_model *model, int64_t frames)
{
    static const char *const colors[] = {"BLUE", "ORANGE", "GREEN", "VIOLET", "RED"};
    const report_video *video = &model->frames;
    if (!model->tracks) return;
    // A pixel is a square; its centre is what a place means.
    buffer_printf(html, "<svg viewBox=\"-0.5 -0.5 %lld %lld\">", (long long)video->width,
                  (long long)video->height);
    for (int64_t k = 0; k < model->objects; k++) {
        buffer_printf(html, "<path class=s%s data-track=\"[",
                      colors[k % (int64_t)(sizeof colors / sizeof *colors)]);
        for (int64_t i = 0; i < frames; i++) {
            double xy[2];
            if (report_model_find_place(xy, model, k, find_step(video, i, frames)))
                buffer_printf(html, "%s[%.2f,%.2f]", i ? "," : "", xy[0], xy[1]);
            else buffer_printf(html, "%snull", i ? "," : "");
        }
        buffer_printf(html, "]\"/>");
    }
    buffer_printf(html, "</svg>");
}

// Prints truth and prediction as a video with a slider.
static plumb_status print_video(buffer *html, const report_model *model)
{
    const report_video *video = &model->frames;
    static const char *const names[] = {"truth", "prediction"};
    if (!video->rgb || video->steps < 2 || video->width > 128) return PLUMB_OK;
    const int64_t frames = video->steps < SHEET_FRAMES ? video->steps : SHEET_FRAMES;
    // The size on the page is a whole multiple of the frame.
    const int64_t width = VIDEO_WIDTH / video->width * video->width > 0
                              ? VIDEO_WIDTH / video->width * video->width
                              : video->width;
    const int64_t height = width * video->height / video->width;
    const int64_t rows = (frames + SHEET_COLUMNS - 1) / SHEET_COLUMNS;
    plumb_status st = PLUMB_OK;
    buffer_printf(html,
                  "<h3>Video</h3>\n<figure class=roll id=rollout data-frames=%lld "
                  "data-steps=%lld data-columns=%d data-size=%lld "
                  "data-tall=%lld data-jump=%lld data-wrong=%.6g><div class=stage>",
                  (long long)frames, (long long)video->steps, SHEET_COLUMNS, (long long)width,
                  (long long)height,
                  (long long)((video->width < video->height ? video->width : video->height) / 2),
                  // Without a wrong frame the number never turns red.
                  isfinite(report_model_vpt_frame(model, 0)) ? report_model_vpt_frame(model, 0)
                                                             : 1e9);
    for (int i = 0; i < (model->prediction.rgb ? 2 : 1) && !st; i++) {
        buffer_printf(html,
                      "<div><i style=\"width:%lldpx;height:%lldpx;background-size:%lldpx "
                      "%lldpx;background-image:",
                      (long long)width, (long long)height, (long long)(width * SHEET_COLUMNS),
                      (long long)(height * rows));
        st = print_sheet(html, model, i ? &model->prediction : video, frames);
        buffer_printf(html, "\">");
        print_tracks(html, model, frames);
        buffer_printf(html, "</i>%s</div>", names[i]);
    }
    buffer_printf(
        html,
        "</div><div class=scrub><button type=button>play</button><input type=range min=0 "
        "max=%lld value=0 "
        "aria-label=\"frame\"><output>frame 0</output></div><figcaption>Drag to any "
        "frame. The model takes the first frames as input and predicts the rest; the number turns "
        "red when the prediction is wrong.%s</figcaption>"
        "</figure>\n",
        (long long)(frames - 1),
        model->tracks ? " Lines: where the model predicted each object in the frames before." : "");
    return st;
}

// ---- the page ----

// Prints a figure with its heading and caption, if the data for it exist.
static plumb_status print_figure(buffer *html, const figure *entry, const plumb_report *report,
                                 const report_model *model)
{
    if (!(entry->height(report, model) > 0)) return PLUMB_OK;
    buffer_printf(html, "<h3>%s</h3>\n<figure class=figure data-name=\"%s\">\n", entry->title,
                  entry->name);
    const plumb_status st = figure_render(html, entry, FIGURE_INLINE, report, model);
    buffer_printf(html, "<figcaption>%s</figcaption></figure>\n", entry->caption);
    return st;
}

// Prints the verdict box.
static void print_verdict(buffer *html, const report_model *model)
{
    // Indices are the verdict plus one: not determined, not learnt, learnt.
    static const char *const classes[] = {"", "no", "yes"};
    static const char *const headings[] = {"Not judged", "It did not learn the physics",
                                           "It learnt the physics"};
    static const char *const motion_headings[] = {
        "Not judged", "It does not move as the world does", "It moves as the world does"};
    static const char *const surprise_headings[] = {"Not judged", "It does not expect the possible",
                                                    "It expects the possible"};
    char text[1600];
    const int verdict = 1 + verdict_text(text, sizeof text, model);
    const bool state = model->measure || model->mlp;
    const char *const *words = state             ? headings
                               : model->dynamics ? motion_headings
                               : model->surprise ? surprise_headings
                                                 : headings;
    buffer_printf(html, "<div class=\"verdict %s\"><b>%s</b>", classes[verdict],
                  !verdict && state ? "Not decided" : words[verdict]);
    html_page_text(html, text);
    buffer_printf(html, "</div>\n");
}

// Prints the section of one model.
static plumb_status print_model(buffer *html, const plumb_report *report, const report_model *model,
                                int64_t index)
{
    plumb_status st = PLUMB_OK;
    const char *model_name = json_tree_string(model->config, "model");
    buffer_printf(html, "<section><h2 id=m%lld>", (long long)index);
    html_page_text(html, model->name);
    buffer_printf(html, "</h2>\n");
    if (model->compare) {
        state_tables_print_comparison(html, model);
        st = print_figure(html, &figure_compare, report, model);
        buffer_printf(html, "</section>\n");
        return st;
    }
    // What the model is, and how long it was trained.
    if (model_name || model->world) {
        buffer_printf(html, "<p class=pale>");
        html_page_text(html, model_name ? model_name : "a model");
        if (model->world)
            buffer_printf(html, " on %s: %s", model->world->name, model->world->summary);
        const double steps = json_tree_double(model->train, "steps"),
                     seconds = json_tree_double(model->train, "seconds");
        char time[COST_TEXT];
        if (isfinite(steps)) buffer_printf(html, "; trained for %.6g steps", steps);
        if (isfinite(seconds)) buffer_printf(html, ", %s", cost_duration(time, seconds));
        buffer_printf(html, "</p>\n");
    }
    print_verdict(html, model);
    print_numbers(html, model);
    state_tables_print(html, model);
    print_details(html, model);
    if (!st) st = print_video(html, model);
    // Figures of all models are in the overview.
    for (int i = 0; figures[i] && !st; i++)
        if (!figures[i]->all && !figures[i]->on_request)
            st = print_figure(html, figures[i], report, model);
    buffer_printf(html, "</section>\n");
    return st;
}

// A model and its place on the page.
typedef struct ranked_model {
    const report_model *model;
    int64_t index;
} ranked_model;

// By kappa_score, the highest first; models without one come last.
static int compare_scores(const void *a, const void *b)
{
    const double x = report_model_score(((const ranked_model *)a)->model),
                 y = report_model_score(((const ranked_model *)b)->model);
    if (isnan(x) != isnan(y)) return isnan(x) ? 1 : -1;
    if (x < y || x > y) return x < y ? 1 : -1;
    const int64_t i = ((const ranked_model *)a)->index, j = ((const ranked_model *)b)->index;
    return i < j ? -1 : i > j;
}

// Prints the table of all models and the figures of all of them.
static plumb_status print_overview(buffer *html, const plumb_report *report)
{
    int64_t count = 0;
    bool partial = false;
    ranked_model *ranked = calloc((size_t)report->model_count + 1, sizeof *ranked);
    if (!ranked) return fail(PLUMB_EMEMORY, "out of memory for the table of models");
    for (const report_model *model = report->first; model; model = model->next, count++)
        ranked[count] = (ranked_model){model, count};
    qsort(ranked, (size_t)count, sizeof *ranked, compare_scores);
    buffer_printf(html, "<table "
                        "id=overview><tr><th>model</th><th>verdict</th><th>R2</th><th>Sym</"
                        "th><th>kappa</th><th>score</th><th>VPT</th></tr>\n");
    // One row per model, with a link to its section; the best score first.
    for (int64_t row = 0; row < count; row++) {
        const report_model *model = ranked[row].model;
        static const char *const short_words[] = {"not judged", "did not learn it", "learnt it"};
        static const char *const classes[] = {"pale", "wrong", "right"};
        char text[1600];
        const double numbers[] = {json_tree_double(model->measure, "r2"),
                                  json_tree_double(model->measure, "sym"),
                                  json_tree_double(model->kappa, "kappa"),
                                  report_model_score(model), report_model_vpt(model)};
        const int verdict = 1 + verdict_text(text, sizeof text, model);
        buffer_printf(html, "<tr><td><a href=\"#m%lld\">", (long long)ranked[row].index);
        html_page_text(html, model->name);
        buffer_printf(html, "</a></td><td class=%s>%s</td>", classes[verdict],
                      verdict          ? short_words[verdict]
                      : model->failed  ? "failed"
                      : model->measure ? "not decided"
                                       : short_words[verdict]);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            buffer_printf(html, "<td class=n>");
            if (isfinite(numbers[i])) print_number(html, numbers[i]);
            // The third number is kappa.
            if (i == 2 && isfinite(numbers[i]) && report_model_is_partial(model)) {
                buffer_printf(html, " *");
                partial = true;
            }
            buffer_printf(html, "</td>");
        }
        buffer_printf(html, "</tr>\n");
    }
    free(ranked);
    buffer_printf(html,
                  "</table>\n<p class=pale>Sorted by score: kappa times the share of the "
                  "latents that the state explains, 0 if they do not hold the state.%s</p>\n",
                  partial ? " * The state explains less than half of the latents: kappa is that of "
                            "a part of them."
                          : "");
    plumb_status st = PLUMB_OK;
    for (int i = 0; figures[i] && !st; i++)
        // The counter-example comes at the end of the page, a comparison in its section.
        if (figures[i]->all && !figures[i]->on_request && figures[i] != &figure_example &&
            figures[i] != &figure_compare)
            st = print_figure(html, figures[i], report, NULL);
    return st;
}

// The order: style, overview if there are several models, one section per model, script.
plumb_status html_page_write(buffer *html, const plumb_report *report)
{
    plumb_status st = PLUMB_OK;
    bool surprise = false;
    int64_t index = 0;
    buffer_printf(
        html,
        "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
        "content=\"width=device-width,initial-scale=1\"><meta name=generator content=\"plumb %s\">"
        "<link rel=icon href=\"data:,\"><title>plumb: ",
        plumb_version());
    html_page_text(html, report->first->name);
    if (report->model_count > 1)
        buffer_printf(html, " and %lld more", (long long)report->model_count - 1);
    buffer_printf(html, "</title><style>");
    print_colors(html);
    buffer_put(html, style, sizeof style - 1);
    buffer_printf(html,
                  ".right{color:var(--GREEN)}</style></head>\n<body><main>\n<h1>Did it learn the "
                  "physics?</h1>\n<p class=pale>"
                  "%lld model%s, measured by plumb %s</p>\n",
                  (long long)report->model_count, report->model_count > 1 ? "s" : "",
                  plumb_version());
    if (report->model_count > 1) st = print_overview(html, report);
    if (!st) paper_table_print(html, report);
    for (const report_model *model = report->first; model && !st; model = model->next) {
        st = print_model(html, report, model, index++);
        surprise |= model->surprise != NULL;
    }
    if (!st && surprise) st = print_figure(html, &figure_example, report, NULL);
    buffer_printf(html,
                  "<footer>Made by plumb %s. SyMetric, MSE and VPT: Higgins et al., NeurIPS 2021. "
                  "Surprise: Lin, Ye and Liu, "
                  "2023. A high R2 or a long VPT alone does not make a model right; read the "
                  "numbers together.</footer>\n"
                  "</main>\n<script>",
                  plumb_version());
    buffer_put(html, script, sizeof script - 1);
    buffer_printf(html, "</script></body></html>\n");
    return st ? st : html->failed ? fail(PLUMB_EMEMORY, "out of memory for the page") : PLUMB_OK;
}
