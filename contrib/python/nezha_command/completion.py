# SPDX-License-Identifier: BSD-3-Clause
"""Prints the completion of a shell, by shtab: python3 -m nezha_command.completion bash|zsh. For make."""

import argparse
import re
import sys

import shtab

from .cli import build_parser

_FILES = "FILE"  # the metavar of arguments that name files


def _mark_files(parser):
    """Without this a shell offers nothing where a file is wanted."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for own in action.choices.values():
                _mark_files(own)
        elif action.metavar == _FILES:
            action.complete = shtab.FILE


def _all_choices(script):
    """Words of a bash script of shtab in lines of one text. shtab 1.5 (Debian 12) reads the arrays that it has written as if they
    were texts, and so sees the first word alone; and it splits at ends of lines only, as later ones do, too."""
    def lines(found):
        words = re.findall(r"'([^']*)'", found[2])
        return f"{found[1]}=$'" + r"\n".join(words) + "'"

    return re.sub(r"(?m)^(\w+_choices)=\((.*)\)$", lines, script)


if __name__ == "__main__":
    tree = build_parser()
    _mark_files(tree)
    text = shtab.complete(tree, sys.argv[1])
    print(_all_choices(text) if sys.argv[1] == "bash" else text)
