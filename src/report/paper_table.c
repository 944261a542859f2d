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
