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


# Likewise, in a directory that is no mount point, as one that debootstrap has made.
_ENTER_MERE = """
mount -t tmpfs tmpfs "$1"
root=$1/root
shift
mkdir "$root"
for place in /*; do
    if [ -L "$place" ]; then cp -a "$place" "$root$place"; elif [ -d "$place" ] && [ "$place" != /mnt ]; then
        mkdir "$root$place"
        mount --rbind "$place" "$root$place"
    fi
done
mkdir "$root/mnt"
echo inside > "$root/mnt/where"
exec chroot "$root" "$@"
"""


class Chroot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can change its root")
        make_lab(cls, nodes=1)  # for the skip, where there can be none

    def inside(self, script, enter=_ENTER):
        with tempfile.TemporaryDirectory() as root:
            argv = ["unshare", "--mount", "sh", "-ec", enter, "sh", root,
                    "sh", "-ec", f'cd /mnt; lab() {{ "{sys.executable}" "{LAB_COMMAND}" "$@"; }}; {script}']
            return subprocess.run(argv, cwd=HERE, capture_output=True, text=True, timeout=120)

    def test_mpirun_stays_on_every_node(self):
        done = self.inside("lab with --nodes 2 --rail none -- sh -c 'echo $(hostname) $(cat where)'")
        self.assertEqual((sorted(done.stdout.splitlines()), done.stderr), (["n0 inside", "n1 inside"], ""))

    def test_a_root_that_is_no_mount_point(self):
        done = self.inside("unshare --mount true || lab with --nodes 2 --rail none -- sh -c 'echo $(hostname) $(cat where)'", _ENTER_MERE)
        self.assertRegex(done.stderr, "^unshare: cannot change root filesystem propagation[^\n]*\n$")
        self.assertEqual(sorted(done.stdout.splitlines()), ["n0 inside", "n1 inside"])

    def test_nothing_of_it_is_seen_from_the_chroot(self):
        done = self.inside("before=$(cat /proc/self/mountinfo); lab with --nodes 1 --rail none -- true; "
                           'test "$before" = "$(cat /proc/self/mountinfo)" && echo same', _ENTER_MERE)
        self.assertEqual((done.stdout, done.stderr), ("same\n", ""))

    def test_exec_stays(self):
        done = self.inside("lab up inner --nodes 1 --rail none; trap 'lab down inner' EXIT; "
                           "lab exec inner n0 -- cat where; lab exec inner switch -- cat where; lab status inner")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[:3], ["inner", "inside", "inside"])
        self.assertRegex(done.stdout, r"n0 +eth0 .* up\n")


if __name__ == "__main__":
    unittest.main()
