/* SPDX-License-Identifier: BSD-3-Clause */
#include "gloo_rails.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <gloo/barrier.h>

namespace nezha_bench {

Way Way::parse(const std::string& text) {
  const auto at = text.find('@');
  return {text.substr(0, at), at == std::string::npos};
}

Rails::Rails(const std::vector<std::string>& names, std::vector<double> shares, int rank, int ranks)
    : shares_(std::move(shares)), threads_(names.size()) {
  for (const auto& name : names) contexts_.push_back(connect_over(name, rank, ranks));
  best_ = std::max_element(shares_.begin(), shares_.end()) - shares_.begin();
}

void Rails::prepare(const Way& way, const bench_buffers& buffers, size_t count) {
  slices_.clear();
  const double total = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  double upto = 0;
  size_t first = 0;
  for (size_t rail = 0; rail < contexts_.size(); rail++) {
    upto += way.spread ? shares_[rail] / total : rail == best_;
    const size_t end = rail + 1 == contexts_.size() ? count : static_cast<size_t>(upto * count + 0.5);
    if (end > first) slices_.push_back(slice(rail, way, buffers, first, end - first));
    first = end;
  }
}

Rails::Slice Rails::slice(size_t rail, const Way& way, const bench_buffers& buffers, size_t first, size_t count) {
  const std::array<float*, 2> out = {static_cast<float*>(buffers.out[0]) + first,
                                     static_cast<float*>(buffers.out[1]) + first};
  return {first, make_reduction(way.algorithm, contexts_[rail], out, count)};
}

void Rails::reduce(int slot, const float* in) {
  for (size_t i = 1; i < slices_.size(); i++)
    threads_[i].start([this, i, slot, in] { slices_[i].reduction->run(slot, in + slices_[i].first); });
  slices_[0].reduction->run(slot, in + slices_[0].first);
  for (size_t i = 1; i < slices_.size(); i++) threads_[i].wait();
}

void Rails::barrier() {
  gloo::BarrierOptions options(contexts_[best_]);
  gloo::barrier(options);
}

}  // namespace nezha_bench
