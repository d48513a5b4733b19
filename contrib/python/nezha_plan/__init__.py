# SPDX-License-Identifier: BSD-3-Clause
"""What an allreduce should cost on a cluster that is only described: the model behind nezha plan. Pure functions, no cluster."""
