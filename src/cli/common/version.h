// SPDX-License-Identifier: MIT
// The version of the program with its commit. CMake writes the file that defines it.
#ifndef CLI_COMMON_VERSION_H
#define CLI_COMMON_VERSION_H

/// "0.1.0.dev (077dfb1a2b)"; without the brackets where the commit is not known.
extern const char cli_version[];

#endif
