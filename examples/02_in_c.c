// SPDX-License-Identifier: MIT
// 2. From C: read two arrays from a file, measure SyMetric, and print the record as JSON.
//
//     cc 02_in_c.c -o in_c $(pkg-config --cflags --libs plumb) && ./in_c run.npz
#include <plumb/plumb.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: in_c run.npz\n"), 2;
    plumb_file *file = NULL;
    plumb_array latent, truth; // the file owns their memory
    plumb_symetric result;
    plumb_symetric_options opt = plumb_symetric_defaults();
    opt.max_order = 3;

    // Every failure has a message of one line: what was found, and what was expected.
    if (plumb_file_open(&file, argv[1]) || plumb_file_read_array(&latent, file, "latent") ||
        plumb_file_read_array(&truth, file, "truth") ||
        plumb_symetric_measure(&result, &latent, NULL, &truth, &opt)) {
        fprintf(stderr, "%s\n", plumb_last_error());
        plumb_file_close(file);
        return 1;
    }
    printf("%s\n", result.why);

    const char *line;
    plumb_record *record = plumb_record_create();
    if (record) {
        plumb_symetric_record(record, &result, &opt);
        if (plumb_record_to_json(&line, record) == PLUMB_OK) puts(line);
    }
    plumb_record_free(record);
    plumb_symetric_clear(&result);
    plumb_file_close(file);
    return 0;
}
