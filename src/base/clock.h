// SPDX-License-Identifier: MIT
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/// Seconds since some moment in the past; never runs backward.
double clock_now(void);

#endif
