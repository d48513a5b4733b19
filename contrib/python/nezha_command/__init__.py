# SPDX-License-Identifier: BSD-3-Clause
"""The installed command `nezha`: rails, doctor, tune, table, bench, report."""
