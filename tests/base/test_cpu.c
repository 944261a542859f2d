// SPDX-License-Identifier: MIT
// What the processor is asked directly agrees with what the compiler's library says.
#include "base/cpu.h"
#include "support/test.h"

TEST(every_processor_has_the_portable_set_and_none_an_unknown_one)
{
    CHECK(cpu_has("portable"));
    CHECK(!cpu_has("avx1024"));
}

#if defined(__x86_64__)
TEST(instruction_sets_are_those_that_the_compiler_finds)
{
    __builtin_cpu_init();
    CHECK(cpu_has("sse4.2") == !!__builtin_cpu_supports("sse4.2"));
    CHECK(cpu_has("avx2") == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
    CHECK(cpu_has("avx512") ==
          (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl")));
}
#endif

TEST(the_first_entry_that_runs_is_chosen)
{
    const int best = 0, plain = 0;
    const cpu_variant table[] = {{"avx1024", &best}, {"portable", &plain}, {0}};
    CHECK(cpu_choose(table, NULL) == &table[1]);
    CHECK(!cpu_choose(table, "avx1024"));
}
