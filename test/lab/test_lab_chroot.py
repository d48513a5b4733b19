# SPDX-License-Identifier: BSD-3-Clause
"""The lab within a chroot: what runs in its nodes stays in there."""

import os
import subprocess
import sys
import tempfile
import unittest

from lab_case import HERE, LAB_COMMAND, make_lab

# $1 is where the other root is put together from this one, with a /mnt that only it has; the rest is run in it.
_ENTER = """
root=$1
shift
mount --rbind / "$root"
mount -t tmpfs tmpfs "$root/mnt"
echo inside > "$root/mnt/where"
exec chroot "$root" "$@"
"""


class Chroot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can change its root")
        make_lab(cls, nodes=1)  # for the skip, where there can be none

    def inside(self, script):
        with tempfile.TemporaryDirectory() as root:
            argv = ["unshare", "--mount", "sh", "-ec", _ENTER, "sh", root,
                    "sh", "-ec", f'cd /mnt; lab() {{ "{sys.executable}" "{LAB_COMMAND}" "$@"; }}; {script}']
            return subprocess.run(argv, cwd=HERE, capture_output=True, text=True, timeout=120)

    def test_mpirun_stays_on_every_node(self):
        done = self.inside("lab with --nodes 2 --rail none -- sh -c 'echo $(hostname) $(cat where)'")
        self.assertEqual((sorted(done.stdout.splitlines()), done.stderr), (["n0 inside", "n1 inside"], ""))

    def test_exec_stays(self):
        done = self.inside("lab up inner --nodes 1 --rail none; trap 'lab down inner' EXIT; "
                           "lab exec inner n0 -- cat where; lab exec inner switch -- cat where; lab status inner")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[:3], ["inner", "inside", "inside"])
        self.assertRegex(done.stdout, r"n0 +eth0 .* up\n")


if __name__ == "__main__":
    unittest.main()
