# SPDX-License-Identifier: BSD-3-Clause
"""lab guest, as far as it goes without a guest: its command line, what it says where it cannot run, the initrd."""

import os
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

from lab_case import run_lab, script
from nezha_guest import Machine, Settings, initrd, packages
from nezha_guest.settings import MODULES
from nezha_lab import LabUnavailable
from nezha_lab.errors import LabUsage


class CommandLine(unittest.TestCase):
    def refused(self, status, words, *arguments, **options):
        done = run_lab("guest", *arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertIn(words, done.stderr)

    def test_the_command_is_needed(self):
        self.refused(2, "lab guest: what to run is missing: put it after --")

    def test_values(self):
        for option, value, words in (("--memory", "100", "memory '100': 512 to 65536 is allowed"),
                                     ("--processors", "0", "processors '0': 1 to 64 is allowed"),
                                     ("--timeout", "0", "timeout '0': 1 to 86400 is allowed"),
                                     ("--accelerator", "xen", "accelerator 'xen': tcg or kvm is allowed"),
                                     ("--share", "/no/such", "share '/no/such': there is no such directory")):
            self.refused(2, words, option, value, "--", "true")

    def test_without_qemu(self):
        with tempfile.TemporaryDirectory() as place:
            os.symlink(shutil.which("python3"), os.path.join(place, "python3"))
            self.refused(77, "the guest needs QEMU: apt-get install qemu-system-x86", "--", "true", env={"PATH": place})


class Packages(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def fetch(self, **programs):
        """With these shell scripts in the place of apt's commands."""
        for name, text in programs.items():
            script(self.place, name.replace("_", "-"), text)
        with mock.patch.dict(os.environ, PATH=f"{self.place}:{os.environ['PATH']}"):
            with mock.patch.object(packages, "KEYRING", "/dev/null"):
                return packages.fetch(self.place)

    def test_a_mirror_that_cannot_be_reached(self):
        with self.assertRaisesRegex(LabUnavailable, "could not be fetched: apt-get update .*: E: no route"):
            self.fetch(apt_get="echo 'E: no route' >&2; exit 100")
        with self.assertRaisesRegex(LabUnavailable, "W: Failed to fetch"):  # apt's own status is 0 then
            self.fetch(apt_get="echo 'W: Failed to fetch it' >&2")

    def test_a_suite_without_the_kernel(self):
        with self.assertRaisesRegex(LabUnavailable, "has no package linux-image-amd64"):
            self.fetch(apt_get="exit 0", apt_cache="echo linux-image-amd64")

    def test_fetched_once(self):
        get = f"for word; do case $word in linux-*) touch {self.place}/$word.deb; echo $word >> {self.place}/asked; esac; done"
        first = self.fetch(apt_get=get, apt_cache="echo '  Depends: linux-image-7.3.4+deb13-amd64'")
        self.assertEqual([os.path.basename(path) for path in first],
                         ["linux-binary-7.3.4+deb13-amd64.deb", "linux-modules-7.3.4+deb13-amd64.deb"])
        self.assertEqual(self.fetch(apt_get="exit 1"), first)


class Modules(unittest.TestCase):
    FILES = {"a": b"\0depends=b,c_d\0", "b": b"\0depends=\0", "c_d": b"\0license=GPL\0depends=b\0"}

    def test_behind_what_they_need(self):
        self.assertEqual([name for name, _ in initrd.in_order(self.FILES, ["a"])], ["b", "c_d", "a"])

    def test_each_once_and_what_is_built_in_not_at_all(self):
        self.assertEqual([name for name, _ in initrd.in_order(self.FILES, ["c-d", "gone", "a", "b"])], ["b", "c_d", "a"])

    def test_the_one_that_all_is_about(self):
        self.assertIn("rdma_rxe", MODULES)


@unittest.skipUnless(shutil.which("cpio"), "there is no cpio")
class Archives(unittest.TestCase):
    def test_cpio_reads_them(self):
        archive = initrd.Archive()
        archive.directory("place")
        archive.file("place/odd", b"12345")
        archive.file("place/empty", b"")
        with tempfile.TemporaryDirectory() as place:
            done = subprocess.run(["cpio", "-i", "--quiet"], input=archive.end(), cwd=place, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            with open(os.path.join(place, "place", "odd"), "rb") as file:
                self.assertEqual(file.read(), b"12345")
            self.assertEqual(os.path.getsize(os.path.join(place, "place", "empty")), 0)


class Settle(unittest.TestCase):
    def test_types(self):
        with self.assertRaisesRegex(LabUsage, "memory 'much'"):
            Settings(cache="/tmp", memory="much")

    def test_kvm_that_cannot_be_opened(self):
        with mock.patch("os.access", return_value=False), mock.patch("shutil.which", return_value="/bin/true"):
            with self.assertRaisesRegex(LabUnavailable, "accelerator 'kvm': /dev/kvm cannot be opened"):
                Machine(Settings(cache="/tmp", accelerator="kvm")).prepare()


class WithoutRdma(unittest.TestCase):
    @unittest.skipIf(os.path.isdir("/sys/class/infiniband"), "this kernel has RDMA")
    def test_the_lab_says_where_it_would_work(self):
        done = run_lab("up", "--nodes", "1", "--rdma")
        self.assertEqual(done.returncode, 77)
        self.assertIn("lab guest", done.stderr)


if __name__ == "__main__":
    unittest.main()
