// SPDX-License-Identifier: MIT
// Names of the models that can be trained, and their settings.
#ifndef PLUMB_MODEL_H
#define PLUMB_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "plumb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Name of model `index`, from 0 on. NULL past the end. The text is never freed.
PLUMB_API const char *plumb_model_name(int64_t index);

/// A setting of a model, as plain text.
typedef struct plumb_model_setting {
    char name[64];     ///< "learning_rate", as in --set.
    char accepts[256]; ///< "a whole number from 1 to 64", "elbo|geco".
    char paper[64];    ///< Value in the preset paper.
    char cpu[64];      ///< Value in the preset cpu.
    char tiny[64];     ///< Value in the preset tiny.
    char help[160];    ///< One sentence.
} plumb_model_setting;

/// Setting `index` of a model, from 0 on. `*exists` is false past the end. Fails with PLUMB_EVALUE
/// if there is no such model.
PLUMB_API plumb_status plumb_model_setting_at(plumb_model_setting *out, bool *exists,
                                              const char *model, int64_t index);

#ifdef __cplusplus
}
#endif
#endif
