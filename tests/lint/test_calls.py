# SPDX-License-Identifier: MIT
"""Calls that are wrong in a library, each by a rule: they depend on the locale, change state of the whole process, or never end."""
import re

import pytest

from paths import SOURCE

# (rule, pattern, files that may, why). The program itself never sets a locale, so cli is free to print numbers.
RULES = [
    ("number from text", r"\b(strtod|strtof|atof)\(", {"base/text.c", "cli/"}, "use text_parse_double: strtod reads a decimal comma in some locales"),
    ("number to text", r"\bsnprintf\(.*%[-+ 0#]*[0-9]*(?:\.[0-9*]+)?[gfeEG]", {"base/text.c", "cli/"},
     "use text_format: snprintf writes a decimal comma in some locales"),
    ("umask", r"\bumask\(", set(), "it changes the permissions of files that other threads create"),
    ("real loop counter", r"\bfor \((?:const )?(?:double|float) ", set(), "count in integers: adding to a large number may not change it"),
    ("flag in a message", r'"[^"]*--[a-z][^"]*"', {"cli/", "sweep/slurm.c", "io/hdf5/", "train/options.c"},
     "a C or Python caller has no flags: write \"the option force\", which the program turns into --force"),
    ("state of the process", r"\b(strtok|rand|localtime|gmtime|ctime|asctime|tmpnam)\(", set(), "it has one state for all threads"),
    ("locale", r"\bsetlocale\(", set(), "it belongs to the host program"),
    # The three files check the dtype of frames and then read bytes.
    ("dtype by assumption", r"\((?:const )?(?:double|float|u?int\d+_t) \*\)\s*\w+(?:->|\.)data\b|"
     r"\b(?:double|float|u?int\d+_t) \*\w+ = \w+(?:->|\.)data\b", {"base/", "io/", "dataset/video_load.c", "evaluate/audit.c", "report/item_figure.c"},
     "use plumb_array_to_double: a file chooses the dtype of its arrays"),
    ("branch on a message", r"\b(?:strstr|strcmp|strncmp)\(plumb_last_error\(\)", set(), "messages are for people; return a status that says it"),
]


def statements(text):
    """The text without comments, cut after every semicolon outside quotes, so that no pattern runs into the next statement."""
    return re.findall(r'''(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^;"'])*;?''', re.sub(r"//[^\n]*", "", text))


def faults(root):
    for path in sorted((root / "src").rglob("*.c")):
        where = path.relative_to(root / "src").as_posix()
        for part in statements(path.read_text()):
            for rule, pattern, free, why in RULES:
                if any(where == name or (name.endswith("/") and where.startswith(name)) for name in free):
                    continue
                if re.search(pattern, part, re.S):
                    yield f"{where}: {rule}: {why}\n    {part.strip()[:120]}"


def test_no_forbidden_call():
    found = list(faults(SOURCE))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line", [
    "double x = strtod(text, NULL);", 'snprintf(out, size, "rate %g", rate);', 'snprintf(out, sizeof out,\n    "a %s "\n    "and %.3f", s, x);',
    "umask(0);", 'fail(E, "%s: exists; --force replaces it", path);', "for (double x = 0; x < 1; x += 0.1) draw(x);", 'setlocale(LC_ALL, "");',
    "double x = ((const double *)array->data)[0];", "const float *x = array.data;", 'char *word = strtok(text, " ");',
    'if (strstr(plumb_last_error(), "end")) return PLUMB_OK;'])
def test_a_planted_call_is_found(line, tmp_path):
    (tmp_path / "src/math").mkdir(parents=True)
    (tmp_path / "src/math/planted.c").write_text("void f(void)\n{\n    " + line + "\n}\n")
    assert len(list(faults(tmp_path))) == 1


def test_what_is_allowed_is_not_found(tmp_path):
    (tmp_path / "src/io").mkdir(parents=True)
    (tmp_path / "src/io/fine.c").write_text('// strtod( in a comment\nint n = snprintf(out, size, "%d of %s", a, b);\nfail(E, "is %g", x);\n')
    assert not list(faults(tmp_path))
