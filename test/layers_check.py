#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that every source file includes only what its layer may include (ARCHITECTURE.md, "Layers"), that only the engine
reads a clock, and that nobody reads one that somebody may set.

Prints TAP, one line per layer, and names file, line and rule of each breach. Usage: layers_check.py [TREE]
"""

import os
import re
import sys

# layer: the layers that it may include beside itself. "nezha" is the C ABI: the parameter table (util) and the names of
# types and operations (reduce) are declared there, no other layer below the engine needs it.
MAY_INCLUDE = {
    "ompi": {"opal", "nezha"},
    "opal": {"nezha"},
    "nezha": set(),
    "util": {"nezha"},
    "reduce": {"nezha", "util"},
    "rail": {"util"},
    "trunk": {"rail", "util"},
    "alg": {"trunk", "reduce", "util"},
    "node": {"reduce", "util"},
    "tuning": {"util"},
    "sharp": {"nezha", "util"},
    "engine": {"nezha", "util", "reduce", "rail", "rail/*", "trunk", "alg", "node", "tuning", "sharp"},
}
RAIL_KIND_MAY_INCLUDE = {"rail", "rail/message", "util"}
GLUE = ("ompi", "opal")
PROGRAMS = ("contrib", "test")
FOLDERS = ("components", "ompi", "opal", "contrib", "test")
SOURCE = re.compile(r"\.(c|cc|cpp|cxx|h|hh|hpp|inc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
MPI_HEADER = re.compile(r"^mpi(-ext)?\.h$")
OPEN_MPI_HEADER = re.compile(r"^((ompi|opal|orte|pmix)(_config\.h$|/)|pmix\w*\.h$)")
CLOCK = re.compile(r"\b(clock_gettime|gettimeofday|clock_nanosleep|nanosleep|usleep|sleep_for|sleep_until|"
                   r"steady_clock|system_clock|high_resolution_clock)\b")
# A node's clock may jump.
WALL_CLOCK = re.compile(r"\b(CLOCK_(?!MONOTONIC\b)[A-Z_]+|system_clock|high_resolution_clock|utc_clock|gettimeofday|ftime|timespec_get|"
                        r"pthread_cond_timedwait|pthread_mutex_timedlock|sem_timedwait|time\s*\(\s*(NULL|nullptr|0|&\w+)\s*\))")
MAY_READ_CLOCK = re.compile(r"^components/(engine/|util/clock\.)")


def layer_of(path):
    """The layer of a file of the tree, None for a file that belongs to none."""
    parts = path.split("/")
    if parts[0] != "components":
        return parts[0] if parts[0] in FOLDERS else None
    if parts[1] == "include":
        return "nezha"
    return "/".join(parts[1:3]) if parts[1] == "rail" and len(parts) > 3 else parts[1]


def may_include(layer, other):
    if layer == other or layer in PROGRAMS:
        return True
    allowed = RAIL_KIND_MAY_INCLUDE if layer.startswith("rail/") else MAY_INCLUDE[layer]
    return other in allowed or (other.startswith("rail/") and "rail/*" in allowed)


def resolve(files, path, quoted, header):
    """The file of the tree that an #include line means, None for a header from elsewhere."""
    places = ["components", "components/include", "ompi/mca/coll/nezha", ""]
    if quoted:
        places.insert(0, os.path.dirname(path))
    for place in places:
        found = os.path.normpath(os.path.join(place, header))
        if found in files:
            return found
    return None


def include_breach(files, path, quoted, header):
    """Why this file must not include this header, None if it may."""
    layer = layer_of(path)
    target = resolve(files, path, quoted, header)
    if target is not None:
        other = layer_of(target)
        if other is None or may_include(layer, other):
            return None
        return f"{layer} must not include {other} ({header})"
    if OPEN_MPI_HEADER.match(header) and layer not in GLUE:
        return f"only ompi and opal include Open MPI's headers ({header})"
    if MPI_HEADER.match(header) and layer not in GLUE + PROGRAMS:
        return f"the engine knows nothing of MPI ({header})"
    return None


def file_breaches(files, path, text):
    """Yields (line, reason) for every breach in one file."""
    layer = layer_of(path)
    if layer in GLUE and not path.endswith((".c", ".h")):
        yield 1, f"{layer} is C"
    if layer not in MAY_INCLUDE and layer not in PROGRAMS and not layer.startswith("rail/"):
        yield 1, f"components/{layer} is no layer"
        return
    for number, line in enumerate(text.splitlines(), 1):
        found = INCLUDE.match(line)
        reason = include_breach(files, path, found[1] == '"', found[2]) if found else None
        if reason:
            yield number, reason
        code = line.split("//")[0]
        if path.startswith("components/") and not MAY_READ_CLOCK.match(path) and CLOCK.search(code):
            yield number, f"time is injected: {layer} must not read a clock or sleep ({CLOCK.search(code)[0]})"
        if layer not in PROGRAMS and WALL_CLOCK.search(code):
            yield number, f"a clock that may be set is no measure of time ({WALL_CLOCK.search(code)[0]})"


def read_tree(top):
    files = {}
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(top, folder)):
            for name in filter(SOURCE.search, names):
                full = os.path.join(directory, name)
                with open(full, encoding="utf-8") as source:
                    files[os.path.relpath(full, top)] = source.read()
    return files


# Each line breaks a rule, or (True) keeps them all: the checker must tell them apart.
SAMPLES = [
    ("components/trunk/a.cc", '#include "rail/rail.h"', True),
    ("components/trunk/a.cc", '#include "rail/tcp/tcp.h"', False),
    ("components/trunk/a.cc", '#include "engine/team.h"', False),
    ("components/trunk/a.cc", "auto now = std::chrono::steady_clock::now();", False),
    ("components/trunk/a.cc", '#include "nezha/nezha.h"', False),
    ("components/engine/a.cc", "clock_gettime(CLOCK_MONOTONIC, &time);", True),
    ("components/engine/a.cc", "clock_gettime(CLOCK_REALTIME, &time);", False),
    ("components/engine/a.cc", "auto now = std::chrono::system_clock::now();", False),
    ("components/engine/a.cc", "turn_.wait_for(lock, std::chrono::milliseconds(1));", True),
    ("ompi/mca/coll/nezha/a.c", "srand(time(NULL));", False),
    ("test/mpi/a.c", "gettimeofday(&now, NULL);", True),
    ("components/engine/a.cc", '#include "rail/tcp/tcp.h"', True),
    ("components/engine/a.cc", "#include <mpi.h>", False),
    ("components/rail/tcp/a.cc", '#include "../rail.h"', True),
    ("components/rail/tcp/a.cc", '#include "trunk/trunk.h"', False),
    ("components/util/a.cc", '  #  include "ompi/constants.h"', False),
    ("components/odd/a.cc", "", False),
    ("ompi/mca/coll/nezha/a.c", '#include "ompi/constants.h"', True),
    ("ompi/mca/coll/nezha/a.c", '#include "engine/team.h"', False),
    ("ompi/mca/coll/nezha/a.cc", "", False),
    ("opal/a.c", "#include <nezha/nezha.h>", True),
    ("test/mpi/a.c", "#include <mpi.h>", True),
    ("test/mpi/a.c", '#include "opal/util/output.h"', False),
]
SAMPLE_FILES = {"components/rail/rail.h", "components/rail/tcp/tcp.h", "components/engine/team.h",
                "components/trunk/trunk.h", "components/include/nezha/nezha.h"}


def samples_misjudged():
    for path, line, keeps in SAMPLES:
        if keeps == any(file_breaches(SAMPLE_FILES, path, line)):
            yield f"{path}: '{line}' is judged wrongly"


def main():
    top = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = read_tree(top)
    results = [("the rules can be broken", list(samples_misjudged()))]
    for layer in sorted({layer_of(path) for path in files}):
        breaches = [f"{path}:{line}: {reason}" for path in sorted(files) if layer_of(path) == layer
                    for line, reason in file_breaches(files, path, files[path])]
        results.append((f"what {layer} includes", breaches))
    print(f"1..{len(results)}")
    for number, (name, breaches) in enumerate(results, 1):
        print(f"{'not ok' if breaches else 'ok'} {number} - {name}")
        for breach in breaches:
            print(f"# {breach}")
    return any(breaches for _, breaches in results)


if __name__ == "__main__":
    sys.exit(main())
