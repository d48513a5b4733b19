# SPDX-License-Identifier: BSD-3-Clause
"""Figures of the papers that Nezha follows, beside what its model gives for the same cluster."""
