# SPDX-License-Identifier: BSD-3-Clause
"""The files that nezha plan writes: a table for the component, and a page."""

import datetime
import json
import os

from nezha_bench import files

from . import ask, installed
from .errors import CommandError


def write_table(path, clusters):
    """As files.write() does it. CommandError where the file is another's, as a rules file of Open MPI's, or has what was measured."""
    from nezha_plan import rules
    if os.path.exists(path) and os.path.getsize(path) > 0 and (ask.table(path).get("refused") or _measured(path, rules)):
        raise CommandError(f"--table {path}: the file is there, and not a table that was only planned; name another one")
    return files.write(path, json.dumps(rules.document(clusters, installed.VERSION), indent=2) + "\n", _refused)


def _measured(path, rules):
    try:
        with open(path, encoding="utf-8") as file:
            return rules.measured(json.load(file))
    except (OSError, ValueError):
        return True


def _refused(scratch):
    try:
        return ask.table(scratch).get("refused")
    except CommandError as error:
        return str(error)


def write_page(path, plans, source):
    """As files.write() does it."""
    try:
        from . import plan_page
    except ModuleNotFoundError as error:
        raise CommandError(f"Python's module {error.name} is missing: install python3-{error.name}") from None
    now = datetime.datetime.now().astimezone()
    return files.write(path, plan_page.make(plans, source).text(f"nezha {installed.VERSION}, {now:%Y-%m-%d %H:%M}"))
