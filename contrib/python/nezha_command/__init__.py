# SPDX-License-Identifier: BSD-3-Clause
"""The installed command `nezha`: rails, doctor, table, bench, report."""
