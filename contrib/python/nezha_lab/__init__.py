# SPDX-License-Identifier: BSD-3-Clause
"""An emulated cluster on one machine: network namespaces, shaped rails, faults, mpirun across it."""

from .errors import LabError, LabUnavailable
from .lab import Lab

__all__ = ["Lab", "LabError", "LabUnavailable"]
