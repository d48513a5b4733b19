# SPDX-License-Identifier: BSD-3-Clause
"""The lab without root, as the user nobody, and clear refusals where a lab cannot be."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

from lab_case import HERE, LAB_COMMAND, PYTHON_DIR, eventually
from nezha_lab import processes, state

NOBODY = pwd.getpwnam("nobody")
DROP = ["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups"]


class AsNobody(unittest.TestCase):
    """With a copy of the lab that nobody may read, wherever the checkout is."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("only root can become nobody; as another user all the lab's tests are without root")
        if shutil.which("setpriv") is None:
            raise unittest.SkipTest("there is no setpriv here")
        cls.directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        os.chmod(cls.directory, 0o755)
        cls.state = os.path.join(cls.directory, "state")
        os.mkdir(cls.state)
        os.chown(cls.state, NOBODY.pw_uid, NOBODY.pw_gid)
        shutil.copytree(PYTHON_DIR, os.path.join(cls.directory, "contrib", "python"))
        shutil.copy(LAB_COMMAND, os.path.join(cls.directory, "contrib"))
        shutil.copytree(HERE, os.path.join(cls.directory, "test", "lab"))
        subprocess.run(["chmod", "-R", "a+rX", cls.directory], check=True)
        cls.python = "/usr/bin/python3"

    @classmethod
    def environment(cls):
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG")}
        return {**kept, "HOME": "/tmp", state.DIRECTORY_VARIABLE: cls.state}

    @classmethod
    def run_as_nobody(cls, argv):
        return subprocess.run([*DROP, *argv], cwd=cls.directory, env=cls.environment(),
                              capture_output=True, text=True, timeout=120)

    @classmethod
    def lab(cls, *arguments):
        return cls.run_as_nobody([cls.python, os.path.join(cls.directory, "contrib", "lab"), *arguments])

    def must(self, *arguments):
        done = self.lab(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


class Works(AsNobody):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = cls.lab("with", "--nodes", "1", "--rail", "none", "--", "true")
        if done.returncode == 77:
            raise unittest.SkipTest(done.stderr)

    def test_up_faults_run_down(self):
        self.must("up", "mine", "--nodes", "2", "--rail", "1gbit", "--rail", "none")
        self.addCleanup(self.lab, "down", "mine")
        with open(os.path.join(self.state, "mine.json"), encoding="utf-8") as file:
            record = json.load(file)
        self.assertEqual(self.must("exec", "mine", "n1", "--", "sh", "-c", "hostname; cd /sys/class/net; echo *"),
                         "n1\neth0 eth1 lo mgmt\n")
        self.must("cut", "mine", "--rail", "1", "--node", "n0")
        self.must("silence", "mine", "--rail", "0", "--node", "1")
        self.must("rate", "mine", "--rail", "0", "300mbit")
        self.must("halfopen", "mine", "--rail", "0", "--from", "0", "--to", "1")
        rows = [line.split()[1:] for line in self.must("status", "mine").splitlines()[1:]]
        self.assertEqual(rows, [["eth0", "10.10.0.1", "300mbit", "up"], ["eth1", "10.11.0.1", "none", "cut"],
                                ["eth0", "10.10.0.2", "300mbit", "silent"], ["eth1", "10.11.0.2", "none", "up"]])
        self.assertIn("PERMANENT", self.must("exec", "mine", "n0", "--", "ip", "neigh", "show", "dev", "eth0"))
        self.assertEqual(sorted(self.must("run", "mine", "--", "hostname").split()), ["n0", "n1"])
        self.must("down", "mine")
        self.assertTrue(eventually(lambda: not processes.in_namespaces({*record["inodes"]})))
        self.assertEqual([entry for entry in os.listdir(self.state) if entry != ".lock"], [])

    def test_files_are_the_users(self):
        self.must("with", "--nodes", "2", "--rail", "none", "--", "sh", "-c", f"touch {self.state}/$(hostname)")
        for node in ("n0", "n1"):
            self.assertEqual(os.stat(os.path.join(self.state, node)).st_uid, NOBODY.pw_uid)
            os.unlink(os.path.join(self.state, node))

    def test_fault_tests_pass(self):
        """The tests of the verbs themselves: each has its effect without root too."""
        done = self.run_as_nobody([self.python, "contrib/python/nezha_lab/tap.py", "test/lab/test_lab_faults.py"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(done.stdout.count("\nok "), 8, done.stdout)

    def test_python(self):
        script = textwrap.dedent("""
            import sys
            sys.path.insert(0, "contrib/python")
            from nezha_lab import Lab
            with Lab(nodes=2, rails=["none"]) as lab:
                before = lab.nic_bytes(0, 0).received
                lab.exec(1, [sys.executable, "test/lab/traffic.py", "send", "10.10.0.1", "10"], check=True)
                print(lab.nic_bytes(0, 0).received - before >= 10 * 29)
        """)
        done = self.run_as_nobody([self.python, "-c", script])
        self.assertEqual((done.stdout, done.stderr), ("True\n", ""))


class Refused(AsNobody):
    def test_no_user_namespaces(self):
        """In a user namespace that allows no further ones, as a kernel does that has them switched off."""
        # The second shell is root in the namespace, which the first, started before root was mapped, is not.
        wait, close = 'echo made; read go; exec "$@"', 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
        argv = ["unshare", "--user", "sh", "-c", wait, "sh", "sh", "-c", close, "sh",
                *DROP, self.python, "contrib/lab", "up"]
        with subprocess.Popen(argv, cwd=self.directory, env=self.environment(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            if process.stdout.readline() != "made\n":
                self.skipTest(f"root cannot make a user namespace here: {process.communicate()[1]}")
            for kind in ("uid", "gid"):
                with open(f"/proc/{process.pid}/{kind}_map", "w", encoding="ascii") as file:
                    file.write("0 0 65536")
            output, errors = process.communicate("go\n", timeout=60)
        done = subprocess.CompletedProcess(argv, process.returncode, output, errors)
        self.assertEqual(done.returncode, 77)
        self.assertRegex(done.stderr, r"^lab: the lab needs namespaces, and this kernel does not let an ordinary user "
                                      r"make them \(.*\): run as root, or .*max_user_namespaces.*\n$")
        self.assertEqual(done.stdout, "")

    def test_root_without_capabilities(self):
        bare = ["setpriv", "--bounding-set=-sys_admin,-net_admin", "--inh-caps=-sys_admin,-net_admin"]
        done = subprocess.run([*bare, sys.executable, LAB_COMMAND, "up"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 77)
        self.assertRegex(done.stderr, r"^lab: the lab needs .* does not let this root make them .* CAP_SYS_ADMIN .*\n$")

    def test_missing_tools(self):
        with tempfile.TemporaryDirectory() as directory:
            for tool in ("unshare", "nsenter", "mount", "hostname"):
                os.symlink(shutil.which(tool), os.path.join(directory, tool))
            script = ("import sys; sys.path.insert(0, sys.argv[1]); from nezha_lab import tools; "
                      "tools.add_system_paths = lambda: None; from nezha_lab.cli import main; sys.exit(main(['up']))")
            done = subprocess.run([sys.executable, "-c", script, PYTHON_DIR], env={"PATH": directory},
                                  capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (77, "lab: missing ip, tc, bridge: apt-get install iproute2\n"))


if __name__ == "__main__":
    unittest.main()
