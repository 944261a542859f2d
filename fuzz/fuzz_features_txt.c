// SPDX-License-Identifier: MIT
// Any bytes as features.txt; what is read is written, and reads the same.
#include <stdlib.h>
#include <string.h>

#include "dataset/dm_hamiltonian.h"
#include "dataset/features_txt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const feature_specs *list)
{
    arena mem = {0};
    buffer text = {0};
    feature_specs again;
    features_txt_print(&text, list);
    if (features_txt_parse(&again, &mem, (const char *)text.data, text.size, "x") ||
        again.count != list->count)
        abort();
    for (int64_t i = 0; i < list->count; i++) {
        const feature_spec *a = &list->spec[i], *b = &again.spec[i];
        if (strcmp(a->key, b->key) || a->dtype != b->dtype || a->ndim != b->ndim ||
            memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape))
            abort();
        const char *name;
        plumb_array array;
        bool shared, only;
        feature_spec back;
        dm_hamiltonian_to_plumb(&name, &array, &shared, a);
        dm_hamiltonian_from_plumb(&back, &only, &mem, name, &array, shared);
    }
    buffer_clear(&text);
    arena_clear(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arena mem = {0};
    feature_specs list;
    if (features_txt_parse(&list, &mem, (const char *)data, size, "x") == PLUMB_OK)
        write_again(&list);
    arena_clear(&mem);
    return 0;
}
