# SPDX-License-Identifier: BSD-3-Clause
"""A figure of a paper and ours."""

import dataclasses

EXACT = 1e-9  # a tolerance that rounding alone needs


@dataclasses.dataclass(frozen=True)
class Row:
    """tolerance: relative to the paper's figure; None: none was set, and the error is only shown, of a percentage in points. fitted: the
    model was given this figure, or one that it follows from. test: script and function that check it."""

    paper: str
    what: str
    theirs: float
    ours: float
    unit: str
    tolerance: float | None = None
    fitted: bool = False
    test: str = dataclasses.field(default="", kw_only=True)

    @property
    def error(self):
        return self.ours - self.theirs if self.unit == "%" else self.ours / self.theirs - 1

    @property
    def holds(self):
        return self.tolerance is None or abs(self.error) <= self.tolerance

    @property
    def resolvable(self):
        """Whether the error is more than what theirs differs from itself."""
        return True

    @property
    def missed(self):
        return not self.holds and self.resolvable

    @property
    def reason(self):
        """Why it is known not to hold; '' where it does, or where that is not known."""
        return ""

    def error_text(self):
        return f"{self.error:+.0f} points" if self.unit == "%" else f"{100 * self.error:+.1f} %"

    def within_text(self):
        if self.tolerance is None:
            return ""
        return "exact" if self.tolerance <= EXACT else f"{100 * self.tolerance:.2g} %"

    @property
    def verdict(self):
        """In words; empty for what holds by itself."""
        if self.missed:
            return "given missed" if self.fitted else "missed"
        return "given" if self.fitted else "" if self.holds else "not resolvable"


@dataclasses.dataclass(frozen=True)
class Judged(Row):
    """What nezha_simulate has judged itself."""

    within: str = ""  # in words
    good: bool = True
    outside: str = ""  # why it is known to be outside

    @property
    def holds(self):
        return self.good

    @property
    def reason(self):
        return "" if self.good else self.outside

    def within_text(self):
        return self.within
