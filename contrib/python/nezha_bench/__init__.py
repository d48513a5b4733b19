# SPDX-License-Identifier: BSD-3-Clause
"""The comparison of Nezha with Open MPI, Gloo and the computed limit."""
