#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The developer's guide's examples, test/examples/*.patch, apply to the tree, one after the other. That they build and work is
tested by test/build/test_examples.py, which takes minutes. Prints TAP."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ("algorithm", "parameter", "rail")  # each applies to the tree that the one before has left


def bring(patch, place):
    """Copies the files that `patch` changes into `place`, unless an earlier patch has done so."""
    for path in re.findall(r"(?m)^--- a/(\S+)", patch):
        if not (place / path).exists():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / path, place / path)


def apply(name, place):
    """What `patch` says where it fails, or ''. Without fuzz: git apply takes it too."""
    path = TOP / "test" / "examples" / f"{name}.patch"
    bring(path.read_text(encoding="utf-8"), place)
    done = subprocess.run(["patch", "--batch", "--forward", "--fuzz=0", "-p1", "-i", path], cwd=place, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout if done.returncode != 0 else ""


def main():
    if shutil.which("patch") is None:
        print("1..0 # SKIP patch is not installed")
        return 0
    print(f"1..{len(EXAMPLES)}")
    failed = False
    with tempfile.TemporaryDirectory(prefix="nezha-examples-") as place:
        for number, name in enumerate(EXAMPLES, 1):
            complaint = apply(name, pathlib.Path(place))
            failed = failed or bool(complaint)
            print(f"{'not ok' if complaint else 'ok'} {number} - test/examples/{name}.patch applies")
            for line in complaint.splitlines():
                print(f"# {line}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
