// SPDX-License-Identifier: MIT
// The models of a report in the form of [Higgins21, Table 1], each world with the rows of the paper
// below: Rec, Ext and VPT; Sym and R2 by a network and by polynomials; a star where SyMetric is 1.
#include "report/paper_table.h"

#include <math.h>
#include <string.h>

#include "plumb/evaluation.h"

// A row of the table, from a record or from the paper.
typedef struct table_row {
    double rec, ext, vpt, vpt_median;
    double sym[2], r2[2]; // by a network, by polynomials
    bool star[2];
} table_row;

static table_row get_model_row(const report_model *model)
{
    const json_tree *routes[] = {model->mlp, model->measure};
    table_row row = {.rec = json_tree_double(model->forecast, "rec_mse"),
                     .ext = json_tree_double(model->forecast, "ext_mse"),
                     .vpt = report_model_vpt(model),
                     .vpt_median = json_tree_double(model->forecast, "vpt_median")};
    for (int i = 0; i < 2; i++) {
        row.sym[i] = json_tree_double(routes[i], "sym");
        row.r2[i] = json_tree_double(routes[i], "r2");
        row.star[i] = json_tree_double(routes[i], "symetric") >= 1;
    }
    return row;
}

static table_row get_published_row(const plumb_published_scores *scores)
{
    return (table_row){scores->rec_mse,
                       scores->ext_mse,
                       scores->vpt,
                       (double)NAN,
                       {scores->sym_network, scores->sym_polynomial},
                       {scores->r2_network, scores->r2_polynomial},
                       {scores->symetric_network, scores->symetric_polynomial}};
}

// A number with few digits, or a dash.
static void print_value(buffer *html, const char *format, double value)
{
    if (isfinite(value)) buffer_printf(html, format, value);
    else buffer_printf(html, "-");
}

// "0.03* / 0.04*"
static void print_pair(buffer *html, const double value[2], const bool star[2])
{
    buffer_printf(html, "<td class=n>");
    for (int i = 0; i < 2; i++) {
        if (i) buffer_printf(html, " / ");
        print_value(html, value[i] < 100 ? "%.2f" : "%.0f", value[i]);
        if (star[i] && isfinite(value[i])) buffer_printf(html, "*");
    }
    buffer_printf(html, "</td>");
}

static void print_row(buffer *html, const table_row *row)
{
    buffer_printf(html, "<td class=n>");
    print_value(html, "%.4g", 1e7 * row->rec);
    buffer_printf(html, "</td><td class=n>");
    print_value(html, "%.4g", 1e7 * row->ext);
    buffer_printf(html, "</td><td class=n>");
    print_value(html, "%.4g", row->vpt);
    if (isfinite(row->vpt_median)) buffer_printf(html, " (%.4g)", row->vpt_median);
    buffer_printf(html, "</td>");
    print_pair(html, row->sym, row->star);
    print_pair(html, row->r2, row->star);
    buffer_printf(html, "</tr>\n");
}

// A model has a row if its frames and its phase space were measured.
static bool has_row(const report_model *model)
{
    return isfinite(report_model_vpt(model)) && (model->measure || model->mlp);
}

static const char *get_world_name(const report_model *model)
{
    return model->world ? model->world->name : "";
}

// The models of one world, then the paper's rows.
static void print_world(buffer *html, const plumb_report *report, const char *world)
{
    for (const report_model *model = report->first; model; model = model->next) {
        if (!has_row(model) || strcmp(get_world_name(model), world)) continue;
        buffer_printf(html, "<tr><td>");
        html_page_text(html, world);
        buffer_printf(html, "</td><td>");
        html_page_text(html, model->name);
        buffer_printf(html, "</td>");
        const table_row row = get_model_row(model);
        print_row(html, &row);
    }
    plumb_published_row row;
    if (!plumb_published_find(&row, world)) return;
    for (int i = 0; i < 2; i++) {
        const table_row published = get_published_row(i ? &row.hgn : &row.hgnpp);
        buffer_printf(html, "<tr class=pale><td>%s</td><td>paper, %s</td>", world,
                      i ? "HGN" : "HGN++");
        print_row(html, &published);
    }
}

// ---- the best model of each world, as the paper's table has it ----

static const char *get_kind(const report_model *model)
{
    const char *kind = json_tree_string(model->evaluate, "model");
    if (!kind) kind = json_tree_string(model->config, "model");
    return kind ? kind : "";
}

// The models of one kind and world: the best by VPT, how many there are, and the range of their
// VPT.
typedef struct model_group {
    const report_model *best;
    int64_t count;
    double least, most;
} model_group;

static model_group find_group(const plumb_report *report, const char *world, const char *kind)
{
    model_group group = {.least = INFINITY, .most = -INFINITY};
    for (const report_model *model = report->first; model; model = model->next) {
        if (!has_row(model) || strcmp(get_world_name(model), world) ||
            strcmp(get_kind(model), kind))
            continue;
        const double vpt = report_model_vpt(model);
        group.count++;
        if (!group.best || vpt > group.most) group.best = model;
        group.least = fmin(group.least, vpt);
        group.most = fmax(group.most, vpt);
    }
    return group;
}

// True if no earlier model has the same kind, and with `world` also the same world.
static bool is_first(const plumb_report *report, const report_model *model, bool world)
{
    for (const report_model *other = report->first; other != model; other = other->next)
        if (has_row(other) && !strcmp(get_kind(other), get_kind(model)) &&
            (!world || !strcmp(get_world_name(other), get_world_name(model))))
            return false;
    return true;
}

// The numbers of the paper for a kind of model; NULL if it has none.
static const plumb_published_scores *find_published(plumb_published_row *row, const char *world,
                                                    const char *kind)
{
    if (!plumb_published_find(row, world)) return NULL;
    return !strcmp(kind, "hgn++") ? &row->hgnpp : !strcmp(kind, "hgn") ? &row->hgn : NULL;
}

static void print_best(buffer *html, const plumb_report *report, const report_model *model)
{
    const char *world = get_world_name(model), *kind = get_kind(model);
    const model_group group = find_group(report, world, kind);
    buffer_printf(html, "<tr><td>");
    html_page_text(html, world);
    buffer_printf(html, "</td><td>");
    html_page_text(html, group.best->name);
    buffer_printf(html, ", best of %lld (VPT %.4g to %.4g)", (long long)group.count, group.least,
                  group.most);
    // A frame that does not move may score as well; then the number says nothing about the model.
    const double still = fmax(json_tree_double(group.best->evaluate, "vpt_mean_frame"),
                              json_tree_double(group.best->evaluate, "vpt_last_frame"));
    if (still >= group.most) buffer_printf(html, "; a still picture has %.4g", still);
    buffer_printf(html, "</td>");
    const table_row row = get_model_row(group.best);
    print_row(html, &row);
    plumb_published_row published;
    const plumb_published_scores *scores = find_published(&published, world, kind);
    if (!scores) return;
    const table_row paper = get_published_row(scores);
    buffer_printf(html, "<tr class=pale><td>%s</td><td>paper, %s</td>", world,
                  scores == &published.hgn ? "HGN" : "HGN++");
    print_row(html, &paper);
}

// Means over worlds of the best models of one kind.
static void print_average(buffer *html, const plumb_report *report, const char *kind)
{
    double forward = 0.0, backward = 0.0;
    int64_t worlds = 0, reversible = 0;
    for (const report_model *model = report->first; model; model = model->next) {
        if (!has_row(model) || strcmp(get_kind(model), kind) || !is_first(report, model, true))
            continue;
        const report_model *best = find_group(report, get_world_name(model), kind).best;
        const double back = json_tree_double(best->forecast, "vpt_backward");
        forward += json_tree_double(best->forecast, "vpt_forward");
        worlds++;
        if (!isfinite(back)) continue;
        backward += back;
        reversible++;
    }
    buffer_printf(html, "<li>");
    html_page_text(html, kind);
    buffer_printf(html, ": %.4g frames forward", forward / (double)worlds);
    if (reversible) buffer_printf(html, " and %.4g backward", backward / (double)reversible);
    buffer_printf(html, ", mean of the best models of %lld worlds", (long long)worlds);
    if (!strcmp(kind, "hgn++")) buffer_printf(html, " (paper, 13 worlds: 267 and 178)");
    if (!strcmp(kind, "hgn")) buffer_printf(html, " (paper, 13 worlds: 11 and 0)");
    buffer_printf(html, "</li>\n");
}

// Printed where some world has several models of one kind.
static void print_best_models(buffer *html, const plumb_report *report)
{
    bool several = false;
    for (const report_model *model = report->first; model; model = model->next)
        several = several || (has_row(model) && !is_first(report, model, true));
    if (!several) return;
    buffer_printf(html, "<h3>The best model of each world</h3>\n<table id=best><tr><th>world</th>"
                        "<th>model</th><th>Rec 1e-7</th><th>Ext 1e-7</th><th>VPT</th>"
                        "<th>Sym</th><th>R2</th></tr>\n");
    for (const report_model *model = report->first; model; model = model->next)
        if (has_row(model) && is_first(report, model, true)) print_best(html, report, model);
    buffer_printf(html, "</table>\n<ul id=averages>\n");
    for (const report_model *model = report->first; model; model = model->next)
        if (has_row(model) && is_first(report, model, false))
            print_average(html, report, get_kind(model));
    buffer_printf(html, "</ul>\n");
}

// True if an earlier model has the same world.
static bool is_repeated(const plumb_report *report, const report_model *model)
{
    for (const report_model *other = report->first; other != model; other = other->next)
        if (has_row(other) && !strcmp(get_world_name(other), get_world_name(model))) return true;
    return false;
}

void paper_table_print(buffer *html, const plumb_report *report)
{
    bool any = false;
    print_best_models(html, report);
    for (const report_model *model = report->first; model; model = model->next) {
        if (!has_row(model) || is_repeated(report, model)) continue;
        if (!any)
            buffer_printf(html,
                          "<h3>As in [Higgins21, Table 1]</h3>\n<table id=paper><tr><th>world</th>"
                          "<th>model</th><th>Rec 1e-7</th><th>Ext 1e-7</th><th>VPT</th>"
                          "<th>Sym</th><th>R2</th></tr>\n");
        any = true;
        print_world(html, report, get_world_name(model));
    }
    if (any)
        buffer_printf(html,
                      "</table>\n<p class=pale>Sym and R2 by a network / by polynomials; a star "
                      "where SyMetric is 1. VPT: the mean, and the median in brackets where it is "
                      "known. The paper has the best seed of each model.</p>\n");
}
