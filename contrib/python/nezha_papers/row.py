# SPDX-License-Identifier: BSD-3-Clause
"""A figure of a paper and ours."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """tolerance: relative to the paper's figure; None: none was set, and the error is only shown, of a percentage in points. fitted: the
    model was given this figure, or one that it follows from."""

    paper: str
    what: str
    theirs: float
    ours: float
    unit: str
    tolerance: float | None = None
    fitted: bool = False

    @property
    def error(self):
        return self.ours - self.theirs if self.unit == "%" else self.ours / self.theirs - 1

    @property
    def holds(self):
        return self.tolerance is None or abs(self.error) <= self.tolerance

    def error_text(self):
        return f"{self.error:+.0f} points" if self.unit == "%" else f"{100 * self.error:+.1f} %"
