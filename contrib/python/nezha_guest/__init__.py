# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine with a kernel of another Debian and this machine's files: for what the kernel here has no module for."""

from .machine import Machine
from .settings import Settings

__all__ = ["Machine", "Settings"]
