#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which sources contrib/check compiles as one: those of which no name means two things then. Prints TAP."""

import os
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "contrib", "python"))
from nezha_check.united import source, units  # noqa: E402

UNNAMED = "namespace nezha {{\nnamespace {{\n{}\n}}  // namespace\n}}  // namespace nezha\n"
# what it is, two sources, whether they go together
PAIRS = [
    ("different names", UNNAMED.format("int first(int x) {\n  return x;\n}"), UNNAMED.format("int second(int x) {\n  return x;\n}"), True),
    ("the same function", UNNAMED.format("int same() {\n  return 1;\n}"), UNNAMED.format("int same() {\n  return 2;\n}"), False),
    ("a function behind another", UNNAMED.format("int one() {\n  return 1;\n}\n\nint two() {\n  return 2;\n}"),
     UNNAMED.format("int two() {\n  return 2;\n}"), False),
    ("the same constant", UNNAMED.format("constexpr int kMost = 1;"), UNNAMED.format("constexpr int kMost = 2;"), False),
    ("the same array", UNNAMED.format("const int kAll[] = {1};"), UNNAMED.format("const int kAll[2] = {1, 2};"), False),
    ("the same type", UNNAMED.format("struct Case {\n  int x;\n};"), UNNAMED.format("class Case;"), False),
    ("the same enumerator", UNNAMED.format("enum Word { kFirst = 1, kSecond };"), UNNAMED.format("enum Kind { kThird, kSecond };"), False),
    ("another's name, used", UNNAMED.format("struct Kind {\n  int x;\n};"), "void f(nezha::Kind kind);\n", False),
    ("another's name, in a header", UNNAMED.format("struct Plan {\n  int x;\n};"), '#include "plan.h"\n', False),
    ("another's name, in a header of both", '#include "plan.h"\n' + UNNAMED.format("using Plans = Plan*;"), '#include "plan.h"\n', True),
    ("another's name, in a comment", UNNAMED.format("struct Kind {\n  int x;\n};"), "// Of each Kind.\nint f();\n", True),
    ("another's name, of a member", UNNAMED.format("int at(int x) {\n  return x;\n}"), "int f(auto x) { return x.at(1) + x->at(2); }\n", True),
    ("another's name, in the library", UNNAMED.format("int move(int x) {\n  return x;\n}"), "int f(int x) { return std::move(x); }\n", True),
    ("a macro, of a member", "#define MOST 1\n", "int f(auto x) { return x.MOST; }\n", False),
    ("the same macro", "#define MOST 1\n", "int x = MOST;\n", False),
    ("the same suite", "TEST(Ring, Sums) {\n}\n", "TEST_F(Ring, Wraps) {\n}\n", False),
    ("an instance of the same suite", "INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, Rails, World);\n", "INSTANTIATE_TYPED_TEST_SUITE_P(Sim, Rails, World);\n", False),
    ("system headers that do not go together", "#include <linux/tcp.h>\n", "#include <netinet/tcp.h>\n", False),
]


def main():
    good = True
    print(f"1..{len(PAIRS)}")
    for number, (what, first, second, together) in enumerate(PAIRS, 1):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("plan.h", "struct Plan;\n"), ("a.cc", first), ("b.cc", second)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            made = units([[source(os.path.join(folder, name), folder)] for name in ("a.cc", "b.cc")])
        fine = len(made) == (1 if together else 2)
        good = good and fine
        print(f"{'ok' if fine else 'not ok'} {number} - {what}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
