/* SPDX-License-Identifier: BSD-3-Clause */
/// A vector over several rails, each with its own Gloo context and thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench_run.h"
#include "gloo_rail.h"
#include "gloo_reduction.h"

namespace nezha_bench {

/// An algorithm, and whether the vector is spread over the rails or all on the one with the largest share.
struct Way {
  std::string algorithm;
  bool spread = true;

  std::string text() const { return algorithm + (spread ? "" : "@one"); }
  static Way parse(const std::string& text);
};

/// All of its functions are collective.
class Rails {
 public:
  Rails(const std::vector<std::string>& names, std::vector<double> shares, int rank, int ranks);

  size_t count() const { return contexts_.size(); }

  /// Cuts the vector into slices and sets the algorithm up on each rail that has one, for both of the buffers.
  void prepare(const Way& way, const bench_buffers& buffers, size_t count);
  /// Undoes prepare.
  void forget() { slices_.clear(); }

  /// The caller drives the first slice itself, so that a vector on one rail needs no other thread.
  void reduce(int slot, const float* in);
  void barrier();

 private:
  struct Slice {
    size_t first;
    std::unique_ptr<Reduction> reduction;
  };

  Slice slice(size_t rail, const Way& way, const bench_buffers& buffers, size_t first, size_t count);

  std::vector<double> shares_;
  std::vector<std::shared_ptr<gloo::Context>> contexts_;
  std::vector<RailThread> threads_;
  std::vector<Slice> slices_;
  size_t best_;
};

}  // namespace nezha_bench
