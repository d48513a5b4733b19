# SPDX-License-Identifier: BSD-3-Clause
"""What a rank costs as jobs grow."""
