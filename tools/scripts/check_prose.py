#!/usr/bin/env python3
"""Checks what a script can see of the style sheet in CONTRIBUTING.md.

It reads pages (.md), descriptions and comments of TableGen, comments and messages of C, C++,
shell scripts and CMake files, and comments, docstrings and messages of Python.
"""

import io
import re
import tokenize

import house

SUFFIXES = {".md", ".td", ".c", ".cpp", ".h"}  # beside the languages that `house` knows
MOST_COLUMNS, MOST_WORDS, MOST_OF_CELL = 100, 40, 250
PERSONS = {
    "anyone",
    "author",
    "authors",
    "caller",
    "callers",
    "contributor",
    "developer",
    "engineer",
    "engineers",
    "everyone",
    "maintainer",
    "newcomer",
    "people",
    "person",
    "reader",
    "readers",
    "researcher",
    "researchers",
    "reviewer",
    "someone",
    "those",
    "user",
    "users",
}
WHO = re.compile(r"\bwho [a-z]+s\b", re.I)
BODY = re.compile(r"\b(no|some)body\b", re.I)
RATIO = re.compile(r"\bat \*{0,2}\d+\.\d+\*{0,2} of\b")
# What lit, FileCheck and linters read is one line.
DIRECTIVE = re.compile(r"(#|//) ?[A-Z][A-Z0-9-]*:|# (noqa|type):")
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"*]*\s+")
# Python 3.12 and newer read an f-string as several tokens.
FSTRING_START = getattr(tokenize, "FSTRING_START", -1)
FSTRING_END = getattr(tokenize, "FSTRING_END", -1)
LINK_TARGET, CODE = re.compile(r"\]\([^)]*\)"), re.compile(r"`[^`]*`")


class Text:
    """A paragraph: its lines by number. `kind` is page, cell, comment or code."""

    def __init__(self, kind, number, words):
        self.kind, self.lines = kind, [(number, words)]

    def joined(self):
        return " ".join(words.strip() for _, words in self.lines)

    def line_of(self, position):
        for number, words in self.lines:
            position -= len(words.strip()) + 1
            if position < 0:
                return number
        return self.lines[-1][0]


def plain(text):
    """Markdown of the same length, in which code and the target of a link are words of blanks."""
    text = LINK_TARGET.sub(lambda match: "]" + "_" * (len(match[0]) - 1), text)
    return CODE.sub(lambda match: "_" * len(match[0]), text)


def paragraphs(kind, lines):
    """Joins lines to paragraphs. Blank lines, list items, headings, tables, fences end one."""
    texts, current, in_code = [], None, False
    for number, line in lines:
        stripped = line.strip()
        if stripped.startswith("```"):
            in_code, current = not in_code, None
        elif in_code or not stripped or stripped.startswith("<!--"):
            current = None
        elif stripped.startswith("|"):
            current = None
            texts += [
                Text("cell" if kind == "page" else kind, number, cell)
                for cell in re.split(r"(?<!\\)\|", stripped)[1:-1]
            ]
        elif current and not re.match(r"([-*] |\d+\. |#|RUN:|@)", stripped):
            current.lines.append((number, line))
        else:
            current = Text(kind, number, line)
            texts.append(current)
            if stripped.startswith("#"):
                current = None
    return texts


def of_c(source):
    """Comments of C++ and TableGen, descriptions in [{ }], and the rest as code."""
    comments, texts, in_description = [], [], False
    for number, line in enumerate(source.splitlines(), 1):
        match = re.match(r"\s*//[/!<]*(.*)", line)
        if in_description:
            in_description = "}]" not in line
            comments.append((number, line.replace("}]", "")))
        elif match:
            comments.append((number, match[1]))
        else:
            comments.append((number, ""))
            texts.append(Text("code", number, line))
            in_description = "[{" in line and "}]" not in line
    return paragraphs("comment", comments) + texts


def of_hashes(source):
    """Comments of shell scripts and CMake files, and the rest as code."""
    comments, texts = [], []
    for number, line in enumerate(source.splitlines(), 1):
        match = re.match(r"(?:#!.*|\s*#+(.*))", line)
        comments.append((number, match[1] or "" if match else ""))
        if not match:
            texts.append(Text("code", number, line))
    return paragraphs("comment", comments) + texts


def of_python(source):
    """Comments and docstrings, and the rest as code."""
    comments, code = {}, dict(enumerate(source.splitlines(), 1))
    previous = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = token.start[0], token.end[0]
        is_docstring = token.type == tokenize.STRING and previous in (
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
        )
        if is_docstring:
            comments |= dict(enumerate(token.string.strip("\"'").splitlines(), first))
            for number in range(first, last + 1):
                code.pop(number, None)
        elif token.type == tokenize.COMMENT:
            comments[first] = "" if token.string.startswith("#!") else token.string.lstrip("#! ")
            code[first] = code[first][: token.start[1]]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            previous = token.type
    lines = [
        (number, comments.get(number, "")) for number in range(1, max(comments, default=0) + 1)
    ]
    return paragraphs("comment", lines) + [Text("code", *line) for line in code.items()]


def in_strings(source):
    """Lines of Python that a string of several lines states as they are."""
    lines, begun = set(), []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = token.start[0], token.end[0]
        if token.type == FSTRING_START:
            begun.append(first)
        elif token.type == FSTRING_END:
            first = begun.pop()
        elif token.type != tokenize.STRING:
            continue
        if first != last:
            lines.update(range(first, last + 1))
    return lines


def unbroken(source, language, texts):
    """Lines that may be longer: one word, such as a regular expression, cannot be broken. In Python
    so may the lines of a text, but no comment."""
    lines = enumerate(source.splitlines(), 1)
    if language in ("shell", "cmake"):  # behind its comment's sign, before the sign of another line
        return {number for number, line in lines if len(line.strip("#\\ \t").split()) < 2}
    if language != "python":
        return set()
    words = {number for number, line in lines if " " not in line.strip()}
    comments = {number for text in texts if text.kind == "comment" for number, _ in text.lines}
    return (in_strings(source) | words) - comments


def findings_of(path, language, source):
    """Rule, line and message of each finding."""
    is_page = path.suffix == ".md"
    if is_page:
        texts = paragraphs("page", enumerate(source.splitlines(), 1))
    elif language == "python":
        texts = of_python(source)
    else:
        texts = of_hashes(source) if language else of_c(source)
    for text in texts:
        words = plain(text.joined())
        for match in WHO.finditer(words):
            before = re.findall(r"\w+", words[: match.start()])[-4:]  # a name may stand between
            if not PERSONS & {word.lower() for word in before}:
                found = " ".join([*before[-1:], match[0]])
                message = f"expected 'that' or 'which' for a thing, found '{found}'"
                yield "who", text.line_of(match.start()), message
        for match in BODY.finditer(words):
            yield (
                "body",
                text.line_of(match.start()),
                f"expected the name of a role or a program, found '{match[0]}'",
            )
        for match in RATIO.finditer(words):
            yield (
                "ratio",
                text.line_of(match.start()),
                f"expected a ratio such as '1.08x faster than', found '{match[0]}'",
            )
        if text.kind == "code":
            continue
        begin = 0
        for sentence in SENTENCE_END.split(words):
            begin = words.index(sentence, begin)
            if re.match(r"(?:[-*#]+ |\d+\. )*Of ", sentence):
                yield (
                    "of",
                    text.line_of(begin),
                    f"expected the subject first, found '{' '.join(sentence.split()[:5])}'",
                )
            count = len(sentence.split())
            if text.kind == "page" and count > MOST_WORDS:
                yield (
                    "words",
                    text.line_of(begin),
                    f"expected at most {MOST_WORDS} words in a sentence, found {count}; split it",
                )
        seen = len(LINK_TARGET.sub("]", text.joined()).strip())
        if text.kind == "cell" and seen > MOST_OF_CELL:
            yield (
                "cell",
                text.line_of(0),
                (
                    f"expected at most {MOST_OF_CELL} characters in a table's cell, found {seen}; "
                    "write a section"
                ),
            )
    if is_page:
        return
    kept = unbroken(source, language, texts)
    for number, line in enumerate(source.splitlines(), 1):
        if number not in kept and len(line) > MOST_COLUMNS and not DIRECTIVE.search(line):
            yield "columns", number, f"expected at most {MOST_COLUMNS} columns, found {len(line)}"


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("prose")
    for path in house.project_files(arguments.root):
        language = house.language_of(arguments.root, path)
        if not language and path.suffix not in SUFFIXES:
            continue
        for rule, line, message in findings_of(path, language, house.read(arguments.root / path)):
            findings.add(path, line, f"{message} [{rule}]")
    findings.finish()


if __name__ == "__main__":
    main()
