// SPDX-License-Identifier: MIT
// Learnt energies H(q, p) = potential + kinetic, one value each per item, and Hamilton's equations
// of them.
#ifndef MODELS_LATENT_DYNAMICS_ENERGY_H
#define MODELS_LATENT_DYNAMICS_ENERGY_H

#include "models/latent_dynamics/integrator.h"
#include "models/params.h"

/// Forms of the potential energy (a function f of q) and of the kinetic energy (of p). The first
/// eight are those of [Higgins21, code]; f are networks.
typedef enum energy_form {
    ENERGY_NET,             ///< separable_net: f(q), or f(p)
    ENERGY_DEP_NET,         ///< dep_net: f(q, p)
    ENERGY_EMBED_QUAD,      ///< embed_quad: |f|^2 / 2
    ENERGY_PURE_QUAD,       ///< pure_quad: |p|^2 / 2
    ENERGY_DIAG_QUAD,       ///< matrix_diag_quad: p' diag(exp(P) + 1) p / 2, P trained
    ENERGY_MATRIX_QUAD,     ///< matrix_quad: p' (U'U + 1) p / 2, U upper triangular, trained
    ENERGY_DEP_DIAG_QUAD,   ///< matrix_dep_diag_quad: P = f(q)
    ENERGY_DEP_MATRIX_QUAD, ///< matrix_dep_quad: U = f(q)
    ENERGY_REST_QUAD,       ///< |f(x) - f(0)|^2 / 2: least at zero
    ENERGY_GRADED_QUAD,     ///< p' diag(exp P) p / 2, P trained; each pair starts 10 times slower
    ENERGY_GRADED_MASSES,   ///< 100 times slower, P plus f of the slow q; no potential of these
    ENERGY_FORMS
} energy_form;
extern const char *const energy_names[ENERGY_FORMS + 1]; ///< and NULL
/// Whether the form can be a potential; the others are of p alone.
bool energy_of_positions(energy_form form);

enum { ENERGY_MAX_LAYERS = 8 };

/// Layers of a network: dense, or convolutions on maps.
typedef struct energy_net {
    bool conv;
    int layers;                                                  ///< the last one included
    int64_t width[ENERGY_MAX_LAYERS], kernel[ENERGY_MAX_LAYERS]; ///< of the last: not used
    int stride[ENERGY_MAX_LAYERS];
    op_padding padding[ENERGY_MAX_LAYERS];
    activation act; ///< after all but the last
} energy_net;

typedef struct energy {
    network_builder *net;
    energy_form potential, kinetic;
    energy_net layers;
    bool add_spring_energy; ///< adds |q|^2 / 2 and |p|^2 / 2; for angles the latter only
    bool angular_positions; ///< q are angles: networks take their cosines and sines
    graph_node *radius;     ///< length of these, of the state's shape; NULL: 1
    graph_node *used;       ///< of the state's shape, 0 where a pair is unused; NULL: all are used
} energy;

/// The network "PREFIX.ff0", .. with `out` values (or channels) at its end.
graph_node *energy_layers(const energy *e, const char *prefix, graph_node *x, int64_t out);
/// Cosines and sines of angles, times `radius` unless it is NULL.
graph_node *energy_embed_angles(graph *g, graph_node *q, graph_node *radius);
/// (pairs): how fast each pair moves with ENERGY_GRADED_MASSES, 1, 1/100, ..
graph_node *energy_scales(graph *g, int64_t pairs);
/// Energies of the items of a state, (items).
graph_node *energy_potential(const energy *e, phase_state state);
graph_node *energy_kinetic(const energy *e, phase_state state);
/// dq/dt = dH/dp, dp/dt = -dH/dq, by differentiating the graph.
vector_field energy_flow(energy *e);

#endif
