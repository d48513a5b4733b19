# SPDX-License-Identifier: BSD-3-Clause
"""What the model raises for input that it cannot use."""


class PlanError(Exception):
    """One sentence for the user: which field or option, which value, what is allowed."""
