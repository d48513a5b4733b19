# SPDX-License-Identifier: BSD-3-Clause
"""What was measured, as people read it."""

import statistics

_ASKED = {"beyond_ms": {"silent": 100, "carrier": 20}, "first_bytes_ms": 1000, "full_ms": 2000}
_WHAT = {"beyond_ms": "beyond what the remaining rails need", "first_bytes_ms": "rail back: first bytes",
         "full_ms": "rail back: 95 % again"}
_NAMES = {"silent": "silent loss", "carrier": "carrier loss", "three-of-four": "3 of 4 rails lost at once"}


def lines(cases):
    rows = [("case", "what", "median", "most", "times", "asked")]
    for case, found in cases.items():
        rows += _ROWS[case](case, found)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        left = [text.ljust(width) for text, width in zip(row[:2], widths)]
        yield "  ".join(left + [text.rjust(width) for text, width in zip(row[2:], widths[2:])]).rstrip()
    for case, found in cases.items():
        for who in ("Open MPI", "Gloo"):
            if who in found:
                yield f"{who} under {_NAMES[case]}: {found[who]}"


def _lost(case, found):
    for key, what in _WHAT.items():
        values = [result[key] for result in found["rounds"]]
        asked = _ASKED[key].get(case) if isinstance(_ASKED[key], dict) else _ASKED[key]
        yield (_NAMES[case], what, f"{statistics.median(values):.1f} ms", f"{max(values):.1f} ms", str(len(values)),
               f"{asked} ms" if asked else "completes")


def _service(_case, found):
    for key, what, asked in (("beyond_ms", "beyond what the rails need for the rest", "100 ms"),
                             ("used_ms", "service back: calls go through it again", "completes")):
        values = [result[key] for result in found["rounds"]]
        yield ("service killed", what, f"{statistics.median(values):.1f} ms", f"{max(values):.1f} ms", str(len(values)), asked)


def _soak(_case, found):
    yield ("soak", f"throughput of what surviving rails allow, {found['faults']} faults, longest call {found['longest_ms']:.0f} ms; "
           f"without faults {100 * found['without_faults']:.1f} %",
           f"{100 * found['part']:.1f} %", "", str(found["calls"]), "85 %")


def _rate(_case, found):
    for key, what in (("less", "rail at half its rate"), ("more", "rail at its rate again")):
        values = [result[key] for result in found["rounds"]]
        yield ("rate", f"{what}: calls until 95 % of what is allowed", f"{statistics.median(values):g}", str(max(values)),
               str(len(values)), "5")


def _flood(_case, found):
    for row in found["rates"]:
        yield ("flood", f"throughput beside {row['held_off_per_second']:.0f} strangers a second held off",
               f"{100 * row['throughput']:.1f} %", "", str(len(row["ratios"])), "95 %")


_ROWS = {"silent": _lost, "carrier": _lost, "three-of-four": _lost, "service": _service, "rate": _rate, "soak": _soak, "flood": _flood}
