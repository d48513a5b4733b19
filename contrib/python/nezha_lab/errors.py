# SPDX-License-Identifier: BSD-3-Clause
"""What the lab raises. Each text is one sentence for the user."""


class LabError(Exception):
    """A step that failed. status: what a command then ends with."""

    status = 1


class LabUsage(LabError):
    """A wrong argument; the status is argparse's own."""

    status = 2


class LabUnavailable(LabError):
    """This machine or this user cannot run a lab at all; tests skip with this text as the reason."""
