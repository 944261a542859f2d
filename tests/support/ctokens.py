# SPDX-License-Identifier: MIT
"""As much of C as the lint tests need: tokens without comments, texts and preprocessor lines, and the functions of a file."""
import re
from collections import namedtuple

NOISE = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
TOKEN = re.compile(r"[A-Za-z_]\w*|\.?\d[\w.]*|[^\s\w]")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")

Function = namedtuple("Function", "name is_static parameters line")


def tokens(text):
    """(token, line) of all code outside comments, texts and preprocessor lines."""
    def blank(match):
        return "\n" * match.group().count("\n") + " "

    code = DIRECTIVE.sub(blank, NOISE.sub(blank, text))
    line, found = 1, []
    for match in re.finditer(r"\n|" + TOKEN.pattern, code):
        if match.group() == "\n":
            line += 1
        else:
            found.append((match.group(), line))
    return found


def closing(words, at, opens="(", closes=")"):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(words)):
        depth += (words[i] == opens) - (words[i] == closes)
        if depth == 0:
            return i
    return len(words) - 1


def count_parameters(words):
    """How many parameters stand between two brackets."""
    if words in ([], ["void"]):
        return 0
    depth, count = 0, 1
    for word in words:
        depth += (word in "([{") - (word in ")]}")
        count += word == "," and depth == 0
    return count


def functions(text):
    """The functions that a file defines."""
    pairs = tokens(text)
    words, found, at, begin = [word for word, _ in pairs], [], 0, 0
    while at < len(words):
        word = words[at]
        if word == "{":
            at = closing(words, at, "{", "}")
            begin = at + 1
        elif word == ";":
            begin = at + 1
        elif word == "(":
            end = closing(words, at)
            if IDENTIFIER.fullmatch(words[at - 1]) and end + 1 < len(words) and words[end + 1] == "{" and "=" not in words[begin:at]:
                found.append(Function(words[at - 1], "static" in words[begin:at], count_parameters(words[at + 1:end]), pairs[at - 1][1]))
            at = end
        at += 1
    return found


def slots(text):
    """Names that fill a slot of the same name in a table of functions: `.open = open`."""
    words = [word for word, _ in tokens(text)]
    return {b for dot, a, equals, b in zip(words, words[1:], words[2:], words[3:]) if dot == "." and equals == "=" and a == b}
