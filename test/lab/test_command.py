# SPDX-License-Identifier: BSD-3-Clause
"""The installed command as a whole: help, manual, completion, and messages that a launcher may mix; needs no lab."""

import argparse
import os
import shutil
import subprocess
import unittest

from command_case import COMMAND, MANUAL, CommandCase

from nezha_command import cli, letters


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

    def test_help_needs_no_packages(self):
        done = subprocess.run(["/usr/bin/python3", "-S", COMMAND, "--help"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_nothing_is_left_behind(self):
        """No compiled modules beside the installed ones, which uninstall would not know of."""
        self.nezha("--help")
        packages = os.path.join(os.path.dirname(COMMAND), "..", "share", "nezha", "python")
        self.assertTrue(os.listdir(packages))
        self.assertEqual([name for _, folders, _ in os.walk(packages) for name in folders if name == "__pycache__"], [])


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
    def test_bash(self):
        path = os.path.join(os.path.dirname(COMMAND), "..", "share", "bash-completion", "completions", "nezha")
        if not os.path.exists(path):
            self.skipTest("configure did not find shtab")
        script = (f"source {path}; COMP_WORDS=(nezha rails --hostf); COMP_CWORD=2; COMP_LINE='nezha rails --hostf'; "
                  "_shtab_nezha nezha --hostf rails; echo ${COMPREPLY[@]}")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
        self.assertIn("--hostfile", done.stdout, done.stderr)


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
