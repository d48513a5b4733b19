// SPDX-License-Identifier: BSD-3-Clause
/// The short sample at first use: bytes that nobody needs go over all lanes to the ring's next member until each lane
/// was measured, so that the trunk knows the rails' rates before the first vector is split (NewMadeleine samples its networks
/// likewise).
#pragma once

#include "engine/peer.h"

namespace nezha {

/// Pieces of this team go into the bin at the receiver.
constexpr TeamId kNobody = 0;

/// The longest that a sample takes: a connection that has lost the end of its first packets waits 200 ms before it goes on.
constexpr Nanoseconds kSamplePatience = 300 * kMillisecond;

/// There is one lane, or the user has fixed the shares.
bool needs_no_sample(const Peer& peer);

/// Starts, where it is `wanted`, continues or ends the sample of a settled peer.
void step_sample(Peer& peer, Nanoseconds now, bool wanted);

}  // namespace nezha
