# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's own tests of collectives, as Debian ships their source, built for the MPI that is here. They are kept in the build's
directory, so that a second run finds them."""

import fcntl
import glob
import os
import re
import shlex
import subprocess
import tarfile
import unittest

from mpi_case import BUILD

ROOT = os.path.join(BUILD, "mpich-tests")
FAMILIES = re.compile(r"(allred|iallred|reduce|red|nbred|op|uop|longuser|allgather|bcast|coll|nbcoll|nonblocking|ibarrier|"
                      r"(nb)?ic(allreduce|allgather|bcast|reduce|barrier)|p_(allred|red|allgather|bcast|barrier|order))")
# Some use names that MPI 3.0 removed, which Open MPI's library has kept.
REMOVED_NAMES = """#define OMPI_OMIT_MPI1_COMPAT_DECLS 0
#define OMPI_REMOVED_USE_STATIC_ASSERT 0
#define __mpi_interface_removed__(old, new)
"""
# File, what is there, what has to be. They keep types in arrays of int, which MPICH's are and Open MPI's are not. And a hundred
# thousand rounds take many minutes where 16 ranks share two cores, without Nezha too.
CORRECTIONS = (("nonblocking2.c", r"\bint \*(?=(send|recv)types\b)", "MPI_Datatype *"),
               ("nonblocking3.c", r"\bint \*(?=(send|recv)types\b)", "MPI_Datatype *"),
               ("nonblocking3.c", r"(?<=MAIN_ITERATIONS \()100000\b", "1000"))
RELEASE = "bookworm"
TIMEOUT = 900  # seconds for a step of fetching and building


def step(argv, directory):
    """Runs it with its output in a log; a skip if it fails: none of this is Nezha's."""
    with open(os.path.join(ROOT, "log"), "ab") as log:
        status = subprocess.run(argv, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=TIMEOUT).returncode
    if status != 0:
        raise unittest.SkipTest(f"MPICH's tests cannot be had: {shlex.join(argv[:3])}... failed, see {ROOT}/log")


def sources_list():
    """An apt list of sources for them: of one release, so that the tests are the same whatever this system is."""
    if not os.path.isdir("/etc/apt"):
        raise unittest.SkipTest("MPICH's tests are taken from Debian by apt, which this system does not have")
    path = os.path.join(ROOT, "debian.list")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"deb-src http://deb.debian.org/debian {RELEASE} main\n")
    return path


def unpack(archive):
    """The parts of MPICH that are needed. Not by tar, which would need a program to decompress."""
    with tarfile.open(archive) as packed:
        packed.extractall(ROOT, [member for member in packed if re.match(r"[^/]+/(test/mpi|confdb)/", member.name)])


def fetch():
    """The directory of the tests' sources."""
    found = glob.glob(os.path.join(ROOT, "mpich-*", "test", "mpi"))
    if found:
        return found[0]
    lists = os.path.join(ROOT, "lists")
    os.makedirs(lists, exist_ok=True)
    apt = ["apt-get", "-o", f"Dir::Etc::sourcelist={sources_list()}", "-o", "Dir::Etc::sourceparts=-",
           "-o", f"Dir::State::lists={lists}"]
    step([*apt, "update"], ROOT)
    step([*apt, "source", "--download-only", "mpich"], ROOT)
    for archive in glob.glob(os.path.join(ROOT, "mpich_*.orig.tar.*")):
        unpack(archive)
    found = glob.glob(os.path.join(ROOT, "mpich-*", "test", "mpi"))
    if not found:
        raise unittest.SkipTest(f"Debian's mpich has no tests where they were, see {ROOT}")
    return found[0]


def correct(source):
    for name, there, right in CORRECTIONS:
        path = os.path.join(source, "coll", name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        corrected = re.sub(there, right, text)
        if corrected != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(corrected)


def listed(build):
    """[(program, ranks, arguments)] of the tests in question that could be built: of optional parts of MPI some cannot."""
    with open(os.path.join(build, "coll", "testlist"), encoding="ascii") as file:
        lines = [line.split() for line in file]
    tests = []
    for name, ranks, *more in (words for words in lines if len(words) > 1 and FAMILIES.match(words[0])):
        arguments = [word[len("arg="):] for word in more if word.startswith("arg=")]
        tests.append((os.path.join(build, "coll", name), int(ranks), arguments))
    return tests


def make(chosen=None):
    """listed(), or those of these names, built. One at a time: the scripts that use them may begin at once."""
    os.makedirs(ROOT, exist_ok=True)
    with open(os.path.join(ROOT, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _make(chosen)


def _make(chosen):
    build = os.path.join(ROOT, "build")
    source = fetch()
    correct(source)
    if not os.path.exists(os.path.join(build, "coll", "testlist")):
        os.makedirs(build, exist_ok=True)
        names = os.path.join(ROOT, "removed_names.h")
        with open(names, "w", encoding="ascii") as file:
            file.write(REMOVED_NAMES)
        step([os.path.join(source, "configure"), "--disable-fortran", "--disable-cxx", "--enable-strictmpi", "CC=mpicc",
              "CFLAGS=-O0", f"CPPFLAGS=-include {names}"], build)
    wanted = [test for test in listed(build) if chosen is None or os.path.basename(test[0]) in chosen]
    names = sorted({os.path.basename(path) for path, *_ in wanted})
    with open(os.path.join(ROOT, "log"), "ab") as log:
        subprocess.run(["make", "-k", "-j2", "-C", "coll", *names], cwd=build, stdout=log, stderr=log, check=False, timeout=TIMEOUT)
    return [test for test in wanted if os.path.exists(test[0])]
