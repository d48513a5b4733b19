// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdio>
#include <limits>

#include "figures.h"
#include "pcie.h"
#include "perftest.h"

namespace nezha_simulate {
namespace {

std::string size_text(std::int64_t size) {
  if (size >= 1 << 20) return std::to_string(size >> 20) + "M";
  return size >= 1 << 10 ? std::to_string(size >> 10) + "K" : std::to_string(size);
}

void add_pcie(std::vector<Figure>& figures) {
  const PcieLink link;
  figures.push_back(within("PCIe 3.0 with 16 lanes, Gbit/s", 126, link.gbps(), 0.05));
  figures.push_back(within("time of a TLP of 128 bytes, ns", 9.39, link.tlp_time(), 0.1));
}

void add_write(std::vector<Figure>& figures) {
  const WriteModel model;
  for (const WriteRow& row : kWriteRows)
    figures.push_back(within("ib_write of " + size_text(row.size) + ", GB/s", row.gbytes_per_s,
                             model.gbytes_per_s(row.size), row.size >= 8 << 10 ? 3 : 8));
  for (const WriteRow& row : kWriteRows)
    figures.push_back(within("ib_write of " + size_text(row.size) + ", us", row.latency_us,
                             model.latency(row.size) / 1000, row.size >= 256 << 10 ? 2 : 15));
  for (Figure& figure : figures) {
    if (figure.what == "ib_write of 128, GB/s" || figure.what == "ib_write of 128, us" ||
        figure.what == "ib_write of 256, us")
      figure.allowed = "given";
    if (figure.what == "ib_write of 16K, GB/s")
      figure.outside = "the paper's rate falls from 8K to 16K, which a pipeline does not do";
    if (figure.what == "ib_write of 4M, us")
      figure.outside =
          "4 MiB in 345.97 us are 12.12 GB/s, the line without its packets' headers; its bandwidth says 11.86. With the 26 "
          "bytes that InfiniBand itself puts around 4096, all latencies from 256K on are within 1.7 %, but the rates of 4K to "
          "64K 3.6 to 9 % too high; with the text's 60 bytes for a header, or on a line of 12.5 GB/s, no more figures hold "
          "than here";
  }
}

void add_formulas(std::vector<Figure>& figures) {
  const double overhead = traffic_overhead(20, 128, 64, 4032);
  figures.push_back(within("overhead of small packets, equation (2)", 1.14, overhead, 0.5));
  figures.push_back(within("equation (3), 128 nodes, C1, Gbit/s", 91980, fitted_throughput(16384, 1.14, 20, 128), 0.1));
  figures.push_back(
      within("equation (3), 512 nodes, C1, Gbit/s", 367921, fitted_throughput(16384, 1.14, 20, 512), 0.1));
}

}  // namespace

std::vector<Figure> model_figures() {
  std::vector<Figure> figures;
  add_pcie(figures);
  add_write(figures);
  add_formulas(figures);
  return figures;
}

Figure within(std::string what, double paper, double ours, double percent) {
  char allowed[32];
  std::snprintf(allowed, sizeof allowed, "%g %%", percent);
  const double off = std::abs(paper) * percent / 100;
  return {std::move(what), paper, ours, allowed, paper - off, paper + off, {}};
}

Figure between(std::string what, double paper, double ours, double least, double most) {
  char allowed[64];
  if (std::isinf(most))
    std::snprintf(allowed, sizeof allowed, "%g or more", least);
  else
    std::snprintf(allowed, sizeof allowed, "%g to %g", least, most);
  return {std::move(what), paper, ours, allowed, least, most, {}};
}

Figure only_shown(std::string what, double paper, double ours) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  return {std::move(what), paper, ours, {}, -kAny, kAny, {}};
}

const std::vector<std::string> kRemarks = {
    "Table 1 says GiB/s, and 12.09 of them are 12.98 GB/s, more than the link has: its unit is GB/s.",
    "Table 1 has 4 MiB take 345.97 us, a rate of 12.12 GB/s, and pass at 11.86 GB/s; from 1 MiB on each further byte "
    "takes less than "
    "at 12.12 GB/s.",
    "Section 4.5 puts 16384 into equation (3), sections 3.5 and 4.3 say 15703.9; with that the scale-out values were "
    "88162 and 352646.",
    "The scale-out values are equation (3)'s and not a simulation's.",
    "Table 3 has 1204 accelerators in 128 nodes of 8: 1024.",
    "A message of 4 KiB does not fit into the 4032 bytes of a packet of 4 KiB, and 4032 bytes are 31.5 TLPs, not 32: "
    "here a message "
    "is 4032 bytes in 32 TLPs, the last of them half full.",
    "Section 3.5 has inter-node links of 512 Gbit/s where the NICs and section 4.4 have 400. Here they have 400.",
    "Equation (1)'s BytesPerNs has the unit of its lanes' rate, which is bits: here it is divided by 8.",
    "Section 4.1 speaks of 60 bytes of header for a TLP, all else of 20.",
    "25 ns a meter are five times what light takes in a fibre, and no cable has a length: here it is 1 m.",
    "What splitting a packet takes in a NIC, on which all knees depend, has no number. Here it is equation (1)'s time "
    "of a TLP for "
    "each, 126 Gbit/s whatever the accelerators' rate: knees of C1 at 62, 31 and 15 %, where the text says 60, 30 and "
    "10; the text's "
    "70 % for C4 and its fit, 15703.9, mean 138 to 144 Gbit/s.",
    "The paper's switches are iSlip's, which matches an input to one output at a time, and their outputs choose "
    "independently: they "
    "do so here unless told otherwise. Matched they carry 4096-byte packets with about the paper's throughput and "
    "latency, and miss "
    "its peaks by 3 to 5 %.",
};

}  // namespace nezha_simulate
