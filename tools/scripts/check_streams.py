#!/usr/bin/env python3
"""Checks that C++ writes files and standard output in one place, include/dash/Support/WriteFile.h.

LLVM's streams to files end the process, and the host of a library with it, where a write fails and
no caller has asked for the error: report_fatal_error in a destructor. Text is collected by a
raw_string_ostream, and writeFile or TemporaryFile writes it, or says why not. Standard error is for
tools: what cannot be said there cannot be said at all. Tests may print to standard output, which
FileCheck reads.
"""

import re

import house

ALLOWED = "lib/Support/WriteFile.cpp"
FILES = re.compile(
    r"\b(raw_fd_ostream|raw_fd_stream|raw_socket_stream|ToolOutputFile|openOutputFile|writeToOutput|FileOutputBuffer|"
    r"TempFile|createTemporaryFile|ofstream)\b"
)
STANDARD = re.compile(r"\b(outs\(\)|std::cout)")


def main():
    arguments = house.parse_arguments(__doc__)
    findings = house.Findings("streams")
    for path in house.project_files(arguments.root, ".cpp", ".h"):
        if path.as_posix() == ALLOWED:
            continue
        is_test = path.parts[0] == "test"
        for number, line in enumerate(house.read(arguments.root / path).splitlines(), 1):
            code = line.partition("//")[0]
            for stream in (FILES,) if is_test else (FILES, STANDARD):
                if found := stream.search(code):
                    findings.add(
                        path,
                        number,
                        "expected writeFile or TemporaryFile of dash/Support/WriteFile.h, found"
                        f" '{found[1]}', whose errors can go unseen; collect the text and hand it"
                        " over",
                    )
    findings.finish()


if __name__ == "__main__":
    main()
