/* SPDX-License-Identifier: BSD-3-Clause */
#include "gloo_reduction.h"

#include <bit>
#include <stdexcept>

#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/math.h>

namespace nezha_bench {
namespace {

/// The older algorithms are objects that are bound to their buffers.
template <typename Algorithm>
class BoundReduction : public Reduction {
 public:
  BoundReduction(const std::shared_ptr<gloo::Context>& context, const std::array<float*, 2>& out, size_t count) {
    for (int slot = 0; slot < 2; slot++)
      slots_[slot] = std::make_unique<Algorithm>(context, std::vector<float*>{out[slot]}, static_cast<int>(count));
  }
  void run(int slot, const float*) override { slots_[slot]->run(); }

 private:
  std::array<std::unique_ptr<Algorithm>, 2> slots_;
};

/// gloo::allreduce, which takes its buffers with each call.
class CalledReduction : public Reduction {
 public:
  using Algorithm = gloo::AllreduceOptions::Algorithm;

  CalledReduction(std::shared_ptr<gloo::Context> context, const std::array<float*, 2>& out, size_t count,
                  Algorithm algorithm)
      : context_(std::move(context)), out_(out), count_(count), algorithm_(algorithm) {}

  void run(int slot, const float* in) override {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(algorithm_);
    if (in != out_[slot]) options.setInput(const_cast<float*>(in), count_);
    options.setOutput(out_[slot], count_);
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    gloo::allreduce(options);
  }

 private:
  std::shared_ptr<gloo::Context> context_;
  std::array<float*, 2> out_;
  size_t count_;
  Algorithm algorithm_;
};

}  // namespace

std::vector<std::string> reduction_names(int ranks) {
  std::vector<std::string> names = {"new_ring", "new_bcube", "ring", "ring_chunked", "halving_doubling"};
  // The older bcube is right for powers of its base only, which is 2.
  if (std::has_single_bit(static_cast<unsigned>(ranks))) names.push_back("bcube");
  return names;
}

bool works_in_place(const std::string& name) { return !name.starts_with("new_"); }

std::unique_ptr<Reduction> make_reduction(const std::string& name, const std::shared_ptr<gloo::Context>& context,
                                          const std::array<float*, 2>& out, size_t count) {
  if (name == "ring") return std::make_unique<BoundReduction<gloo::AllreduceRing<float>>>(context, out, count);
  if (name == "ring_chunked")
    return std::make_unique<BoundReduction<gloo::AllreduceRingChunked<float>>>(context, out, count);
  if (name == "halving_doubling")
    return std::make_unique<BoundReduction<gloo::AllreduceHalvingDoubling<float>>>(context, out, count);
  if (name == "bcube") return std::make_unique<BoundReduction<gloo::AllreduceBcube<float>>>(context, out, count);
  if (name == "new_ring")
    return std::make_unique<CalledReduction>(context, out, count, CalledReduction::Algorithm::RING);
  if (name == "new_bcube")
    return std::make_unique<CalledReduction>(context, out, count, CalledReduction::Algorithm::BCUBE);
  throw std::runtime_error("Gloo has no algorithm \"" + name + "\"");
}

}  // namespace nezha_bench
