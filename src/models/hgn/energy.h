// SPDX-License-Identifier: MIT
// Energies H(q, p) = potential + kinetic, each one number per item, and the flow they make.
#ifndef MODELS_HGN_ENERGY_H
#define MODELS_HGN_ENERGY_H

#include "models/hgn/integrator.h"
#include "models/params.h"

typedef enum energy_form {
    ENERGY_NET,             // separable_net: f(q), or f(p)
    ENERGY_DEP_NET,         // dep_net: f(q, p)
    ENERGY_EMBED_QUAD,      // |f|^2 / 2 of q, or of p
    ENERGY_PURE_QUAD,       // |p|^2 / 2
    ENERGY_DIAG_QUAD,       // p' diag(exp(P) + 1) p / 2, P free
    ENERGY_MATRIX_QUAD,     // p' (U'U + 1) p / 2, U upper triangular, free, from the identity on
    ENERGY_DEP_DIAG_QUAD,   // the same with P = f(q)
    ENERGY_DEP_MATRIX_QUAD, // with U = f(q)
    ENERGY_REST_QUAD,       // |f - f(0)|^2 / 2 of q, or of p: least at rest, unlike the one above
    ENERGY_GRADED_QUAD,     // p' diag(exp P) p / 2, P free, each pair first ten times the slower
    ENERGY_GRADED_MASSES,   // a hundred times, P + f(q) of the slow ones; no potential sees these
    ENERGY_FORMS
} energy_form;
extern const char *const energy_names[ENERGY_FORMS + 1]; // and NULL
/// Forms with a formula of q; the others are of p alone.
bool energy_of_positions(energy_form form);

enum { ENERGY_LAYERS = 8 };

/// A stack of dense layers, or of convolutions on maps; the last gives the energy's output.
typedef struct energy_net {
    bool conv;
    int layers; // with the last
    int64_t width[ENERGY_LAYERS], kernel[ENERGY_LAYERS];
    int stride[ENERGY_LAYERS];
    op_padding padding[ENERGY_LAYERS];
    activation act;
} energy_net;

typedef struct energy {
    network_builder *net;
    energy_form potential, kinetic;
    energy_net shape;
    bool base;          // |q|^2 / 2 and |p|^2 / 2 are added; of angles only the latter
    bool angles;        // positions are angles: the energy sees their cosines and sines,
    graph_node *radius; // times these, of the state's shape; NULL: as they are
    graph_node *keep;   // of the state's shape: 0 where a pair is not in use; NULL: all are
} energy;

/// The stack of layers "PREFIX.ff0" .. with `out` numbers (or channels) at its end.
graph_node *energy_layers(const energy *e, const char *prefix, graph_node *x, int64_t out);
/// Cosines and sines of angles, times `radius` if there is one.
graph_node *energy_embed_angles(graph *g, graph_node *q, graph_node *radius);
/// (pairs): how much of each pair moves where films differ in their masses, 1, 1/100, ..
graph_node *energy_scales(graph *g, int64_t pairs);
/// Energies of the items of a state, (items).
graph_node *energy_potential(const energy *e, phase_state at);
graph_node *energy_kinetic(const energy *e, phase_state at);
/// dq/dt = dH/dp, dp/dt = -dH/dq, by differentiating the graph.
vector_field energy_flow(energy *e);

#endif
