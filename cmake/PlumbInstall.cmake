# SPDX-License-Identifier: MIT
# What is installed: both libraries, headers, program, HDF5 helper, manual, completion, samples, and
# the two ways others find us, a CMake package and plumb.pc.
#
# A wheel (SKBUILD is set by scikit-build-core) has the same tree inside of the Python package plumb,
# without what C programs need.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/plumb)
if(SKBUILD)
  if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "plumb is written for Linux: on other systems run it in a Debian or Ubuntu container")
  endif()
  set(CMAKE_INSTALL_LIBDIR plumb/lib)
  set(CMAKE_INSTALL_BINDIR plumb/bin)
  set(CMAKE_INSTALL_DATADIR plumb/share)
  set(CMAKE_INSTALL_MANDIR plumb/share/man)
  set(CMAKE_INSTALL_LIBEXECDIR plumb/libexec)
  set(CMAKE_INSTALL_FULL_LIBDIR /plumb/lib)
  set(CMAKE_INSTALL_FULL_BINDIR /plumb/bin)
  # One file: a wheel has no links.
  set_property(TARGET plumb_shared PROPERTY VERSION)
  set_property(TARGET plumb_shared PROPERTY SOVERSION)
  # scripts/wheel puts libraries beside it.
  set_target_properties(plumb_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
  install(TARGETS plumb_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
else()
  install(TARGETS plumb_shared EXPORT plumbTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${PROJECT_BINARY_DIR}/lib/libplumb.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/plumb DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h")
  install(EXPORT plumbTargets NAMESPACE plumb:: DESTINATION ${package_dir})
endif()

if(PLUMB_PROGRAM)
  # The program finds its library beside itself wherever the tree is put.
  file(RELATIVE_PATH to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(plumb_program PROPERTIES INSTALL_RPATH "$ORIGIN/${to_lib}")
  install(TARGETS plumb_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/latents
    DESTINATION ${CMAKE_INSTALL_DATADIR}/plumb/examples)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/zoo DESTINATION ${CMAKE_INSTALL_DATADIR}/plumb)

  # The program writes its own manual and completion, from the tables that also parse.
  set(manual ${PROJECT_BINARY_DIR}/share/man/man1/plumb.1)
  set(share ${PROJECT_BINARY_DIR}/share)
  set(bash bash-completion/completions)
  set(zsh zsh/site-functions)
  set(fish fish/vendor_completions.d)
  set(pages ${manual} ${share}/${bash}/plumb ${share}/${zsh}/_plumb ${share}/${fish}/plumb.fish)
  add_custom_command(OUTPUT ${pages}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${share}/man/man1 ${share}/${bash} ${share}/${zsh}
            ${share}/${fish}
    COMMAND plumb_program --manual > ${manual}
    COMMAND plumb_program --completion bash > ${share}/${bash}/plumb
    COMMAND plumb_program --completion zsh > ${share}/${zsh}/_plumb
    COMMAND plumb_program --completion fish > ${share}/${fish}/plumb.fish
    DEPENDS plumb_program VERBATIM)
  add_custom_target(plumb_pages ALL DEPENDS ${pages})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${share}/${bash}/plumb DESTINATION ${CMAKE_INSTALL_DATADIR}/${bash})
  install(FILES ${share}/${zsh}/_plumb DESTINATION ${CMAKE_INSTALL_DATADIR}/${zsh})
  install(FILES ${share}/${fish}/plumb.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/${fish})
endif()
if(PLUMB_HDF5)
  install(TARGETS plumb-h5 RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/plumb)
endif()

if(SKBUILD)
  # The code of these headers becomes part of the library, and their licences ask to be with it. They
  # are the first comment.
  foreach(header IN ITEMS ${RANDOM123_INCLUDE}/Random123/philox.h ${XXHASH_INCLUDE}/xxhash.h)
    get_filename_component(name ${header} NAME_WE)
    file(READ ${header} text)
    string(FIND "${text}" "*/" end)
    string(SUBSTRING "${text}" 0 ${end} text)
    if(NOT text MATCHES "Redistribution")
      message(FATAL_ERROR "${header} does not begin with its licence")
    endif()
    file(WRITE ${PROJECT_BINARY_DIR}/licenses/${name}.txt "${text}*/\n")
  endforeach()
  install(DIRECTORY ${PROJECT_BINARY_DIR}/licenses/ DESTINATION ${SKBUILD_METADATA_DIR}/licenses)
  # What scripts/wheel built for a wheel that needs nothing of the machine.
  if(PLUMB_WHEEL_EXTRAS)
    install(DIRECTORY ${PLUMB_WHEEL_EXTRAS}/lib/ DESTINATION ${CMAKE_INSTALL_LIBDIR}
      USE_SOURCE_PERMISSIONS)
    install(DIRECTORY ${PLUMB_WHEEL_EXTRAS}/licenses/ DESTINATION ${SKBUILD_METADATA_DIR}/licenses)
  endif()
  return()
endif()

# Who links the static library must also link what it stands on. Not by Requires.private: that would
# ask for all that a static libzip needs, where a shared one needs none.
list(JOIN LIBZIP_LDFLAGS " " libs_zip)
list(JOIN ZLIB_LDFLAGS " " libs_zlib)
list(JOIN PNG_LDFLAGS " " libs_png)
set(libs_private "${libs_zip} ${libs_png} ${libs_zlib} -lm -ldl -pthread")
file(RELATIVE_PATH to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/plumb.pc.in ${PROJECT_BINARY_DIR}/plumb.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/plumb.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/plumbConfig.cmake.in
  ${PROJECT_BINARY_DIR}/plumbConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plumbConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plumbConfig.cmake
  ${PROJECT_BINARY_DIR}/plumbConfigVersion.cmake DESTINATION ${package_dir})
