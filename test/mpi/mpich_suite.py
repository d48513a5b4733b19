# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's own tests of collectives, as Debian ships their source, built for the MPI that is here. They are kept in the build's
directory, so that a second run finds them."""

import fcntl
import glob
import os
import re
import shutil
import subprocess
import tarfile
import unittest

from mpi_case import BUILD
from nezha_lab import openmpi

ROOT = os.path.join(BUILD, "mpich-tests")
FAMILIES = re.compile(r"(allred|iallred|reduce|red|nbred|op|uop|longuser|allgather|bcast|coll\d|nbcoll|nonblocking|ibarrier|"
                      r"(nb)?ic(allreduce|allgather|bcast|reduce|barrier)|p_(allred|red|allgather|bcast|barrier|order))")
TESTS = 125  # in the list of RELEASE, of those families
# By Open MPI's series, the programs it cannot build: 4.1 has no persistent collectives by MPI 4.0's names.
NOT_BUILT = {4: re.compile("p_")}
# What a log has where something went wrong. configure says it of what it can do without, too, and first where it was at work.
WRONG = re.compile(r"^(?!libtool\.m4|\S*configure: line).*(?:\berror: (?!in [`'])|\*\*\* |: command not found|undefined reference).*$", re.M)
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
UNREACHABLE = re.compile("Could not resolve|Could not connect|Unable to connect|Connection failed|Temporary failure|timed out")
TIMEOUT = 900  # seconds for a step of fetching and building


def logged(argv, directory):
    """Runs it: its status, and what it printed, which the log keeps."""
    with open(os.path.join(ROOT, "log"), "a+b") as log:
        start = log.seek(0, os.SEEK_END)
        status = subprocess.run(argv, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=TIMEOUT,
                                check=False).returncode
        log.seek(start)
        return status, log.read().decode(errors="replace")


def first_error(output):
    found = WRONG.search(output)
    return f"{found[0].strip() if found else output.strip()[-200:]} (see {ROOT}/log)"


def download(argv):
    """A skip if it fails for want of a network, which is nobody's fault here."""
    status, output = logged(argv, ROOT)
    if status != 0:
        outcome = unittest.SkipTest if UNREACHABLE.search(output) else AssertionError
        raise outcome(f"MPICH's tests cannot be had: {argv[0]} {argv[-1]}: {first_error(output)}")


def sources_list():
    """An apt list of sources for them: of one release, so that the tests are the same whatever this system is."""
    if not os.path.isdir("/etc/apt"):
        raise unittest.SkipTest("MPICH's tests are taken from Debian by apt, which this system does not have")
    path = os.path.join(ROOT, "debian.list")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"deb-src http://deb.debian.org/debian {RELEASE} main\n")
    return path


def unpack(archive):
    """The parts of MPICH that are needed, all or none. Not by tar, which would need a program to decompress."""
    part = os.path.join(ROOT, "part")
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as packed:
        packed.extractall(part, [member for member in packed if re.match(r"[^/]+/(test/mpi|confdb)/", member.name)])
    for name in os.listdir(part):
        os.rename(os.path.join(part, name), os.path.join(ROOT, name))


def fetch():
    """The directory of the tests' sources."""
    found = glob.glob(os.path.join(ROOT, "mpich-*", "test", "mpi"))
    if found:
        return found[0]
    lists = os.path.join(ROOT, "lists")
    os.makedirs(lists, exist_ok=True)
    apt = ["apt-get", "-o", f"Dir::Etc::sourcelist={sources_list()}", "-o", "Dir::Etc::sourceparts=-",
           "-o", f"Dir::State::lists={lists}"]
    download([*apt, "update"])
    download([*apt, "source", "--download-only", "mpich"])
    for archive in glob.glob(os.path.join(ROOT, "mpich_*.orig.tar.*")):
        unpack(archive)
    found = glob.glob(os.path.join(ROOT, "mpich-*", "test", "mpi"))
    if not found:
        raise AssertionError(f"Debian's mpich has no tests where they were, see {ROOT}")
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


def configured(source):
    """The directory to build in. What a configure left that did not end is made anew."""
    build, names, done = (os.path.join(ROOT, name) for name in ("build", "removed_names.h", "configured"))
    if os.path.exists(done):
        return build
    shutil.rmtree(build, ignore_errors=True)
    os.makedirs(build)
    with open(names, "w", encoding="ascii") as file:
        file.write(REMOVED_NAMES)
    status, output = logged([os.path.join(source, "configure"), "--disable-fortran", "--disable-cxx", "--enable-strictmpi",
                             "CC=mpicc", "CFLAGS=-O0", f"CPPFLAGS=-include {names}"], build)
    if status != 0:
        raise AssertionError(f"MPICH's tests were not configured: {first_error(output)}")
    with open(done, "w", encoding="ascii"):
        return build


def name_of(test):
    return os.path.basename(test[0])


def listed(build, chosen=None):
    """[(program, ranks, arguments)] of the tests in question, or of the programs of these names. All that are known: a list
    that lost some must not pass for one whose tests all pass."""
    with open(os.path.join(build, "coll", "testlist"), encoding="ascii") as file:
        lines = [line.split() for line in file]
    tests = []
    for name, ranks, *more in (words for words in lines if len(words) > 1 and FAMILIES.match(words[0])):
        arguments = [word[len("arg="):] for word in more if word.startswith("arg=")]
        tests.append((os.path.join(build, "coll", name), int(ranks), arguments))
    if len(tests) != TESTS:
        raise AssertionError(f"{build}/coll/testlist has {len(tests)} of the {TESTS} tests known")
    lost = set(chosen or ()) - set(map(name_of, tests))
    if lost:
        raise AssertionError(f"{build}/coll/testlist has no {', '.join(sorted(lost))}")
    return [test for test in tests if chosen is None or name_of(test) in chosen]


def make(chosen=None):
    """listed(), built, but for what this Open MPI is known not to build. One at a time: the scripts that use them may begin at
    once."""
    os.makedirs(ROOT, exist_ok=True)
    with open(os.path.join(ROOT, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _make(chosen)


def _make(chosen):
    source = fetch()
    correct(source)
    build = configured(source)
    cannot = NOT_BUILT.get(openmpi.major())
    wanted = [test for test in listed(build, chosen) if not (cannot and cannot.match(name_of(test)))]
    names = sorted(set(map(name_of, wanted)))
    status, output = logged(["make", "-k", "-j2", "-C", "coll", *names], build)
    absent = [name for name in names if not os.path.exists(os.path.join(build, "coll", name))]
    if absent or status != 0:
        raise AssertionError(f"{len(absent)} of {len(names)} of MPICH's tests were not built ({', '.join(absent)}): "
                             f"{first_error(output)}")
    return wanted
