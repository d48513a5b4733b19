#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documents' links lead somewhere, and the files of this tree that they name are there; so is what the developer's guide names of
the contract of rails. Prints TAP."""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("", "contrib/doc", "test", "components/*", "components/*/*")
LINK = re.compile(r"\]\(([^)#]*)(?:#([^)]*))?\)")
PATH = re.compile(r"`((?:components|contrib|debian|m4|ompi|opal|test)/[\w/.-]+)`")


NAME = re.compile(r"`(?:\w+::)?([A-Za-z]\w+)(?:\(\))?`")
CONTRACT = ("components/rail/*.h", "components/rail/message/*.h", "components/rail/ofi/ofi.h", "components/rail/ofi/local.mk",
            "components/engine/transports.cc", "components/util/params.cc", "test/unit/test_rail_contract.cc")


def anchors(document):
    """As GitHub makes them of headings."""
    headings = re.findall(r"(?m)^#+ +(.*)$", document.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def made_by_examples():
    """What the developer's guide describes and test/examples/*.patch brings."""
    for patch in (TOP / "test" / "examples").glob("*.patch"):
        for path in re.findall(r"(?m)^--- /dev/null\n\+\+\+ b/(\S+)", patch.read_text(encoding="utf-8")):
            yield from (path, f"{pathlib.PurePath(path).parent}/")


def complaints(document, brought):
    text = document.read_text(encoding="utf-8")
    for place, anchor in LINK.findall(text):
        if re.match(r"\w+:", place):
            continue
        target = document.parent / place if place else document
        if not target.exists():
            yield f"link to {place}"
        elif anchor and anchor not in anchors(target):
            yield f"link to {place}#{anchor}"
    for path in PATH.findall(text):
        if path not in brought and not (TOP / path).exists():
            yield f"file {path}"
    if document.name == "developers-guide.md":
        yield from names_of_rails(text)


def names_of_rails(text):
    """Those that the section on rails has, and neither the contract nor who uses it."""
    section = text.partition("\n## A rail\n")[2].partition("\n## ")[0]
    code = "".join(re.sub(r"//.*", "", file.read_text(encoding="utf-8")) for pattern in CONTRACT for file in TOP.glob(pattern))
    for name in dict.fromkeys(NAME.findall(section)):
        if not re.search(rf"\b{name.removeprefix('coll_nezha_')}\b", code):
            yield f"name {name} in the contract of rails"


def main():
    documents = sorted(document for place in PLACES for document in TOP.glob(f"{place}/*.md".lstrip("/")))
    brought = set(made_by_examples())
    print(f"1..{len(documents)}")
    failed = False
    for number, document in enumerate(documents, 1):
        found = list(complaints(document, brought))
        failed = failed or bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - {document.relative_to(TOP)}")
        for complaint in found:
            print(f"# there is no {complaint}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
