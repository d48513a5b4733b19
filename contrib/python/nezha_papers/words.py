# SPDX-License-Identifier: BSD-3-Clause
"""What stands above and below the figures of each paper."""

TITLES = {"001": "", "003": "", "004": ""}
REMARKS = {"001": (), "003": (), "004": ()}
