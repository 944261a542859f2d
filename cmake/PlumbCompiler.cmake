# SPDX-License-Identifier: MIT
# The flags every target of ours gets, through the interface library plumb_flags.
add_library(plumb_flags INTERFACE)
target_compile_features(plumb_flags INTERFACE c_std_17)
target_compile_options(plumb_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wmissing-prototypes -Wdouble-promotion
  -Wfloat-conversion -fstack-protector-strong -fno-math-errno -ffp-contract=off)
# -ffp-contract=off: a multiply and an add stay two roundings unless a kernel asks for a fused one,
# so that the same source gives the same bits on every machine.
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # Clang also counts NAN and INFINITY, which are float, wherever a double is meant; gcc is the judge.
  target_compile_options(plumb_flags INTERFACE -Wno-double-promotion)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(plumb_flags INTERFACE -fstack-clash-protection -fcf-protection)
endif()
option(PLUMB_WERROR "warnings are errors" ${PROJECT_IS_TOP_LEVEL})
if(PLUMB_WERROR)
  target_compile_options(plumb_flags INTERFACE -Werror)
endif()
if(PLUMB_SANITIZE)
  target_compile_options(plumb_flags INTERFACE -fsanitize=${PLUMB_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(plumb_flags INTERFACE -fsanitize=${PLUMB_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_options(plumb_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
target_link_options(plumb_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_C_EXTENSIONS OFF)
