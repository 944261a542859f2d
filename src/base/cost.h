// SPDX-License-Identifier: MIT
// What a call will take, said before it starts if it is long.
#ifndef BASE_COST_H
#define BASE_COST_H

enum { COST_TEXT = 32 };

/// Floating-point operations of one core per second, in large matrix products and factorisations.
#define COST_FLOPS 2.4e10

/// Logs "about 7 min, 1.1 GB of memory" if `seconds` is above ten. bytes 0: unknown.
void cost_log(double seconds, double bytes);

/// The most memory that this process has had, in bytes; 0: unknown.
double cost_peak_bytes(void);

/// "40 s", "7 min", "3.5 h". Returns `text`.
const char *cost_duration(char text[COST_TEXT], double seconds);
/// "800 KB", "78 MB", "1.1 GB". Returns `text`.
const char *cost_size(char text[COST_TEXT], double bytes);

#endif
