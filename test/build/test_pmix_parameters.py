#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which file of PMIx's parameters `make install` adds to: by configure, for an Open MPI that calls itself 5.0."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
HIDING = "mca_base_component_path = /usr/lib/pmix\n"
OMPI_INFO = """#!/bin/sh
case "$1 $2" in
    "--version ") echo "Open MPI v5.0.9"; exit ;;
    "--path prefix") echo "path:prefix:{prefix}"; exit ;;
    "--path pkgincludedir") echo "path:pkgincludedir:{include}/openmpi"; exit ;;
    "--path pkglibdir") echo "path:pkglibdir:{prefix}/lib/openmpi"; exit ;;
esac
exec {real} "$@"
"""
MPICC = """#!/bin/sh
[ "$1" != --showme:version ] || {{ echo "mpicc: Open MPI 5.0.9 (Language: C)"; exit; }}
exec {real} "$@"
"""
# configure reads the version here, and the compiler does not: the headers are those of this machine's Open MPI.
VERSION = "/*\n#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n#define OMPI_RELEASE_VERSION 9\n*/\n"
PMIX = "prefix={prefix}\nName: pmix\nDescription: another package's\nVersion: 4\nLibs: -L{prefix}/lib\nCflags: -I{prefix}/include\n"


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class PmixParameters(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.pmix = self.work / "pmix"
        (self.pmix / "lib" / "pkgconfig").mkdir(parents=True)
        (self.pmix / "lib" / "pkgconfig" / "pmix.pc").write_text(PMIX.format(prefix=self.pmix), encoding="utf-8")
        self.hide(self.pmix)

    def hide(self, prefix):
        """A file of PMIx's parameters under `prefix` that has mpirun look elsewhere."""
        (prefix / "etc").mkdir(parents=True)
        (prefix / "etc" / "pmix-mca-params.conf").write_text(HIDING, encoding="utf-8")

    def open_mpi(self, prefix):
        """configure's option for an Open MPI 5.0 that says it lies in `prefix`."""
        self.include = self.work / "include"
        paths = subprocess.run(["ompi_info", "--path", "incdir", "--parsable"], capture_output=True, text=True, check=True).stdout
        shutil.copytree(paths.strip().split(":")[2], self.include)
        with open(self.include / "mpi.h", "r+", encoding="utf-8") as header:
            text = re.sub("#(define OMPI_(MAJOR|MINOR|RELEASE)_VERSION)", r"# \1", header.read())
            header.seek(0)
            header.write(VERSION + text)
        program(self.work / "ompi" / "bin" / "ompi_info",
                OMPI_INFO.format(prefix=prefix, include=self.include, real=shutil.which("ompi_info")))
        program(self.work / "ompi" / "bin" / "mpicc", MPICC.format(real=shutil.which("mpicc")))
        return f"--with-ompi={self.work / 'ompi'}"

    def file_of(self, *options):
        """What configure has found, without the prefix of this test."""
        build = self.work / "build"
        build.mkdir()
        done = subprocess.run([TOP / "configure", *options], cwd=build, capture_output=True, text=True, check=False,
                              env={**os.environ, "PKG_CONFIG_PATH": str(self.pmix / "lib" / "pkgconfig")})
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.search("^component_path_file = (.*)$", (build / "Makefile").read_text(encoding="utf-8"), re.M)[1]
        return found.replace(str(self.work), "").strip()

    def test_another_package_of_pmix(self):
        """Open MPI has a PMIx of its own, and so nothing to do with the file of the package."""
        option = self.open_mpi(self.work / "ompi")
        (self.include / "pmix.h").touch()
        self.assertEqual(self.file_of(option, "--with-componentdir=system"), "")

    def test_a_pmix_of_its_own(self):
        option = self.open_mpi(self.work / "ompi")
        (self.include / "pmix.h").touch()
        self.hide(self.work / "ompi")
        self.assertEqual(self.file_of(option, "--with-componentdir=system"), "/ompi/etc/pmix-mca-params-override.conf")

    def test_without_a_prefix(self):
        """/usr/local is where Open MPI lies, too."""
        self.assertEqual(self.file_of(self.open_mpi("/usr/local")), "/pmix/etc/pmix-mca-params-override.conf")


if __name__ == "__main__":
    unittest.main()
