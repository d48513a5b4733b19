#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The manual page has every parameter of the table; the list in contrib/doc/parameters.md has the same names, defaults and
marks. Prints TAP."""

import os
import pathlib
import re
import shutil
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("NEZHA_BUILD_DIR") or TOP / "build" / "check")

GUIDE = TOP / "contrib" / "doc" / "parameters.md"
# A row of its list: name, default, a star where rank 0's value counts, meaning.
ROW = re.compile(r"^\| `(\w+)` \| *(\S*) *\| *(\*?) *\| \S.* \|$", re.MULTILINE)


def table():
    """{name: (default, decides)}"""
    program = BUILD / "contrib" / "programs" / "parameters_page"
    lines = subprocess.run([program, "--rows"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: (default, decides == "1") for name, default, decides in (line.split("\t") for line in lines)}


def guide():
    return {name: (default, star == "*") for name, default, star in ROW.findall(GUIDE.read_text(encoding="utf-8"))}


def page_complaint(rows):
    page = (BUILD / "nezha-parameters.7").read_text(encoding="utf-8")
    named = re.findall(r"(?m)^\.TP\n\.B coll_nezha_(\w+)\n(?=.*; default: .*; level \d.*\.\n\.br\n\S)", page)
    return "" if named == list(rows) else f"it explains {named}"


def roff_complaint():
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", BUILD / "nezha-parameters.7"], capture_output=True, text=True,
                          check=False)
    return done.stderr.strip().replace("\n", "; ")


def guide_complaint(rows):
    ours = guide()
    wrong = [f"{name}: {ours.get(name)} in {GUIDE.name}, {rows.get(name)} in the table"
             for name in sorted({*rows, *ours}) if rows.get(name) != ours.get(name)]
    return "; ".join(wrong)


def main():
    rows = table()
    checks = [("the table has rows", "" if len(rows) > 10 else f"{len(rows)} only"),
              ("the manual page explains every parameter", page_complaint(rows)),
              ("the manual page is sound roff", roff_complaint() if shutil.which("groff") else None),
              ("the guide lists every parameter as it is", guide_complaint(rows))]
    print(f"1..{len(checks)}")
    for number, (what, complaint) in enumerate(checks, 1):
        skipped = " # SKIP groff is not installed" if complaint is None else ""
        print(f"{'not ok' if complaint else 'ok'} {number} - {what}{skipped}")
        if complaint:
            print(f"# {complaint}")


main()
