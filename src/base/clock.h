// SPDX-License-Identifier: MIT
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/// Seconds since some moment in the past; never runs backward.
double clock_now(void);

/// Processor time of all threads of this process, in seconds.
double clock_core_seconds(void);

#endif
