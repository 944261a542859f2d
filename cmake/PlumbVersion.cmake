# SPDX-License-Identifier: MIT
# The text of plumb --version: the version, ".dev" between releases, and the commit. It is one small file of
# the program, so that a new commit compiles nothing else. Results have the plain PROJECT_VERSION.
set(PLUMB_VERSION_TEXT "${PROJECT_VERSION}.dev")

set(commit "")
find_package(Git QUIET)
if(Git_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=10 --exclude=*
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE commit ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
else()
  # A tarball of git archive holds the commit in a file; in others it stays unknown.
  file(STRINGS "${PROJECT_SOURCE_DIR}/cmake/commit.txt" commit LIMIT_COUNT 1)
  if(NOT commit MATCHES "^[0-9a-f]+$")
    set(commit "")
  endif()
endif()
if(commit)
  string(APPEND PLUMB_VERSION_TEXT " (${commit})")
endif()

set(PLUMB_VERSION_SOURCE ${PROJECT_BINARY_DIR}/version.c)
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.c.in ${PLUMB_VERSION_SOURCE} @ONLY)
