// SPDX-License-Identifier: MIT
// Files that are installed with plumb: samples and trained models (the zoo). The build tree has the
// same folders as an installation, so the program finds them in the same way.
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/command.h"

// The folder of the installed files: $PLUMB_SHARE, or ../share/plumb of the folder of the program.
static void get_share_folder(char folder[PATH_MAX])
{
    const char *share = getenv("PLUMB_SHARE");
    if (share) {
        snprintf(folder, PATH_MAX, "%s", share);
        return;
    }
    const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 16);
    folder[length > 0 ? length : 0] = 0;
    // Twice up: from bin/plumb to the folder that has bin and share.
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(folder, '/');
        if (slash) *slash = 0;
    }
    strcat(folder, "/share/plumb");
}

const char *share_path(char path[SHARE_PATH_SIZE], const char *name)
{
    char folder[PATH_MAX];
    get_share_folder(folder);
    snprintf(path, SHARE_PATH_SIZE, "%s/%s", folder, name);
    return path;
}

// The name of a model in the zoo: "zoo/hgn++-pendulum" and "hgn++/pendulum" are "hgn++-pendulum".
static void get_zoo_name(char name[256], const char *given)
{
    if (!strncmp(given, "zoo/", 4)) given += 4;
    snprintf(name, 256, "%s", given);
    for (size_t n = strlen(name); n && name[n - 1] == '/';) name[--n] = 0;
    for (char *at = name; *at; at++)
        if (*at == '/') *at = '-';
}

// A run directory is recognised by its config.json.
static bool is_run(const char *path)
{
    char config[SHARE_PATH_SIZE + 16];
    snprintf(config, sizeof config, "%s/config.json", path);
    return !access(config, R_OK);
}

bool zoo_find(char path[SHARE_PATH_SIZE], const cli_command *command, const char *name)
{
    char model[256], installed[SHARE_PATH_SIZE];
    snprintf(path, SHARE_PATH_SIZE, "%s", name);
    // An existing path wins over the zoo. Then come PLUMB_ZOO and the installed models.
    if (!access(name, F_OK)) return true;
    const char *zoo = getenv("PLUMB_ZOO");
    get_zoo_name(model, name);
    if (zoo) {
        snprintf(path, SHARE_PATH_SIZE, "%s/%s", zoo, model);
        if (is_run(path)) return true;
    }
    share_path(installed, "zoo");
    snprintf(path, SHARE_PATH_SIZE, "%.7900s/%s", installed, model);
    if (is_run(path)) return true;
    cli_error(command, EXIT_FAILED,
              "%s: no such file or directory, and no trained model \"%s\" in %s%s%s", name, model,
              zoo ? zoo : "PLUMB_ZOO (not set)", " or ", installed);
    return false;
}

// The folder that holds `path` is compared, with all links resolved.
bool zoo_has(const char *path)
{
    char folder[PATH_MAX], found[PATH_MAX], installed[SHARE_PATH_SIZE];
    const char *const zoos[] = {getenv("PLUMB_ZOO"), share_path(installed, "zoo")};
    if (!realpath(path, folder)) return false;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    for (int i = 0; i < 2; i++)
        if (zoos[i] && realpath(zoos[i], found) && !strcmp(found, folder)) return true;
    return false;
}
