# SPDX-License-Identifier: BSD-3-Clause
"""The installed command as a whole: help, manual, completion, and messages that a launcher may mix; needs no lab."""

import argparse
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from bench_case import TOP
from command_case import COMMAND, MANUAL, CommandCase
from lab_case import PYTHON_DIR
from report_case import lines

from nezha_bench.excerpt import excerpt
from nezha_command import cli, letters

LEARNED = os.path.join(TOP, "test", "tables", "learned.json")


def subcommands():
    """{name: parser} of those that have a help text."""
    verbs = next(action for action in cli.build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {entry.dest: verbs.choices[entry.dest] for entry in verbs._choices_actions}


def manual():
    with open(MANUAL, encoding="utf-8") as file:
        return file.read()


class Help(CommandCase):
    def test_help(self):
        text = self.nezha("--help")
        for name, parser in subcommands().items():
            self.assertRegex(text, rf"(?m)^    {name} ")
            own = self.nezha(name, "--help")
            self.assertIn(f"usage: nezha {name}", own)
            self.assertEqual(own, own.expandtabs())

    def test_version(self):
        self.assertRegex(self.nezha("--version"), r"^nezha \d+\.\d+\.\d+, for Open MPI \d+\.\d+")

    def test_wrong_arguments(self):
        self.nezha(status=2)
        self.nezha("no-such", status=2)

    def test_what_is_no_subcommand(self):
        done = subprocess.run([COMMAND, "raisl"], capture_output=True, text=True, check=False)
        self.assertRegex(done.stderr, "choose from '?rails'?, '?doctor")
        self.assertNotIn("on-node", done.stderr)

    def test_wrong_arguments_of_subcommands(self):
        for words, text in ((["bench", "--rounds", "0"], "1 or more is allowed"), (["bench", "--time", "nan"], "0 or more is allowed"),
                            (["bench", "--sizes", "4,x"], "size 'x'"), (["tune", "t", "--rounds", "0"], "1 or more is allowed"),
                            (["tune", "t", "--sizes", "3K"], "size 3072: powers of two are allowed"),
                            (["tune", "t", "--ways", "rings"], "--ways rings"), (["table", "show", "a", "b"], "show takes 1 file"),
                            (["tune", "t", "--ways", "single_step", "--sizes", "1M"], "no way of single_step is possible"),
                            (["rails", "--launcher", "srun 'a"], "--launcher srun 'a: No closing quotation"),
                            (["doctor", "--port", "99999"], "'99999': 1 to 65535 is allowed")):
            with self.subTest(words=words), tempfile.TemporaryDirectory() as place:
                done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False, cwd=place, stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_standard_output_that_is_full(self):
        """Whether it is told at once or when Python ends."""
        for words in (["table", "check", LEARNED], ["table", "show", LEARNED, "--json"], ["--help"]):
            for unbuffered in "", "1":
                with self.subTest(words=words, unbuffered=unbuffered), open("/dev/full", "w", encoding="utf-8") as full:
                    done = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                          env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
                    self.assertRegex(done.stderr, "^nezha( table)?: output cannot be written: No space left on device\n$")
                    self.assertEqual(done.returncode, 3)

    def test_standard_output_of_those_in_contrib_that_is_full(self):
        script = ("import sys; from nezha_lab.leaving import exit_status; sys.exit(exit_status('bench', lambda: print('a') or 0))")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": PYTHON_DIR})
        self.assertEqual((done.returncode, done.stderr), (1, "bench: output cannot be written: No space left on device\n"))

    def test_standard_output_that_is_closed(self):
        done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", COMMAND, "rails"], stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        self.assertEqual((done.returncode, done.stderr), (3, "nezha: standard output is closed\n"))

    def test_standard_error_that_is_closed(self):
        """What it would have had does not come among the JSON."""
        done = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", COMMAND, "doctor", "--json", "--launcher", "env"], stdout=subprocess.PIPE,
                              text=True, timeout=120, check=False)
        self.assertIn("findings", json.loads(done.stdout))

    def test_a_reader_that_has_gone(self):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([COMMAND, "table", "check", LEARNED], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
        os.close(write)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_standard_error_that_nobody_reads(self):
        """It is no end of standard output, which may not even have begun."""
        with tempfile.TemporaryDirectory() as place:
            trace = os.path.join(place, "job.trace")
            with open(trace, "w", encoding="utf-8") as file:
                file.write("\n".join(lines()) + "\n")
            for words in (["table", "show", "/nonexistent"], ["report", trace, "--rates", "eth7=1gbit", "-o", f"{trace}.html"]):
                read, write = os.pipe()
                os.close(read)
                done = subprocess.run([COMMAND, *words], stdout=subprocess.PIPE, stderr=write, text=True, check=False)
                os.close(write)
                with self.subTest(words=words):
                    self.assertEqual((done.returncode, done.stdout), (3, ""))

    def test_the_beginning_of_what_a_launcher_says(self):
        with tempfile.TemporaryDirectory() as place:
            launcher = os.path.join(place, "launcher")
            with open(launcher, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\nfor i in $(seq 400); do echo line $i; done >&2\nexit 1\n")
            os.chmod(launcher, 0o755)
            done = subprocess.run([COMMAND, "rails", "--launcher", launcher], capture_output=True, text=True, check=False)
        self.assertRegex(done.stderr, "no node has answered: line 1 line 2 .*letters are left out here.* line 399 line 400\n$")
        self.assertEqual(done.returncode, 3)

    def test_what_a_node_says_does_not_name_how_it_was_asked(self):
        done = subprocess.run([COMMAND, "rails", "--launcher", "env nezha_no_such=1 false"], capture_output=True, text=True, check=False)
        self.assertNotIn("on-node", done.stderr)
        done = subprocess.run([COMMAND, "on-node", "probe", "x"], capture_output=True, text=True, check=False)
        self.assertRegex(done.stderr, r"^nezha on \S+: 'x' is nothing that nezha has packed")

    def test_help_needs_no_packages(self):
        done = subprocess.run(["/usr/bin/python3", "-S", COMMAND, "--help"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_nothing_is_left_behind(self):
        """No compiled modules beside the installed ones, which uninstall would not know of."""
        self.nezha("--help")
        packages = os.path.join(os.path.dirname(COMMAND), "..", "share", "nezha", "python")
        self.assertTrue(os.listdir(packages))
        self.assertEqual([name for _, folders, _ in os.walk(packages) for name in folders if name == "__pycache__"], [])


class Excerpts(unittest.TestCase):
    def test_lines_that_tell_something_once(self):
        self.assertEqual(excerpt("-----\nNo such host: a\n\nNo such host: a\n=====\nbye  \n"), "No such host: a\nbye")

    def test_too_much(self):
        text = excerpt("\n".join(f"line {number}" for number in range(1000)), 200)
        self.assertRegex(text, r"(?s)^line 0\nline 1\n.*\n\[\d+ letters are left out here\]\n.*\nline 999$")
        self.assertLess(len(text), 260)


class Manual(unittest.TestCase):
    def test_every_subcommand_and_option(self):
        text = manual().replace("\\-", "-")
        for name, parser in subcommands().items():
            self.assertIn(f".SS nezha {name}\n", text)
            for option in (word for action in parser._actions for word in action.option_strings if word.startswith("--")):
                if option != "--help":
                    self.assertRegex(text, rf"{option}\b", name)

    def test_sound_roff(self):
        if shutil.which("groff") is None:
            self.skipTest("there is no groff here")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", MANUAL], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")


class Completion(CommandCase):
    """In an interactive bash, with what make install has put where bash-completion looks for it."""

    def setUp(self):
        self.script = os.path.join(os.path.dirname(COMMAND), "..", "share", "bash-completion", "completions", "nezha")
        if not os.path.exists(self.script):
            self.skipTest("configure did not find shtab")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = directory.name
        with open(os.path.join(self.place, "inputrc"), "w", encoding="ascii") as file:
            file.write("set bell-style none\nset enable-bracketed-paste off\nset show-all-if-ambiguous on\nset page-completions off\n")
        with open(os.path.join(self.place, "job.trace"), "w", encoding="ascii"):
            pass

    def typed(self, line):
        """What the terminal shows for a line that is typed, the lines of possible words among it."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.place)
            env = {"PATH": f"{os.path.dirname(COMMAND)}:{os.environ['PATH']}", "HOME": self.place, "TERM": "dumb", "PS1": "ready> ",
                   "INPUTRC": os.path.join(self.place, "inputrc"), "LANG": "C"}
            os.execvpe("bash", ["bash", "--noprofile", "--norc", "-i"], env)
        try:
            self.until(terminal, "ready> ")
            os.write(terminal, f"source {self.script}\n".encode())
            self.until(terminal, "nezha\r\nready> ")
            os.write(terminal, line.encode() + b"\x05 # typed")  # to the end of the line
            return self.until(terminal, "# typed")
        finally:
            os.close(terminal)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def until(self, terminal, end):
        self.shown = ""
        deadline = time.monotonic() + 30
        while not self.shown.endswith(end):
            ready = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]
            self.assertTrue(ready, f"bash shows {self.shown!r}, and not {end!r}")
            self.shown += os.read(terminal, 4096).decode(errors="replace")
        return self.shown

    def test_bash(self):
        for typed, shown in (("nezha re\t", "nezha report  # typed"), ("nezha doc\t", "nezha doctor  # typed"),
                             ("nezha table di\t", "nezha table diff  # typed"), ("nezha rails --hostf\t", "nezha rails --hostfile  # typed"),
                             ("nezha report jo\t", "nezha report job.trace  # typed"),
                             ("nezha bench --json jo\t", "nezha bench --json job.trace  # typed"),
                             ("nezha table show jo\t", "nezha table show job.trace  # typed")):
            with self.subTest(typed=typed):
                self.assertTrue(self.typed(typed).endswith(shown), self.shown)

    def test_all_subcommands_are_offered(self):
        words = self.typed("nezha \t").split()
        self.assertLessEqual(set(subcommands()), set(words), words)
        self.assertNotIn("on-node", words)


class Letters(unittest.TestCase):
    def lines(self, sender, message):
        read, write = os.pipe()
        letters.send(sender, 0, message, write)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as file:
            return file.readlines()

    def test_mixed_lines_come_together(self):
        first, second = {"a": "x" * 3000}, {"b": "y\n" * 2000}
        box, found = letters.Box(), {}
        for pair in zip(self.lines("n0", first), self.lines("n1", second)):
            for line in ("noise of somebody's\n", *pair):
                letter = box.take(line)
                if letter:
                    found[letter[0]] = letter[2]
        for line in self.lines("n1", second):
            letter = box.take(line)
            if letter:
                found[letter[0]] = letter[2]
        self.assertEqual(found, {"n0": first, "n1": second})

    def test_lines_that_srun_does_not_cut(self):
        """Of more than 1 KiB it makes two, between which others' may come."""
        lines = self.lines("n" * 255, {"a": "x" * 30000})
        self.assertLess(max(map(len, lines)), 1024)

    def test_a_line_that_was_cut_is_missing(self):
        lines = self.lines("n0", {"a": "x" * 3000})
        box = letters.Box()
        self.assertTrue(all(box.take(line) is None for line in [lines[0], lines[1][:20] + "\n", *lines[2:]]))


if __name__ == "__main__":
    unittest.main()
