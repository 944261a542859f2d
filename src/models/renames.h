// SPDX-License-Identifier: MIT
// Settings and tensors that have a new name since version 0.1.0. Command lines, studies,
// config.json and weight files with an old name are still read; one log line says what the new name
// is. Old names are never written.
#ifndef MODELS_RENAMES_H
#define MODELS_RENAMES_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct name_change {
    const char *old_name, *new_name; ///< "name", or "name=value" for a word of a setting
    atomic_bool logged;              ///< the new name was said already, in this process
} name_change;

/// Tables, each ends with an entry without names. Settings of training, and of the models.
extern name_change renames_training[], renames_latent_dynamics[], renames_predrnn[],
    renames_plato[];
/// Tensors. The names are parts of a tensor's name: "lt." stands for "lt.conv0.w" too.
extern name_change renames_latent_dynamics_tensors[], renames_plato_tensors[];

/// The entry whose old name is the first `length` characters of `name`; NULL if there is none or
/// `table` is NULL.
name_change *renames_find_old(name_change *table, const char *name, size_t length);
/// The entry whose new name is `name`; NULL if there is none or `table` is NULL.
name_change *renames_find_new(name_change *table, const char *name);

/// The old name of the tensor `name`. Returns `text`, or `name` if it never had another name.
/// `*change` is the entry, or NULL; may be NULL.
const char *renames_old_tensor(char *text, size_t size, name_change *table, const char *name,
                               name_change **change);

/// Old names that were met while one file was read.
typedef struct rename_list {
    name_change *change[64];
    int count;
} rename_list;
/// Adds an entry unless it is in the list already.
void renames_add(rename_list *list, name_change *change);
/// Logs one line: the setting or tensor (`what`) of the file `path` and its new name. Each name is
/// logged once per process. `path` may be NULL.
void renames_log(const rename_list *list, const char *path, const char *what);

#endif
