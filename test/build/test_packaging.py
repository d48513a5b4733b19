#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What makes packages agrees with the build, without making any: versions, dependencies, and who has which file."""

import ast
import configparser
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("NEZHA_BUILD_DIR") or TOP / "build" / "check")
DEBIAN = TOP / "debian"
SPEC = TOP / "contrib" / "dist" / "nezha.spec"
SPACK = TOP / "contrib" / "dist" / "spack_repo" / "nezha"
RECIPE = SPACK / "packages" / "nezha" / "package.py"
DIST = TOP / "contrib" / "dist"
LUA = next(filter(None, map(shutil.which, ("lua5.4", "lua5.3", "lua"))), None)
# What Lmod has for module files, as a file that prints it all.
LMOD = """
function pathJoin(a, b) return a .. "/" .. b end
for _, name in ipairs{"prepend_path", "setenv"} do _G[name] = function(...) print(name, ...) end end
for _, name in ipairs{"whatis", "help", "depends_on"} do _G[name] = function(text) assert(type(text) == "string") end end
dofile(arg[1])
"""
# Where configure puts things for a package; %{...} of the spec and usr/lib of debian/*.install mean these.
PLACES = {"%{_docdir}": "usr/share/doc", "%{_bindir}": "usr/bin", "%{_libexecdir}": "usr/libexec",
          "%{_datadir}": "usr/share", "%{_mandir}": "usr/share/man"}
COMPONENT = {"usr/lib/component/mca_coll_nezha.so", "usr/share/openmpi/help-coll-nezha.txt"}


def read(path):
    return path.read_text(encoding="utf-8")


def make(target, place):
    """`make install` or `make uninstall` in `place` with a prefix of /usr; the directories of Open MPI are made up."""
    directories = {"prefix": "/usr", "libexecdir": "/usr/libexec", "componentdir": "/usr/lib/component",
                   "helptextdir": "/usr/share/openmpi", "docdir": "/usr/share/doc/nezha"}
    words = [f"{name}={value}" for name, value in directories.items()]
    # Else these might be made with that prefix, and stay.
    subprocess.run(["make", "-C", BUILD, "nezha", "nezha-aggregate.service"], capture_output=True, check=True)
    done = subprocess.run(["make", "-C", BUILD, f"DESTDIR={place}", *words, target], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]


def installed():
    with tempfile.TemporaryDirectory() as place:
        make("install", place)
        return {os.path.relpath(os.path.join(folder, name), place)
                for folder, _, names in os.walk(place) for name in names}


def debian_claims():
    """(package, what it takes): the first words of debian/*.install, each a path or a folder."""
    return [(path.stem, line.split()[0]) for path in sorted(DEBIAN.glob("*.install")) for line in read(path).splitlines()]


def spec_claims():
    """(package, what it takes) of the spec's %files sections."""
    claims = []
    for name, body in re.findall(r"^%files(?: -n (\S+))?[^\n]*\n(.*?)(?=^%|\Z)", re.sub(r"^%(license|doc) .*\n", "", read(SPEC),
                                                                                   flags=re.M).replace("%{", "\0{"), re.M | re.S):
        for line in filter(None, body.replace("\0{", "%{").splitlines()):
            for word, place in PLACES.items():
                line = line.replace(word, place)
            claims.append((name or "nezha", line))
    return claims


def in_spec_docs(path):
    """Whether it is documentation that the spec takes from the sources (%doc) in place of what is installed."""
    words = " ".join(re.findall(r"^%doc (.*)$", read(SPEC), re.M)).split()
    return path.startswith("usr/share/doc/") and any(fnmatch.fnmatch(os.path.basename(path), os.path.basename(word))
                                                     for word in words)


def takers(claims, path):
    return [package for package, what in claims if fnmatch.fnmatch(path, what) or path.startswith(what.rstrip("/") + "/")]


class Packaging(unittest.TestCase):
    def test_versions(self):
        version = re.search(r"AC_INIT\(\[nezha\], \[([\d.]+)\]", read(TOP / "configure.ac"))[1]
        self.assertEqual(re.match(r"nezha \(([^)]+)\)", read(DEBIAN / "changelog"))[1], version)
        self.assertEqual(re.search(r"^Version: +(\S+)$", read(SPEC), re.M)[1], version)
        self.assertRegex(read(SPEC).partition("%changelog\n")[2].splitlines()[0], rf" - {re.escape(version)}-\d+$")
        self.assertIn(f'version("{version}")', read(RECIPE))
        self.assertTrue(list(DIST.glob(f"Nezha-{version}-*.eb")))
        self.assertEqual(set(re.findall(r"\d+\.\d+\.\d+", re.sub(r"openmpi/\S+", "", read(DIST / "nezha.lua")))), {version})
        self.assertIn(f"\nversion: {version}\n", read(TOP / "CITATION.cff"))
        self.assertIn(f"\n## {version} - ", read(TOP / "CHANGELOG.md"))

    def test_each_file_has_one_package(self):
        files = installed()
        self.assertLessEqual(COMPONENT, files)
        for path in sorted(files):
            self.assertEqual(len(takers(debian_claims(), path)), 1, f"debian/*.install: {path}")
            self.assertEqual(len(takers(spec_claims(), path)) + in_spec_docs(path), path not in COMPONENT, f"nezha.spec: {path}")

    def test_each_claim_is_made_by_something(self):
        files = installed()
        for package, what in debian_claims() + spec_claims():
            self.assertTrue(any(takers([(package, what)], path) for path in files), f"{package}: {what}")

    def test_uninstall_leaves_no_directory_of_ours(self):
        with tempfile.TemporaryDirectory() as place:
            make("install", place)
            make("uninstall", place)
            self.assertEqual([folder for folder, _, _ in os.walk(place) if "nezha" in folder.removeprefix(place)], [])

    def test_debian_builds_with_what_a_build_needs(self):
        control = read(DEBIAN / "control")
        wanted = re.search(r'^build="(.*)"$', read(TOP / "contrib" / "install-packages"), re.M)[1].split()
        by_debhelper = {"autoconf", "automake", "libtool", "make", "pkg-config", "gcc", "g++"}
        depends = re.search(r"^Build-Depends:(.*?)^\S", control, re.M | re.S)[1]
        named = {line.split()[0].rstrip(",") for line in depends.splitlines() if line.strip()}
        self.assertLessEqual(set(wanted) - by_debhelper, named)

    def test_rails_over_libfabric_and_verbs(self):
        """Without the headers configure would leave them out; it is told that they have to be there."""
        debians = re.search(r'^debians=.*$', read(TOP / "contrib" / "install-packages"), re.M)[0]
        (easyconfig,) = DIST.glob("*.eb")
        for what, text, needs in (("debian", read(DEBIAN / "control") + read(DEBIAN / "rules"), ("libfabric-dev,", "libibverbs-dev,")),
                                  ("spec", read(SPEC), ("libfabric-devel ", "rdma-core-devel ")),
                                  ("Containerfile", read(DIST / "Containerfile"), ("libfabric-dev ", "libibverbs-dev")),
                                  ("Spack", read(RECIPE), ('"libfabric@', '"rdma-core@')),
                                  ("EasyBuild", read(easyconfig), ("'libfabric'", "'libibverbs-dev'"))):
            for word in (*needs, "--with-ofi", "--with-verbs"):
                self.assertIn(word, text, what)
        self.assertLessEqual({"libfabric-dev", "libibverbs-dev"}, set(debians.split()), "for the packages of contrib/check")

    def test_libraries_that_jobs_load(self):
        """No package is found to depend on them, as the component loads them when a job names their rails."""
        component = re.search(r"^Package: openmpi-nezha\n(.*?)^\n", read(DEBIAN / "control") + "\n", re.M | re.S)[1]
        suggested = re.search(r"^Suggests: (.*)$", component, re.M)[1].split(", ")
        self.assertLessEqual({"ibverbs-providers", "libfabric1", "libibverbs1"}, set(suggested))
        component = re.search(r"^%package -n openmpi-nezha\n(.*?)^%description", read(SPEC), re.M | re.S)[1]
        self.assertLessEqual({"libfabric", "libibverbs"}, set(re.findall(r"^Suggests: +(\S+)$", component, re.M)))
        for package in ("libfabric", "rdma-core"):
            self.assertRegex(read(RECIPE), rf'depends_on\("{package}@[^"]+", type=\("build", "link"\), when="\+')

    def test_licence(self):
        text = [line.strip(" .") for line in read(TOP / "LICENSE").splitlines()[3:]]
        words = " ".join(text).split()
        self.assertEqual([word for line in read(DEBIAN / "copyright").partition("License: BSD-3-Clause\n\nLicense:")[2]
                          .splitlines()[1:] for word in line.strip(" .").split()], words)

    def test_spack(self):
        """Spack itself is not here: that its recipes are Python, of the classes that their folders' names promise."""
        for folder in sorted((SPACK / "packages").iterdir()):
            tree = ast.parse(read(folder / "package.py"))
            classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
            self.assertEqual([node.name for node in classes], [folder.name.capitalize()])
            self.assertTrue(ast.get_docstring(classes[0]))
        self.assertRegex(read(SPACK / "repo.yaml"), r"(?m)^  namespace: nezha\n  api: v2\.")

    def test_easybuild(self):
        """EasyBuild itself is not here: that the file is Python, is called as its contents say, and names what is installed."""
        (path,) = DIST.glob("*.eb")
        found = {"SOURCELOWER_TAR_GZ": "", "SYSTEM": {}}
        exec(compile(read(path), path, "exec"), found)  # pylint: disable=exec-used
        chain = found["toolchain"]
        self.assertEqual(path.name, f"{found['name']}-{found['version']}-{chain['name']}-{chain['version']}.eb")
        files = {re.sub("^usr/(lib/component/)?", lambda match: "lib/openmpi/" if match[1] else "", name) for name in installed()}
        self.assertLessEqual(set(found["sanity_check_paths"]["files"]), files)
        for folder in found["sanity_check_paths"]["dirs"]:
            self.assertTrue(any(name.startswith(f"{folder}/") for name in files), folder)
        macros = "".join(read(path) for path in (TOP / "m4").glob("nezha_*.m4"))
        for name in re.findall(r"--with-([a-z]+)=", found["configopts"]):
            self.assertIn(f"AC_ARG_WITH([{name}]", macros)

    @unittest.skipUnless(LUA, "lua is not installed")
    def test_module_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write(LMOD)
            script.flush()
            done = subprocess.run([LUA, script.name, DIST / "nezha.lua"], capture_output=True, text=True, check=True)
        prefix = "/opt/nezha/0.1.0"
        self.assertEqual([tuple(line.split("\t")) for line in done.stdout.splitlines()], [
            ("prepend_path", "PATH", f"{prefix}/bin"), ("prepend_path", "MANPATH", f"{prefix}/share/man"),
            ("setenv", "OMPI_MCA_opal_mca_base_component_path", f"{prefix}/lib/openmpi:SYS_DEFAULT:USER_DEFAULT"),
            ("setenv", "OMPI_MCA_coll_nezha_enable", "1")])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed (systemd)")
    def test_unit(self):
        with tempfile.TemporaryDirectory() as place:
            unit = pathlib.Path(place) / "nezha-aggregate.service"
            unit.write_text(read(DIST / "nezha-aggregate.service.in").replace("@BINDIR@", str(BUILD)), encoding="utf-8")
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_unit_goes_on(self):
        """Until the network is there and its port is free, but not with wrong arguments; verbs rails may register memory."""
        sections = configparser.RawConfigParser(strict=True)
        sections.optionxform = str
        sections.read_string(read(DIST / "nezha-aggregate.service.in"))
        self.assertEqual(sections["Unit"]["StartLimitIntervalSec"], "0")
        for name, value in {"Restart": "on-failure", "RestartSec": "5", "RestartPreventExitStatus": "2",
                            "LimitMEMLOCK": "infinity"}.items():
            self.assertEqual(sections["Service"][name], value)

    def test_container(self):
        """It has what the package of the command recommends, and leads to files that are there."""
        recipe = read(DIST / "Containerfile").replace("\\\n", " ")
        recommended = re.search(r"^Recommends: (.*)$", read(DEBIAN / "control"), re.M)[1].split(", ")
        run_time = recipe.rpartition("\nFROM ")[2]
        self.assertLessEqual({"openmpi-bin", "python3", *recommended}, set(run_time.split()))
        for path in re.findall(r"contrib/[\w./-]+", recipe):
            self.assertTrue((TOP / path).exists(), path)

    @unittest.skipUnless(shutil.which("rpmspec"), "rpmspec is not installed (rpm)")
    def test_spec_is_read(self):
        done = subprocess.run(["rpmspec", "-q", "--qf", "%{NAME}\n", SPEC], capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout.split(), done.stderr), (["nezha", "openmpi-nezha"], ""))

    @unittest.skipUnless(shutil.which("rpmlint"), "rpmlint is not installed")
    def test_spec_by_rpmlint(self):
        done = subprocess.run(["rpmlint", SPEC], capture_output=True, text=True, check=False)
        complaints = re.findall(r"nezha\.spec.*: [EW]: (\S+)", done.stdout)
        # BuildRoot is of the past; the tarball has no address yet.
        self.assertLessEqual(set(complaints), {"no-buildroot-tag", "invalid-url"}, done.stdout)


if __name__ == "__main__":
    unittest.main()
