# SPDX-License-Identifier: MIT
"""Every public function with NULL for each pointer in turn, and with a wrong `size` for each options struct: an error with a message,
never a signal. The calls are generated from the headers, so that a new function is tested too."""
import os
import re
import subprocess
from pathlib import Path

from paths import BUILD, CC, SANITIZE, SOURCE

HEADERS = sorted((SOURCE / "include/plumb").glob("*.h"))

# An object of each opaque type and each type that must hold something; all others are zeros. Made once, before any call.
OBJECTS = {
    "plumb_array": "array", "plumb_world": "world", "plumb_dataset": "dataset", "plumb_file": "file", "plumb_record": "record",
    "plumb_report": "report", "plumb_sweep": "sweep", "plumb_loader": "loader", "plumb_named_array": "named",
}
# Functions without an effect that could be wrong, or that end the process's use of MPI.
LEFT_OUT = {"plumb_distributed_init", "plumb_distributed_finalize"}

PROLOGUE = r"""
#define _GNU_SOURCE
#include <plumb/plumb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static double numbers[4 * 5 * 2];
static plumb_array array_value, *array = &array_value;
static plumb_named_array named_value, *named = &named_value;
static const plumb_world *world;
static plumb_dataset *dataset;
static plumb_file *file;
static plumb_record *record;
static plumb_report *report;
static plumb_sweep *sweep;
static plumb_loader *loader;
static double text_storage[1 << 16];

static void need(plumb_status status)
{
    if (status) printf("setup: %s\n", plumb_last_error()), exit(2);
}

static void make_objects(const char *folder)
{
    need(chdir(folder) ? PLUMB_EFILE : PLUMB_OK);
    for (int i = 0; i < 40; i++) numbers[i] = i * 0.37 - (i % 7);
    array_value = plumb_array_view(numbers, PLUMB_FLOAT64, 3, (int64_t[]){4, 5, 2});
    named_value = (plumb_named_array){"state", array_value};
    need(plumb_world_find(&world, "mass-spring"));
    plumb_dataset_simulate_options make = plumb_dataset_simulate_defaults();
    make.count = 2, make.steps = 5;
    need(plumb_dataset_simulate("data.npz", world, &make));
    need(plumb_dataset_open(&dataset, "data.npz", NULL));
    need(plumb_file_open(&file, "data.npz"));
    record = plumb_record_create();
    need(plumb_report_create(&report));
    FILE *study = fopen("study.yaml", "w");
    fputs("name: null\nruns:\n  - {model: hgn++, world: mass-spring, preset: tiny, set: {steps: 1}}\n", study);
    fclose(study);
    need(plumb_sweep_open(&sweep, "study.yaml"));
    plumb_loader_options load = plumb_loader_defaults();
    load.batch = 2;
    need(plumb_loader_open(&loader, world, &load));
}

// What a call did, seen from outside.
static int failures;
static void report_call(const char *call, int status, int wants_message)
{
    if (WIFSIGNALED(status)) printf("%s: signal %d\n", call, WTERMSIG(status)), failures++;
    else if (wants_message && WEXITSTATUS(status) == 1) printf("%s: no failure\n", call), failures++;
    else if (wants_message && WEXITSTATUS(status) == 2) printf("%s: a failure without a message that says why\n", call), failures++;
    else if (WEXITSTATUS(status) > 2) printf("%s: exit %d\n", call, WEXITSTATUS(status)), failures++;
}
#define CALL(text, wants_message, body) do { \
        fflush(NULL); \
        const pid_t child = fork(); \
        if (!child) { alarm(60); body; _exit(0); } \
        int status; \
        waitpid(child, &status, 0); \
        report_call(text, status, wants_message); \
    } while (0)
#define FAILS(call, word) do { \
        const plumb_status st = call; \
        if (!st) _exit(1); \
        if (!strstr(plumb_last_error(), word)) { fprintf(stderr, "[%s] ", plumb_last_error()); _exit(2); } \
    } while (0)

"""


class Function:
    def __init__(self, comment, result, name, parameters):
        self.name, self.result = name, result.strip()
        may = re.search(r"May be NULL:([^.]*)", comment)
        self.optional = set(re.findall(r"\w+", may.group(1))) if may else set()
        self.parameters = [self.parameter(one) for one in parameters.split(",")] if parameters.strip() != "void" else []

    @staticmethod
    def parameter(text):
        match = re.fullmatch(r"\s*(.*?)(\**)\s*(\w+)(\[\d*\])?\s*", text, re.S)
        kind, stars, name, brackets = match.groups()
        return kind.replace("const", "").replace("volatile", "").strip(), len(stars) + bool(brackets) + kind.count("*"), name

    def is_pointer(self, at):
        return self.parameters[at][1] > 0

    def value(self, at):
        """A valid argument."""
        kind, stars, name = self.parameters[at]
        if not stars:
            return "1" if kind in ("int64_t", "int", "uint64_t", "size_t") else "(plumb_interval){0}" if kind == "plumb_interval" else f"({kind})0"
        if stars == 1 and kind in OBJECTS:
            return f"(void *){OBJECTS[kind]}"
        if stars == 1 and kind.endswith("_options"):
            return f"&options{at}"
        if kind == "char" and stars == 1:
            return "(char *)text_storage" if name == "text" and "const" not in self.name else '(char *)"missing"'
        return "(void *)text_storage"

    def call(self, replaced):
        return f"{self.name}({', '.join(replaced.get(at, self.value(at)) for at in range(len(self.parameters)))})"


def functions():
    found = []
    for header in HEADERS:
        text = header.read_text()
        for match in re.finditer(r"((?:[ \t]*///[^\n]*\n)*)PLUMB_API ([^;(]*?)(\w+)\(([^;]*)\)(?:\s*__attribute__[^;]*)?;", text):
            comment, result, name, parameters = match.groups()
            if name not in LEFT_OUT and "(*" not in parameters:
                found.append(Function(" ".join(re.findall(r"/// ?([^\n]*)", comment)), result, name, parameters))
    return found


def program(found):
    lines = [PROLOGUE, "int main(int count, char **argument)", "{", "    (void)count;", "    make_objects(argument[1]);"]
    calls = 0
    for function in found:
        status = function.result == "plumb_status"
        options = [at for at, (kind, stars, _) in enumerate(function.parameters) if stars == 1 and kind.endswith("_options")]
        kinds = [(at, function.parameters[at][0]) for at in options]
        start = [f"{kind} options{at}; {kind}_init(&options{at}, sizeof options{at});" for at, kind in kinds]

        def add(text, call, word):
            body = f'FAILS({call}, "{word}")' if word else call
            lines.append(f'    CALL("{text}", {int(bool(word))}, {{ {" ".join(start)} memset(text_storage, 0, sizeof text_storage); {body}; }});')

        for at, (kind, stars, name) in enumerate(function.parameters):
            if not stars:
                continue
            calls += 1
            wanted = status and name not in function.optional
            add(f"{function.name}({name} = NULL)", function.call({at: "NULL"}), "NULL" if wanted else "")
        for at in options if status else []:
            for size in ("0", "3", f"sizeof options{at} + 8", "(size_t)-1"):
                calls += 1
                lines.append(f'    CALL("{function.name}(size = {size})", 1, {{ {" ".join(start)} memset(text_storage, 0, sizeof text_storage); '
                             f'options{at}.size = {size}; FAILS({function.call({})}, "{function.parameters[at][0]}"); }});')
    lines += ["    return failures ? 1 : 0;", "}"]
    return "\n".join(lines), calls


def test_null_and_wrong_sizes_are_errors(tmp_path):
    found = functions()
    assert len(found) > 100
    text, calls = program(found)
    assert calls > 200
    source = tmp_path / "calls.c"
    source.write_text(text)
    library = BUILD / "lib" / "libplumb.so"
    if not library.exists():
        library = next(BUILD.rglob("libplumb.so"))
    flags = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
    done = subprocess.run([CC, "-std=gnu17", "-w", *flags, "-I", SOURCE / "include", source, library, f"-Wl,-rpath,{library.parent}", "-o",
                           tmp_path / "calls"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "calls", tmp_path], capture_output=True, text=True,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:allocator_may_return_null=1"})
    assert done.returncode == 0, done.stdout + done.stderr
