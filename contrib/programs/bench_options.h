/* SPDX-License-Identifier: BSD-3-Clause */
/// The command line that the bench programs share; OSU's letters where OSU has them.
#ifndef NEZHA_BENCH_OPTIONS_H
#define NEZHA_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench_data.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_MAX_SIZES = 256 };

struct bench_options {
  size_t sizes[BENCH_MAX_SIZES];  ///< bytes, ascending as given
  int size_count;
  long iterations;  ///< 0: by the time budget, or OSU's defaults when there is none
  long warmup;      ///< -1: likewise
  double budget;    ///< seconds of wall time per size, 0: none
  enum bench_type type;
  enum bench_op op;
  bool in_place;
  bool full;         ///< print least, most and iterations too
  bool json;         ///< JSON lines instead of the table
  bool each;         ///< and in them the time of every measured call
  double rest;       ///< seconds that pass at least from a call's end until a rank is ready for the next one
  bool settle;       ///< small sizes are called until they get no faster before they are measured
  int corrupt_rank;  ///< -1: none; else the rank, call and element that is spoilt on purpose
  uint64_t corrupt_call;
  size_t corrupt_element;
};

/// An option of one program only: `--name VALUE`.
struct bench_extra {
  const char* name;
  const char* help;
  const char** value;
};

enum bench_parsed { BENCH_RUN, BENCH_HELP, BENCH_BAD };

/// `extra` ends with a null name. Texts go to standard output (help) and error (faults), only if `speak`.
enum bench_parsed bench_parse(int argc, char** argv, const struct bench_extra* extra, bool speak,
                              struct bench_options* options);

/// Reads "64K", "1M", "4096"; false on anything else.
bool bench_parse_size(const char* text, size_t* bytes);

size_t bench_largest(const struct bench_options* options);
const char* bench_type_name(enum bench_type type);
const char* bench_op_name(enum bench_op op);

#ifdef __cplusplus
}
#endif
#endif
