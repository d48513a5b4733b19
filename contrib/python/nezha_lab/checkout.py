# SPDX-License-Identifier: BSD-3-Clause
"""Where this checkout is, for the tools of contrib/ that are not installed."""

import os

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
DEFAULT_BUILD = os.path.join(TOP, "build", "default")  # made by contrib/build
