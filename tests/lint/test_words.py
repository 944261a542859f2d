# SPDX-License-Identifier: MIT
"""Words that once stood for something in plumb and have plain names now: none of them may be in the sources, help texts, messages
and pages. The CHANGELOG tells what happened and may use them."""
import re

import pytest

from paths import SOURCE
from sources import files, plant, read

WORDS = re.compile(
    r"(?<![A-Za-z])(houses?|housed|doors?|films?|filmed|filming|footage|gather(?:s|ed|ing)?|dossiers?|trainees?|examinees?|"
    r"foret(?:ells?|old|elling)|foretokens?|crews?|ledgers?|roomsets?|blunders?|jail(?:s|ed|ing)?|complain(?:s|ed|ing|ts?)?|"
    r"numbers\s+that\s+are\s+none|whole\s+or\s+not\s+at\s+all|so\s+manieth)(?![A-Za-z])", re.I)

# What is fixed by the command line, by files and by other libraries.
CONTRACT = [
    r"--films?\b",  # the option
    r"\"--film", r"\"films?\"",  # names as texts in code: the figure, the option
    r"--figure[\", ]+film\b", r"`film`",  # the figure
    r"\bfilms: \d", r"\btensor film\.[a-z]+",  # a key of study files, and a tensor by its old name
    r"\bfilms: int = \d", r"figure\(\\\"film\\\"",  # the option in the stub, the figure in a notebook
    r"\bfilm\.(?:png|svg)\b",  # the file that the examples of plumb show write
    r"\"film\.[a-z_.%]+\"", r"`film\.[a-z_.*]+`",  # tensors of trained models
    r"\bMPI_I?(?:All)?[Gg]atherv?\b", r"\bcomm_(?:all_?)?gather\w*",  # the collective operation
    r"\b_mm\d*_\w*gather\w*",  # instructions of the processor
]
PLACES = ("src", "include", "python", "docs", "tests", "fuzz", "bench", "examples", "scripts", "studies", "cmake", "zoo/README.md",
          "README.md", "CONTRIBUTING.md", "Makefile", "CMakeLists.txt")
LISTS = ("tests/lint/test_words.py", "tests/lint/test_names.py", "tests/lint/waiting-words.txt", "tests/lint/waiting-names.txt",
         "tests/lint/wide-functions.txt")

# Modules and pages that still have to be rewritten. One that is done must go from there; scripts/lint-lists does it.
WAITING = SOURCE / "tests/lint/waiting-words.txt"


def read_waiting():
    return {line for line in WAITING.read_text().splitlines() if line and not line.startswith("#")}


def hits(text):
    """(line, word) of every word that is not part of a contract."""
    blanked = re.sub("|".join(CONTRACT), lambda match: re.sub(r"[^\n]", "_", match.group()), text)
    return [(text.count("\n", 0, match.start()) + 1, match.group()) for match in WORDS.finditer(blanked)]


def part_of(where):
    """The part of the tree that is rewritten as one: a folder of src/ or tests/, a page, or a file."""
    folder, _, name = where.rpartition("/")
    return where if folder.split("/")[0] not in ("src", "tests", "include", "python") else folder or name


def found_words(root):
    """{part: ["file:line: word", ...]}"""
    found = {}
    for place in PLACES:
        top = root / place
        for path in files(top) if top.is_dir() else [top] if top.exists() else []:
            where, text = path.relative_to(root).as_posix(), read(path)
            if text is None or where in LISTS or "/corpus/" in where or "/golden/" in where and path.suffix not in (".c", ".h", ".md"):
                continue
            for line, word in hits(text):
                found.setdefault(part_of(where), []).append(f"{where}:{line}: {word}")
    return found


def faults(root, waiting):
    found = found_words(root)
    return [line for part, lines in found.items() if part not in waiting for line in lines] + \
        [f"{part} has none of the words: scripts/lint-lists takes it from waiting-words.txt" for part in sorted(waiting) if part not in found]


def test_none_of_the_words_is_used():
    found = faults(SOURCE, read_waiting())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["// a film of it", "int n_films;", "The file appears whole or not\nat all.", "numbers that are none", "it complains"])
def test_a_planted_word_is_found(text, tmp_path):
    assert faults(plant(tmp_path, {"src/base/a.c": text}), set())


@pytest.mark.parametrize("text", ["plumb report --films 2", 'draw("film")', "MPI_Gather(x)", "_mm512_i32gather_ps(x)", "a filmy, housing, indoors"])
def test_contracts_and_other_words_are_left_alone(text, tmp_path):
    assert not faults(plant(tmp_path, {"src/base/a.c": text}), set())


def test_an_entry_that_nothing_needs_is_found(tmp_path):
    assert faults(tmp_path, {"src/base"})
