# SPDX-License-Identifier: BSD-3-Clause
"""What verbs rails are worth where RDMA devices are the kernel's own (rdma_rxe): ratios within one boot of lab guest."""
