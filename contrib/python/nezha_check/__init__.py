# SPDX-License-Identifier: BSD-3-Clause
"""contrib/check: builds Nezha, runs all of its tests and counts every single case."""
