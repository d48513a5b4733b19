#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What configure says where something is missing or does not fit: one sentence with what to install. Prints TAP."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]

OLD_COMPILER = """#!/bin/sh
case " $* " in *gnu++20*) echo "no such standard" >&2; exit 1 ;; esac
exec g++ "$@"
"""
# That of g++ 10 reads no floating-point numbers.
OLD_LIBRARY = """#include <charconv>
#define from_chars(first, last, value, ...) from_chars(first, last, static_cast<int&>(value))
"""
OLD_PYTHON = """#!/bin/sh
exec /usr/bin/python3 -c 'import sys; sys.version_info = (3, 9, 0); exec(sys.argv[1])' "$2"
"""
OTHER_OMPI_INFO = """#!/bin/sh
case "$1 $2" in
    "--version ") echo "Open MPI v$FAKE_VERSION"; exit ;;
    "--path pkgincludedir") echo "path:pkgincludedir:$FAKE_HEADERS"; exit ;;
esac
exec "$REAL_OMPI_INFO" "$@"
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def ompi_path(name):
    answer = subprocess.run(["ompi_info", "--path", name, "--parsable"], capture_output=True, text=True, check=True)
    return answer.stdout.strip().split(":")[2]


def fake_ompi(work, version=None, headers=None):
    """Environment and option for an Open MPI whose ompi_info tells another version or place of the headers."""
    real_headers = ompi_path("pkgincludedir")
    real_version = re.search(r"v([\d.]+)", subprocess.run(["ompi_info", "--version"], capture_output=True, text=True,
                                                         check=True).stdout)[1]
    prefix = work / "ompi"
    script(prefix / "bin" / "ompi_info", OTHER_OMPI_INFO)
    mpicc = prefix / "bin" / "mpicc"
    if not mpicc.exists():
        mpicc.symlink_to(shutil.which("mpicc"))
    env = {"FAKE_VERSION": version or real_version, "FAKE_HEADERS": str(headers or real_headers),
           "REAL_OMPI_INFO": shutil.which("ompi_info")}
    return env, [f"--with-ompi={prefix}"]


def newer_ompi(work):
    """Environment and option for an Open MPI that calls itself 6.0.1, headers and wrapper too."""
    copy = work / "newer"
    shutil.copytree(pathlib.Path(ompi_path("pkgincludedir")).parent, copy / "include")
    header = copy / "include" / "mpi.h"
    text = header.read_text(encoding="utf-8")
    for part, number in (("MAJOR", 6), ("MINOR", 0), ("RELEASE", 1)):
        text = re.sub(rf"(#define OMPI_{part}_VERSION) +\d+", rf"\1 {number}", text)
    header.write_text(text, encoding="utf-8")
    env, _ = fake_ompi(copy, "6.0.1", copy / "include" / "openmpi")
    (copy / "ompi" / "bin" / "mpicc").unlink()
    script(copy / "ompi" / "bin" / "mpicc", "#!/bin/sh\necho 'mpicc: Open MPI 6.0.1 (Language: C)'\n")
    return env, [f"--with-ompi={copy / 'ompi'}"]


def other_headers(work):
    """Open MPI's headers, with the member that the component sets renamed."""
    copy = work / "headers"
    shutil.copytree(pathlib.Path(ompi_path("pkgincludedir")).parent, copy)
    header = copy / "openmpi" / "ompi" / "mca" / "coll" / "coll.h"
    header.write_text(header.read_text(encoding="utf-8").replace("coll_allreduce;", "coll_renamed;"), encoding="utf-8")
    return copy / "openmpi"


def samples(work):
    """(what is wrong, environment, options, what the sentence must name)"""
    only_nettle = work / "pkgconfig"
    only_nettle.mkdir()
    folder = subprocess.run(["pkg-config", "--variable=pcfiledir", "nettle"], capture_output=True, text=True,
                            check=True).stdout.strip()
    shutil.copy(f"{folder}/nettle.pc", only_nettle)
    old_library = work / "old_library.h"
    old_library.write_text(OLD_LIBRARY, encoding="utf-8")
    return [
        ("an old C++ compiler", {"CXX": str(script(work / "old-c++", OLD_COMPILER))}, [], r"C\+\+20: install g\+\+"),
        ("an old C++ library", {"CXX": f"g++ -include {old_library}"}, [], r"C\+\+20: install g\+\+ 11"),
        ("an old Python", {"PYTHON": str(script(work / "old-python", OLD_PYTHON))}, [], r"no Python 3\.11.*by PYTHON="),
        ("no pkg-config", {"PKG_CONFIG": "/nonexistent"}, [], "install pkg-config"),
        ("no nettle", {"PKG_CONFIG_LIBDIR": "/nonexistent"}, [], "install nettle-dev"),
        ("no hwloc", {"PKG_CONFIG_LIBDIR": str(only_nettle)}, [], "install libhwloc-dev"),
        ("no Open MPI", {}, ["--with-ompi=/nonexistent"], "install Open MPI"),
        ("no component headers", *fake_ompi(work, headers="/nonexistent"), "install libopenmpi-dev"),
        ("headers of another version", *fake_ompi(work, version="4.1.99"), r"4\.1\.99.* different versions: install"),
        ("an Open MPI to come", *newer_ompi(work), r"6\.0\.1 has another interface.*install 4\.1 or 5\.0"),
        ("headers that do not fit", *fake_ompi(work, headers=other_headers(work)), "do not compile as a component"),
        ("an unknown sanitizer", {}, ["--enable-sanitizer=memory"], "not \"memory\""),
        ("an unknown place", {}, ["--with-componentdir=here"], "not \"here\""),
    ]


def complaint(work, extra, options, pattern):
    """Why configure's answer is not the right one, None if it is."""
    build = pathlib.Path(tempfile.mkdtemp(dir=work))
    answer = subprocess.run([TOP / "configure", *options], cwd=build, env={**os.environ, **extra}, capture_output=True,
                            text=True, check=False)
    errors = [line for line in answer.stderr.splitlines() if "error:" in line]
    if answer.returncode == 0 or (build / "Makefile").exists():
        return "configure went through"
    if len(errors) != 1 or not re.search(pattern, errors[0]):
        return f"it said {errors}"
    return None


def notice_is_wrong(work, options, expected):
    """Why configure's notice about a place where Open MPI does not look is not as it should be, None if it is."""
    build = pathlib.Path(tempfile.mkdtemp(dir=work))
    answer = subprocess.run([TOP / "configure", *options], cwd=build, capture_output=True, text=True, check=False)
    found = re.findall(r"Open MPI will not look for the component in (.*)\.\n", answer.stdout)
    return None if answer.returncode == 0 and found == expected else f"status {answer.returncode}, it names {found}"


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        cases = samples(work)
        prefix = work / "prefix"
        below = os.path.relpath(ompi_path("pkglibdir"), ompi_path("prefix"))
        checks = [(what, lambda case=case: complaint(work, *case)) for what, *case in cases] + [
            ("a place that Open MPI does not know", lambda: notice_is_wrong(work, [f"--prefix={prefix}"], [f"{prefix}/{below}"])),
            ("the place that it knows", lambda: notice_is_wrong(work, ["--with-componentdir=system"], []))]
        print(f"1..{len(checks)}", flush=True)
        for number, (what, check) in enumerate(checks, 1):
            wrong = check()
            print(f"{'not ok' if wrong else 'ok'} {number} - {what}", flush=True)
            if wrong:
                print(f"# {wrong}")


main()
