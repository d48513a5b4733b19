// SPDX-License-Identifier: BSD-3-Clause
/// A stranger's bytes to either side of a handshake: whatever they are, nobody without the secret becomes a lane.
/// Input: the first byte's lowest bit says which side listens, the next how the rest is cut.
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

#include "rail/tcp/tcp_handshake.h"

namespace {

using namespace nezha;

class OnePeer final : public Admission {
 public:
  const Secret* secret(ProcessId peer) const override { return peer == 2 ? &secret_ : nullptr; }
  bool expects(const LaneSpec& spec) const override { return spec.remote_rail < 2; }
  LaneEvents& lane_up(Lane&) override { std::abort(); }
  void lane_failed(const LaneSpec&, const Status&) override { std::abort(); }

 private:
  Secret secret_{1, 2, 3};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
  const Fd stranger(ends[0]);
  const bool connecting = (data[0] & 1) != 0;
  const std::size_t step = data[1] + std::size_t{1};
  const LaneSpec spec{2, 0, 0, false};
  TcpHandshake handshake = connecting ? TcpHandshake(Fd(ends[1]), spec, 0, "stranger", 0, 1)
                                   : TcpHandshake(Fd(ends[1]), 0, 0, "stranger", 0, 1);
  const OnePeer admission;
  auto outcome = TcpHandshake::Outcome::pending;
  if (connecting) outcome = handshake.proceed(admission);
  for (std::size_t at = 2; at < size && outcome == TcpHandshake::Outcome::pending; at += step) {
    if (send(stranger.get(), data + at, std::min(step, size - at), MSG_NOSIGNAL) < 0) break;
    outcome = handshake.proceed(admission);
  }
  if (outcome == TcpHandshake::Outcome::admitted) std::abort();
  return 0;
}
