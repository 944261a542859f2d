# SPDX-License-Identifier: MIT
"""Installs into an empty prefix and builds somebody's project against it: by CMake and by pkg-config, with the shared library and
with the static one. Then the installed program runs, also after a move, and everything is removed again."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from paths import BUILD, CC, CMAKE, PLUMB, SANITIZE, SOURCE

# A library built with a sanitizer asks its users for the same.
FLAGS = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
MAIN = r"""#include <plumb/plumb.h>
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
"""
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(plumb 0.1 REQUIRED)
add_executable(with_shared main.c)
target_link_libraries(with_shared PRIVATE plumb::plumb)
add_executable(with_static main.c)
target_link_libraries(with_static PRIVATE plumb::static)
"""


def run(*command, **how):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **how)
    assert done.returncode == 0, f"{command}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
    return done.stdout


def install(prefix):
    run(CMAKE, "--install", BUILD, "--prefix", prefix)
    return (BUILD / "install_manifest.txt").read_text()


@pytest.fixture(scope="module")
def prefix(shared):
    install(shared / "prefix")
    return shared / "prefix"


@pytest.fixture(scope="module")
def moved(prefix, shared):
    return shutil.copytree(prefix, shared / "moved", symlinks=True)


@pytest.fixture(scope="module")
def libdir(prefix):
    return next(prefix.rglob("libplumb.so")).parent


@pytest.fixture
def project(tmp_path):
    """The sources of somebody's project."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project/main.c").write_text(MAIN)
    (tmp_path / "project/CMakeLists.txt").write_text(PROJECT)
    return tmp_path / "project"


def assert_works(program, folder, **environment):
    out = run(program, cwd=folder, env={**os.environ, **environment})
    assert re.fullmatch(r"[0-9.]+ [A-Za-z].* 5\n", out), out


# ---- what is installed ----

def test_every_part_is_installed(prefix, libdir):
    for file in ("bin/plumb", "include/plumb/plumb.h", "share/man/man1/plumb.1", "share/bash-completion/completions/plumb",
                 "share/zsh/site-functions/_plumb", "share/fish/vendor_completions.d/plumb.fish",
                 "share/plumb/examples/latents/good.npz", "share/plumb/zoo/hgn++-mass-spring/weights.safetensors"):
        assert (prefix / file).stat().st_size, file
    for file in ("libplumb.a", "libplumb.so", "cmake/plumb/plumbConfig.cmake", "pkgconfig/plumb.pc"):
        assert (libdir / file).stat().st_size, file


@pytest.mark.parametrize("place", [BUILD, SOURCE], ids=["build", "source"])
def test_no_text_file_names_the_place_of_the_build(prefix, place):
    # A path counts where one begins: a build in /plumb must not be found in every lib/cmake/plumb.
    pattern = re.compile(rb'(?:^|[\s";:=])' + re.escape(str(place).encode()) + rb'(?:/|[\s";:]|$)', re.M)
    texts = [path for path in prefix.rglob("*") if path.is_file() and b"\0" not in path.read_bytes()[:4096]]
    assert len(texts) > 10
    assert not [path for path in texts if pattern.search(path.read_bytes())]


def test_uninstall_removes_what_was_installed_and_nothing_else(tmp_path):
    manifest = tmp_path / "manifest.txt"
    (tmp_path / "prefix/bin").mkdir(parents=True)
    (tmp_path / "prefix/bin/other").write_text("somebody else's")
    manifest.write_text(install(tmp_path / "prefix"))
    run(SOURCE / "scripts/uninstall", manifest)
    left = [path.relative_to(tmp_path / "prefix") for path in (tmp_path / "prefix").rglob("*")]
    assert [path for path in left if not (tmp_path / "prefix" / path).is_dir()] == [Path("bin/other")]
    assert not [path for path in left if "plumb" in path.parts]
    assert subprocess.run([SOURCE / "scripts/uninstall", manifest], capture_output=True).returncode, "twice"


def test_nothing_is_left_to_build_before_an_install():
    if not (BUILD / "build.ninja").exists():
        pytest.skip("asks ninja")
    assert not re.search("Building|Linking|Generating", run("ninja", "-C", BUILD, "-n", "all"))


# ---- somebody's project ----

def test_a_cmake_project_links_either_library(prefix, project, tmp_path):
    run(CMAKE, "-S", project, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}",
        f"-DCMAKE_C_FLAGS={' '.join(FLAGS)}")
    run(CMAKE, "--build", tmp_path / "build")
    shared_program, static_program = tmp_path / "build/with_shared", tmp_path / "build/with_static"
    assert_works(shared_program, tmp_path)
    assert_works(static_program, tmp_path)
    assert re.search(f"{re.escape(str(prefix))}.*libplumb", run("ldd", shared_program))
    assert "libplumb" not in run("ldd", static_program)


def test_the_examples_are_such_a_project(prefix, tmp_path):
    run(CMAKE, "-S", SOURCE / "examples", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}",
        f"-DCMAKE_C_FLAGS={' '.join(FLAGS)}")
    run(CMAKE, "--build", tmp_path)


def test_pkg_config_links_either_library(libdir, project, tmp_path, monkeypatch):
    monkeypatch.setenv("PKG_CONFIG_PATH", str(libdir / "pkgconfig"))
    version = re.match("[0-9.]*[0-9]", run(PLUMB, "--version").split()[1]).group()
    assert run("pkg-config", "--modversion", "plumb").strip() == version
    run(CC, *FLAGS, project / "main.c", "-o", tmp_path / "shared", *run("pkg-config", "--cflags", "--libs", "plumb").split())
    assert_works(tmp_path / "shared", tmp_path, LD_LIBRARY_PATH=str(libdir))
    # The archive by its name, for -lplumb would take the shared library beside it.
    words = run("pkg-config", "--static", "--cflags", "--libs", "plumb").replace("-lplumb", f"{libdir}/libplumb.a").split()
    run(CC, *FLAGS, project / "main.c", "-o", tmp_path / "static", *words)
    assert_works(tmp_path / "static", tmp_path)
    assert "libplumb" not in run("ldd", tmp_path / "static")


def test_inside_another_project_only_the_library_is_built(project, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.21)
project(super LANGUAGES C)
add_subdirectory("{SOURCE}" plumb)
foreach(target plumb_program plumb_pages plumb_test_support tests)
  if(TARGET ${{target}})
    message(SEND_ERROR "${{target}} is built inside another project")
  endif()
endforeach()
add_library(mine SHARED "{project}/main.c")
target_link_libraries(mine PRIVATE plumb::plumb)
""")
    run(CMAKE, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_C_COMPILER={CC}")


# ---- the installed program ----

@pytest.mark.parametrize("place", ["prefix", "moved"])
def test_the_program_finds_its_library_samples_and_helper(request, place, tmp_path):
    place = request.getfixturevalue(place)
    assert re.search(f"{re.escape(str(place))}.*libplumb", run("ldd", place / "bin/plumb"))
    doctor = run(place / "bin/plumb", "doctor", "--json")
    if (BUILD / "libexec/plumb/plumb-h5").exists():
        assert '"hdf5": true' in doctor
    assert run(place / "bin/plumb", "demo", "--json", cwd=tmp_path).count('"name"') == 3


def test_the_moved_program_runs_the_demo_with_its_page(moved, tmp_path):
    if SANITIZE:  # the trained model takes minutes then
        shutil.rmtree(moved / "share/plumb/zoo")
    assert run(moved / "bin/plumb", "demo", cwd=tmp_path).count("plumb-demo.html") == 1


def test_the_manual_has_no_warnings(prefix):
    if not shutil.which("man"):
        pytest.skip("there is no man")
    done = subprocess.run(["man", "--warnings", "-l", prefix / "share/man/man1/plumb.1"], capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"})
    assert done.stderr == ""
