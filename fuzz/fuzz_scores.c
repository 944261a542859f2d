// SPDX-License-Identifier: MIT
// Any bytes as a file of scores: the first says which kind, and whether the rest is the scores or,
// after a zero byte, a table of metadata beside them. What is read must have the sizes that it
// says.
#include "plumb/surprise.h"
#include "support.h"

static const char *const names[] = {"scores.csv", "scores.tsv", "scores.json", "scores.jsonl"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    plumb_surprise_losses_options options = plumb_surprise_losses_defaults();
    options.plausible = data[0] & 4;
    if (data[0] & 8) options.concept_by = "concept,group";
    const uint8_t *rest = data + 1, *zero = memchr(rest, 0, size - 1);
    const size_t first = zero ? (size_t)(zero - rest) : size - 1;
    if (zero)
        options.metadata =
            fuzz_write(data[0] & 16 ? "metadata.json" : "metadata.csv", zero + 1, size - 2 - first);
    plumb_surprise_losses losses;
    if (plumb_surprise_losses_read(&losses, fuzz_write(names[data[0] % 4], rest, first), &options))
        return 0;
    if (losses.single) {
        fuzz_read_array(&losses.clips);
        fuzz_read_array(&losses.possible);
        plumb_surprise_clips clips;
        plumb_surprise_options opt = plumb_surprise_defaults();
        opt.resamples = 2;
        if (!plumb_surprise_clips_measure(&clips, &losses.clips, &losses.possible, &opt) &&
            !(clips.auroc >= 0.0 && clips.auroc <= 1.0))
            abort();
    } else {
        fuzz_read_array(&losses.surprise);
        if (losses.has_concepts) fuzz_read_array(&losses.concepts);
    }
    plumb_surprise_losses_clear(&losses);
    return 0;
}
