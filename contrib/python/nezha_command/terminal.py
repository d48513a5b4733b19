# SPDX-License-Identifier: BSD-3-Clause
"""Output for people: colour and tables by rich on a terminal, plain aligned lines elsewhere and where rich is missing."""

import sys

from nezha_lab.leaving import quiet_if_lost, tell


def console(stream=None):
    """A rich Console when `stream` (standard output) is a terminal and rich is there, else None."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    try:
        from nezha_lab.console import Console
    except ModuleNotFoundError:
        return None
    return Console(file=stream, highlight=False)


def print_table(columns, rows, right=()):
    """Rows of (text, style) or text; columns named in `right` are aligned right."""
    cells = [[cell if isinstance(cell, tuple) else (cell, None) for cell in row] for row in rows]
    rich = console()
    if rich is None:
        for line in _plain(columns, cells, right):
            print(line)
        return
    from rich.table import Table
    from rich.text import Text
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(Text(name), justify="right" if name in right else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(text, style=style or "") for text, style in row))
    rich.print(table)


def _plain(columns, cells, right):
    texts = [list(columns)] + [[text for text, _ in row] for row in cells]
    widths = [max(map(len, column)) for column in zip(*texts)]
    for line in texts:
        yield "  ".join(text.rjust(width) if name in right else text.ljust(width)
                        for name, text, width in zip(columns, line, widths)).rstrip()


def say(text="", style=None):
    rich = console() if style else None
    if rich is None:
        print(text)
    else:
        rich.print(text, style=style, markup=False, soft_wrap=True)


class Progress:
    """What is under way, on standard error: one line that changes on a terminal, a line per step elsewhere. That may be lost
    meanwhile."""

    def __init__(self):
        self._rich = console(sys.stderr)
        self._status = self._rich.status("") if self._rich else None

    def __enter__(self):
        if self._status:
            with quiet_if_lost():
                self._status.start()
        return self

    def __exit__(self, *_):
        if self._status:
            with quiet_if_lost():
                self._status.stop()

    def step(self, text):
        if not self._status:
            return tell(f"nezha: {text}")
        with quiet_if_lost():
            self._status.update(text)
