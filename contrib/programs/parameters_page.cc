// SPDX-License-Identifier: BSD-3-Clause
/// Writes the manual page nezha-parameters(7) from the table of parameters; with --rows a line per parameter for tests:
/// name, default and whether rank 0's value counts, between tabs.
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "nezha/nezha.h"
#include "util/text.h"

namespace {

/// Text as roff wants it: backslashes and hyphens marked; no line begins with a dot, for none begins with anything else
/// than a word of a sentence.
std::string roff(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else
      result += letter;
  }
  return result;
}

std::string kind(const nezha_param_t& row) {
  switch (row.type) {
    case NEZHA_PARAM_BOOL:
      return "0 or 1";
    case NEZHA_PARAM_INT:
      return "a number from " + std::to_string(row.min) + " to " + std::to_string(row.max);
    case NEZHA_PARAM_SIZE:
      return std::string(row.min > 0 ? "0 or " : "") + "bytes, from " + nezha::size_text(row.min) + " to " + nezha::size_text(row.max);
    case NEZHA_PARAM_CHOICE:
      return std::string("one of ") + row.choices;
    default:
      return row.choices;
  }
}

constexpr const char* kHead = R"(.TH NEZHA\-PARAMETERS 7 "" "Nezha %s" Nezha
.SH NAME
nezha\-parameters \- the parameters of Open MPI's component coll/nezha
.SH SYNOPSIS
.nf
mpirun \-\-mca coll_nezha_\fINAME\fR \fIVALUE\fR ...
export OMPI_MCA_coll_nezha_\fINAME\fR=\fIVALUE\fR
echo 'coll_nezha_\fINAME\fR = \fIVALUE\fR' >> ~/.openmpi/mca\-params.conf
.fi
.SH DESCRIPTION
Nezha carries MPI_Allreduce over all networks of a node at once. It needs no parameter to do so; these are for choosing
networks, for tuning and for looking on. Sizes take k, m and g, which are powers of 1024. A value that is not allowed is
reported and the default taken. Where it says so, the value of a communicator's rank 0 counts for all of its ranks, and
a rank that was given others reports it.
.SH PARAMETERS
)";

constexpr const char* kFoot = R"(.SH SEE ALSO
.BR mpirun (1),
.BR ompi_info (1):
ompi_info \-\-param coll nezha \-\-level 9
)";

void write_page(std::span<const nezha_param_t> rows) {
  std::printf(kHead, NEZHA_VERSION);
  for (const nezha_param_t& row : rows) {
    const std::string fallback = *row.fallback != '\0' ? row.fallback : "empty";
    std::printf(".TP\n.B coll_nezha_%s\n", row.name);
    std::printf("%s; default: %s; level %d%s.\n.br\n", roff(kind(row)).c_str(), roff(fallback).c_str(), row.level,
                row.decides != 0 ? "; rank 0's value counts" : "");
    std::printf("%s\n", roff(row.help).c_str());
  }
  std::fputs(kFoot, stdout);
}

void write_rows(std::span<const nezha_param_t> rows) {
  for (const nezha_param_t& row : rows) std::printf("%s\t%s\t%d\n", row.name, row.fallback, row.decides);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  const nezha_param_t* table = nezha_params(&count);
  const std::span rows(table, count);
  if (argc == 1) {
    write_page(rows);
  } else if (argc == 2 && std::strcmp(argv[1], "--rows") == 0) {
    write_rows(rows);
  } else {
    std::fprintf(stderr, "usage: %s [--rows]\n", argv[0]);
    return 2;
  }
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? 0 : 1;
}
