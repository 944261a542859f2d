# SPDX-License-Identifier: MIT
# What plumb stands on. A missing part is named with the command that brings it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(plumb_need name module debian)
  pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "plumb needs ${module}: run scripts/setup, or install ${debian}")
  endif()
endfunction()

plumb_need(LIBZIP libzip libzip-dev)
plumb_need(ZLIB zlib zlib1g-dev)
plumb_need(PNG libpng libpng-dev)
find_path(RANDOM123_INCLUDE Random123/philox.h)
if(NOT RANDOM123_INCLUDE)
  message(FATAL_ERROR "plumb needs Random123: run scripts/setup, or install librandom123-dev")
endif()
find_path(XXHASH_INCLUDE xxhash.h)
if(NOT XXHASH_INCLUDE)
  message(FATAL_ERROR "plumb needs xxHash: run scripts/setup, or install libxxhash-dev")
endif()

# HDF5 is only ever loaded by the helper program plumb-h5, never by the library.
pkg_check_modules(HDF5 QUIET IMPORTED_TARGET hdf5-serial)
if(NOT HDF5_FOUND)
  pkg_check_modules(HDF5 QUIET IMPORTED_TARGET hdf5)
endif()
option(PLUMB_HDF5 "build the HDF5 helper" ${HDF5_FOUND})
if(PLUMB_HDF5 AND NOT HDF5_FOUND)
  message(FATAL_ERROR "PLUMB_HDF5 is on and HDF5 was not found: install libhdf5-dev")
endif()
