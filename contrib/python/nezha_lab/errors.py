# SPDX-License-Identifier: BSD-3-Clause
"""What the lab raises. Each text is one sentence for the user."""


class LabError(Exception):
    """A wrong argument, or a step that failed."""


class LabUnavailable(LabError):
    """This machine or this user cannot run a lab at all; tests skip with this text as the reason."""
