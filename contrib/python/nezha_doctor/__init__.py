# SPDX-License-Identifier: BSD-3-Clause
"""What may be wrong with a cluster: facts and probes gathered on the nodes, and checks, which judge them."""
