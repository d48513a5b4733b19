// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sampling.h"

#include <array>

namespace nezha {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kChunksPerLane = 8;    ///< queued at most: several times what a lane may hold
constexpr std::size_t kMostPerLane = 256;    ///< 16 MiB: a fast lane is measured after some milliseconds' worth
constexpr double kEven = 0.5;                ///< a new connection that has lost packets may be slow for a while
constexpr Nanoseconds kUnevenPatience = 100 * kMillisecond;
constexpr std::size_t kLittle = 64 * 1024;   ///< of the sample left in the lanes' queues, in front of the first call's bytes

const std::array<std::byte, kChunk> zeros{};

void start(Peer& peer, Nanoseconds now) {
  peer.sample = Sample::running;
  peer.sample_began = now;
  peer.sample_flow.open(kNobody, 0, 1);
  peer.trunk->began(peer.sample_flow);
}

/// Queues so much that no lane runs empty. False when there has been enough.
bool refill(Peer& peer) {
  const std::size_t lanes = peer.trunk->lanes_up();
  if (peer.sample_chunks >= kMostPerLane * lanes) return false;
  for (std::size_t queued = peer.sample_flow.queued() / kChunk; queued < kChunksPerLane * lanes; ++queued)
    peer.trunk->send(peer.sample_flow, {.data = zeros.data(), .offset = peer.sample_chunks++ * kChunk, .size = kChunk});
  return true;
}

/// Something of it is still to be sent or to arrive.
bool goes_on(Peer& peer) { return refill(peer) || !peer.sample_flow.empty() || peer.sample_flow.unacked != 0; }

/// Each lane was measured, or nothing more is to be expected.
bool enough(const Peer& peer, Nanoseconds now) {
  const double evenness = peer.trunk->evenness();
  return evenness >= kEven || now - peer.sample_began >= (evenness > 0 ? kUnevenPatience : kSamplePatience);
}

}  // namespace

bool needs_no_sample(const Peer& peer) { return peer.trunk->lanes_up() < 2 || peer.trunk->shares_fixed(); }

void step_sample(Peer& peer, Nanoseconds now, bool wanted) {
  if (peer.sample == Sample::done || (peer.sample == Sample::none && !wanted)) return;
  const bool needless = needs_no_sample(peer);
  if (peer.sample == Sample::none && !needless) start(peer, now);
  if (peer.sample == Sample::running) {
    peer.trunk->pump();
    if (!needless && !enough(peer, now) && goes_on(peer)) return;
    peer.trunk->abort_flow(peer.sample_flow, Source::stays);
    peer.sample = Sample::leaving;
  }
  const bool leaving = peer.sample == Sample::leaving && peer.trunk->under_way() > kLittle;
  if (!leaving || now - peer.sample_began >= kSamplePatience) peer.sample = Sample::done;
}

}  // namespace nezha
