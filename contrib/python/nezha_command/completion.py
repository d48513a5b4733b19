# SPDX-License-Identifier: BSD-3-Clause
"""Prints the completion of a shell, by shtab: python3 -m nezha_command.completion bash|zsh. For make."""

import sys

import shtab

from .cli import build_parser

if __name__ == "__main__":
    print(shtab.complete(build_parser(), sys.argv[1]))
