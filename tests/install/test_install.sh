# SPDX-License-Identifier: MIT
# Installs into an empty prefix and builds a stranger's project against it: by CMake and by
# pkg-config, with the shared library and with the static one. Then the installed program runs.
set -u
failures=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
stop() {
    fail "$*"
    exit 1
}
prefix=$dir/prefix
"$PLUMB_CMAKE" --install "$PLUMB_BUILD" --prefix "$prefix" >"$dir/log" 2>&1 || stop "install: $(cat "$dir/log")"
libdir=$(dirname "$(find "$prefix" -name libplumb.so | head -n 1)")
for file in bin/plumb include/plumb/plumb.h share/man/man1/plumb.1 share/bash-completion/completions/plumb \
    share/plumb/examples/latents/good.npz share/plumb/zoo/hgn++-mass-spring/weights.safetensors; do
    [ -s "$prefix/$file" ] || fail "$file was not installed"
done
for file in libplumb.a libplumb.so cmake/plumb/plumbConfig.cmake pkgconfig/plumb.pc; do
    [ -s "$libdir/$file" ] || fail "$libdir/$file was not installed"
done
# A path counts where one begins: a build in /plumb must not be found in every lib/cmake/plumb.
begins="(^|[[:space:]\";:=])"
for place in "$PLUMB_BUILD" "$PLUMB_SOURCE"; do
    grep -rIlE "$begins$(printf %s "$place" | sed 's/[].[*^$+?(){}|\\]/\\&/g')(/|[[:space:]\";:]|\$)" "$prefix" &&
        fail "the files above name the place of the build, $place"
done

# A library built with a sanitizer asks its users for the same.
flags=
[ -z "$PLUMB_SANITIZE" ] || flags=-fsanitize=$PLUMB_SANITIZE

mkdir "$dir/stranger"
cat >"$dir/stranger/main.c" <<'C'
#include <plumb/plumb.h>
#include <stdio.h>

int main(void)
{
    // A round trip through a file, and a failure that says what is wrong.
    double numbers[6] = {1, 2, 3, 4, 5, 6};
    const int64_t shape[2] = {2, 3};
    const plumb_named_array named = {"latent", plumb_array_view(numbers, PLUMB_FLOAT64, 2, shape)};
    plumb_file *file = NULL;
    plumb_array back;
    if (plumb_file_write("x.npz", &named, 1, false) || plumb_file_open(&file, "x.npz") ||
        plumb_file_read_array(&back, file, "latent")) {
        puts(plumb_last_error());
        return 1;
    }
    const int bad = plumb_array_count(&back) != 6 || ((double *)back.data)[5] != 6;
    plumb_file_close(file);
    if (bad || plumb_file_open(&file, "missing.npz") == PLUMB_OK) return 1;
    const plumb_symetric_options opt = plumb_symetric_defaults();
    plumb_system_info info;
    plumb_system_get_info(&info);
    printf("%s %s %d\n", plumb_version(), info.blas, opt.max_order);
    return 0;
}
C
cat >"$dir/stranger/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(stranger LANGUAGES C)
find_package(plumb 0.1 REQUIRED)
add_executable(with_shared main.c)
target_link_libraries(with_shared PRIVATE plumb::plumb)
add_executable(with_static main.c)
target_link_libraries(with_static PRIVATE plumb::static)
CMAKE

runs() {
    local what=$1
    shift
    (cd "$dir" && "$@") >"$dir/log" 2>&1 || { fail "$what: $(cat "$dir/log")"; return; }
    grep -q '^[0-9.]* [A-Za-z].* 5$' "$dir/log" || fail "$what printed $(cat "$dir/log")"
}

if "$PLUMB_CMAKE" -S "$dir/stranger" -B "$dir/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$PLUMB_CC" -DCMAKE_C_FLAGS="$flags" >"$dir/log" 2>&1 &&
    "$PLUMB_CMAKE" --build "$dir/cmake" >>"$dir/log" 2>&1; then
    runs "CMake, shared" "$dir/cmake/with_shared"
    runs "CMake, static" "$dir/cmake/with_static"
    ldd "$dir/cmake/with_shared" | grep -q "$prefix.*libplumb" || fail "with_shared does not load the installed library"
    ldd "$dir/cmake/with_static" | grep -q libplumb && fail "with_static loads a shared libplumb"
else
    fail "a stranger's CMake project: $(cat "$dir/log")"
fi

# The examples are such a project too.
"$PLUMB_CMAKE" -S "$PLUMB_SOURCE/examples" -B "$dir/examples" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$PLUMB_CC" \
    -DCMAKE_C_FLAGS="$flags" >"$dir/log" 2>&1 && "$PLUMB_CMAKE" --build "$dir/examples" >>"$dir/log" 2>&1 ||
    fail "the examples by CMake: $(cat "$dir/log")"

export PKG_CONFIG_PATH=$libdir/pkgconfig
[ "$(pkg-config --modversion plumb)" = "$("$PLUMB" --version | cut -d' ' -f2)" ] || fail "pkg-config --modversion"
# shellcheck disable=SC2046,SC2086
if "$PLUMB_CC" $flags "$dir/stranger/main.c" -o "$dir/pc_shared" $(pkg-config --cflags --libs plumb); then
    runs "pkg-config, shared" env LD_LIBRARY_PATH="$libdir" "$dir/pc_shared"
else
    fail "pkg-config, shared: does not link"
fi
# The archive by its name, for -lplumb would take the shared library beside it.
# shellcheck disable=SC2046,SC2086
if "$PLUMB_CC" $flags "$dir/stranger/main.c" -o "$dir/pc_static" \
    $(pkg-config --static --cflags --libs plumb | sed "s#-lplumb#$libdir/libplumb.a#"); then
    runs "pkg-config, static" "$dir/pc_static"
    ldd "$dir/pc_static" | grep -q libplumb && fail "pc_static loads a shared libplumb"
else
    fail "pkg-config, static: does not link"
fi

# The program runs from the prefix, with its own library, samples and helper, and after a move.
for place in "$prefix" "$dir/moved"; do
    [ "$place" = "$prefix" ] || mv "$prefix" "$place"
    ldd "$place/bin/plumb" | grep -q "$place.*libplumb" || fail "the program does not load its own library"
    "$place/bin/plumb" doctor >"$dir/log" 2>&1 || fail "installed doctor: $(cat "$dir/log")"
    if [ -e "$PLUMB_BUILD/libexec/plumb/plumb-h5" ]; then
        "$place/bin/plumb" doctor --json | grep -q '"hdf5": true' || fail "the installed program does not find plumb-h5"
    fi
    (cd "$dir" && "$place/bin/plumb" demo) >"$dir/log" 2>&1 || fail "installed demo: $(cat "$dir/log")"
    tail -n 1 "$dir/log" | grep -q 'plumb-demo.html$' || fail "the installed demo names no page"
done
if command -v man >/dev/null; then
    [ -z "$(LC_ALL=C man --warnings -l "$dir/moved/share/man/man1/plumb.1" 2>&1 >/dev/null)" ] || fail "the manual has warnings"
fi

# Inside another project only the library is built.
mkdir "$dir/super"
cat >"$dir/super/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.21)
project(super LANGUAGES C)
add_subdirectory("$PLUMB_SOURCE" plumb)
foreach(target plumb_program plumb_pages plumb_test_support)
  if(TARGET \${target})
    message(SEND_ERROR "\${target} is built inside another project")
  endif()
endforeach()
add_library(mine SHARED "$dir/stranger/main.c")
target_link_libraries(mine PRIVATE plumb::plumb)
CMAKE
"$PLUMB_CMAKE" -S "$dir/super" -B "$dir/super/build" -DCMAKE_C_COMPILER="$PLUMB_CC" >"$dir/log" 2>&1 ||
    fail "inside another project: $(cat "$dir/log")"

[ $failures = 0 ] && echo "all is well"
exit $((failures > 0))
