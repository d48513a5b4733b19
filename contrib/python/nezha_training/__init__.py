# SPDX-License-Identifier: BSD-3-Clause
"""Training by PyTorch with Nezha beside others, as Fig. 8 of Nezha's paper has it: contrib/figures training."""
