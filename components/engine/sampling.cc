// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sampling.h"

#include <array>

namespace nezha {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kChunksPerLane = 8;  ///< four times what a burst of a shaped link hides

const std::array<std::byte, kChunk> zeros{};

void start(Peer& peer, Nanoseconds now) {
  peer.sample = Sample::running;
  peer.sample_deadline = now + kSamplePatience;
  peer.sample_flow.open(kNobody, 0, 1);
  peer.trunk->began(peer.sample_flow);
  for (std::size_t i = 0; i < kChunksPerLane * peer.trunk->lanes_up(); ++i)
    peer.trunk->send(peer.sample_flow, {.data = zeros.data(), .offset = i * kChunk, .size = kChunk});
}

}  // namespace

void step_sample(Peer& peer, Nanoseconds now) {
  if (peer.sample == Sample::done) return;
  if (peer.trunk->lanes_up() < 2) {
    peer.sample = Sample::done;  // nothing to share
    return;
  }
  if (peer.sample == Sample::none) start(peer, now);
  peer.trunk->pump();
  const bool over = peer.sample_flow.empty() && peer.sample_flow.unacked == 0;
  if (!over && now < peer.sample_deadline) return;
  peer.trunk->abort_flow(peer.sample_flow);
  peer.sample = Sample::done;
}

}  // namespace nezha
