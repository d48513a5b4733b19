# SPDX-License-Identifier: BSD-3-Clause
"""Labs come and go: two at a time, and nothing of one stays however it ends."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

from lab_case import (DATAGRAMS, LAB_COMMAND, PYTHON_DIR, delivered, eventually, heed_ctrl_c, lab_processes, make_lab,
                      run_lab, script)
from nezha_lab import Lab, congestion, processes, state

# A lab with a sleeping process in each node; prints the lab's name and stays.
OWNER = textwrap.dedent("""
    import subprocess, sys, time
    sys.path.insert(0, sys.argv[1])
    from nezha_lab import Lab
    with Lab(nodes=2, rails=["1gbit"]) as lab:
        for node in (0, 1):
            subprocess.Popen([*lab.nsenter(node), "setsid", "sleep", "1000"])
        while len(lab.pids(program="sleep")) < 2:
            time.sleep(0.01)
        print(lab.name, flush=True)
        time.sleep(1000)
""")


def allowed_list():
    """Read under the lock that a lab holds while it changes the list, since others' labs may be coming up."""
    if not os.path.exists(congestion.ALLOWED):
        return None
    with open(congestion.ALLOWED, encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return file.read()


def inside(record):
    """Pids that are still in a lab's namespaces."""
    return list(processes.in_namespaces({*record["inodes"]}))


class LifeCase(unittest.TestCase):
    def setUp(self):
        make_lab(self, nodes=1, rails=["none"]).down()

    def assert_gone(self, record):
        self.assertTrue(eventually(lambda: not inside(record)), inside(record))
        self.assertTrue(eventually(lambda: not state.alive(record)))
        self.assertTrue(eventually(lambda: state.load(record["name"]) is None))
        self.assertTrue(eventually(lambda: not os.path.exists(record["place"])))

    def named(self, *arguments):
        """A lab that outlives its command, until the test is over."""
        done = run_lab("up", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        name = done.stdout.strip()
        self.addCleanup(run_lab, "down", name)
        return name


class Down(LifeCase):
    def test_with_block(self):
        with Lab(nodes=2, rails=["1gbit"]) as lab:
            record = lab.record
            process = subprocess.Popen([*lab.nsenter(1), "sleep", "1000"])
            self.assertTrue(eventually(lambda: lab.pids(1, "sleep")))
        self.assertEqual(process.wait(timeout=20), -signal.SIGKILL)
        self.assert_gone(record)

    def test_exception_in_with_block(self):
        with self.assertRaises(ZeroDivisionError):
            with Lab(nodes=2, rails=["1gbit"]) as lab:
                record = lab.record
                raise ZeroDivisionError
        self.assert_gone(record)

    def test_command(self):
        name = self.named("--nodes", "2")
        record = state.load(name)
        process = subprocess.Popen([*Lab.attach(name).nsenter(0), "sleep", "1000"])
        self.assertEqual(run_lab("down", name).returncode, 0)
        self.assertEqual(process.wait(timeout=20), -signal.SIGKILL)
        self.assert_gone(record)
        self.assertIn("there is no lab named", run_lab("down", name).stderr)

    def test_twice(self):
        lab = make_lab(self, nodes=1, rails=["none"])
        lab.down()
        lab.down()


class OwnerDies(LifeCase):
    def owner_ends_by(self, number):
        with subprocess.Popen([sys.executable, "-c", OWNER, PYTHON_DIR], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, preexec_fn=heed_ctrl_c) as owner:
            record = state.load(owner.stdout.readline().strip())
            self.assertEqual(len(inside(record)), 4, "two holders and two sleeping programs")
            owner.send_signal(number)
        self.assert_gone(record)

    def test_ctrl_c(self):
        self.owner_ends_by(signal.SIGINT)

    def test_sigterm(self):
        self.owner_ends_by(signal.SIGTERM)

    def test_sigkill(self):
        self.owner_ends_by(signal.SIGKILL)

    def lab_with_ends_by(self, number):
        """As from a terminal: the signal goes to the command and to mpirun alike."""
        command = [sys.executable, LAB_COMMAND, "with", "--nodes", "2", "--rail", "1gbit", "--", "sleep", "1000"]
        with subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, preexec_fn=heed_ctrl_c) as owner:
            self.assertTrue(eventually(state.names))
            name = state.names()[0]
            self.assertTrue(eventually(lambda: (state.load(name) or {}).get("ready")))
            lab = Lab.attach(name)
            self.assertTrue(eventually(lambda: len(lab.pids(program="sleep")) == 2))
            os.killpg(owner.pid, number)
            self.assertEqual(owner.wait(timeout=20), 128 + number)
        self.assert_gone(lab.record)

    def test_lab_with_ctrl_c(self):
        self.lab_with_ends_by(signal.SIGINT)

    def test_lab_with_sigterm(self):
        self.lab_with_ends_by(signal.SIGTERM)


class Interrupted(LifeCase):
    def test_while_it_comes_up(self):
        """A lab that is to stay, too: its name has not been told yet."""
        def ctrl_c(keeper, config):
            keeper.stdin.write(json.dumps(config) + "\n")
            keeper.stdin.flush()
            self.assertTrue(eventually(lambda: (state.load("unborn") or {}).get("ready")))
            raise KeyboardInterrupt

        with mock.patch("nezha_lab.lab._ask", ctrl_c), self.assertRaises(KeyboardInterrupt):
            Lab(nodes=1, rails=["none"], name="unborn").up()
        self.assertEqual(state.names(), [])
        self.assertTrue(eventually(lambda: not lab_processes()), lab_processes())


class KeeperDies(LifeCase):
    def test_down_takes_the_rest(self):
        name = self.named("--nodes", "2")
        lab = Lab.attach(name)
        record = lab.record
        process = subprocess.Popen([*lab.nsenter(0), "sleep", "1000"],
                                   env={**os.environ, processes.MARK: lab.new_mark()})
        self.assertTrue(eventually(lambda: lab.pids(0, "sleep")))
        os.kill(record["keeper"], signal.SIGKILL)
        self.assertTrue(eventually(lambda: not state.alive(record)))
        self.assertIn("keeper was killed", run_lab("list").stdout)
        self.assertIn("keeper of lab " + name + " was killed", run_lab("status", name).stderr)
        self.assertIn("take it down first", run_lab("up", name).stderr)
        self.assertEqual(run_lab("down", name).returncode, 0)
        self.assertEqual(process.wait(timeout=20), -signal.SIGKILL)
        self.assert_gone(record)


class BringUpFails(LifeCase):
    def test_nothing_stays(self):
        """tc fails after nodes and switches are there."""
        with tempfile.TemporaryDirectory() as directory:
            script(directory, "tc", "echo no buckets today >&2; exit 1")
            path = f"{directory}:{os.environ['PATH']}"
            done = run_lab("up", "never-up", env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "lab: tc failed: no buckets today\n")
        self.assertEqual(done.stdout, "")
        self.assertIsNone(state.load("never-up"))
        self.assertFalse(os.path.exists(state.mount_point("never-up")))
        self.assertTrue(eventually(lambda: not lab_processes()), lab_processes())

    def test_owner_killed_meanwhile(self):
        """At whatever point of the bring-up."""
        before = allowed_list()
        for milliseconds in range(0, 240, 40):
            with subprocess.Popen([sys.executable, "-c", OWNER, PYTHON_DIR], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL) as owner:
                try:
                    owner.wait(milliseconds / 1000)
                except subprocess.TimeoutExpired:
                    pass
                owner.kill()
        self.assertTrue(eventually(lambda: not lab_processes()), lab_processes())
        self.assertEqual(state.names(), [])
        self.assertEqual(allowed_list(), before)
        self.assertFalse([entry for entry in os.listdir(state.directory()) if entry != ".lock"])

    def test_name_is_taken(self):
        name = self.named("--nodes", "1")
        done = run_lab("up", name)
        self.assertEqual((done.returncode, done.stderr), (1, f"lab: lab {name} exists\n"))
        self.assertIn(name, run_lab("list").stdout)
        self.assertEqual(run_lab("exec", name, "n0", "--", "true").returncode, 0)


class Machine(LifeCase):
    def test_congestion_control_list_is_put_back(self):
        before = allowed_list()
        with Lab(nodes=1, rails=["none"]) as lab:
            self.assertEqual(allowed_list(), before)
            changeable = os.access(congestion.ALLOWED, os.W_OK)
            self.assertIn(lab.record["congestion"], ("cubic",) if changeable else ("cubic", "reno"))

    def test_hosts_file_is_not_touched(self):
        with open("/etc/hosts", encoding="utf-8") as file:
            before = file.read()
        with Lab(nodes=2, rails=["none"]) as lab:
            done = lab.exec(1, ["sh", "-c", "getent hosts n0; hostname"], capture_output=True, text=True)
            self.assertEqual(done.stdout.split(), ["10.9.0.1", "n0", "n1"])
            with open("/etc/hosts", encoding="utf-8") as file:
                self.assertEqual(file.read(), before)


class TwoLabs(LifeCase):
    def test_same_addresses_no_contact(self):
        first = make_lab(self, nodes=2, rails=["none"])
        second = make_lab(self, nodes=2, rails=["none"])
        seen = first.nic_bytes(1, 0).received
        self.assertEqual(delivered(second, 0, 1, 0), DATAGRAMS)
        self.assertLess(first.nic_bytes(1, 0).received - seen, DATAGRAMS * 20)
        first.cut(0)
        self.assertEqual(delivered(second, 0, 1, 0), DATAGRAMS)
        self.assertEqual(delivered(first, 0, 1, 0), 0)
        first.down()
        self.assertEqual(delivered(second, 0, 1, 0), DATAGRAMS)


class Wrong(unittest.TestCase):
    """One sentence each: which argument, which value, what is allowed."""

    def says(self, words, *arguments, status=2):
        done = run_lab(*arguments)
        self.assertEqual(done.returncode, status)
        self.assertEqual(done.stderr, f"lab: {words}\n")

    def test_arguments(self):
        rates = "a number with bit, kbit, mbit or gbit is allowed (500mbit), or none"
        self.says("nodes '0': 1 to 128 is allowed", "up", "--nodes", "0")
        self.says(f"rail rate 'fast': {rates}", "up", "--rail", "fast")
        self.says("node rate '1:0': NODE:RAIL:RATE is allowed, such as 2:1:500mbit", "up", "--node-rate", "1:0")
        self.says("node '7': 0 to 3 is allowed (n0 to n3 too)", "up", "--node-rate", "7:0:1gbit")
        self.says("rail 'eth2': 0 to 1 is allowed (eth0 to eth1 too)", "up", "--node-rate", "0:eth2:1gbit")
        self.says("hub '1': RAIL:NODE is allowed, such as 2:4", "up", "--hub", "1")
        self.says("NAME 'A/b': small letters, digits and '-' are allowed, at most 31, not '-' first", "up", "A/b")
        self.says("there is no lab named nowhere (lab list shows what there is)", "cut", "nowhere", "--rail", "0", status=1)
        self.says("lab run: what to run is missing: put it after --", "run", "nowhere")
        self.says("lab list: nothing is allowed after --", "list", "--", "true")


if __name__ == "__main__":
    unittest.main()
