// SPDX-License-Identifier: BSD-3-Clause
/// The socket of a process where members of its node ask for the shared memory of a team that this process has made. It
/// is in the abstract namespace, so that nothing is left of it in any directory. Whoever asks before the memory is
/// offered waits. Nothing blocks; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "node/node_greeting.h"
#include "util/clock.h"

namespace nezha {

class NodeAcceptor {
 public:
  /// The secret that this process shares with a member of the team. False: there is none.
  using SecretOf = std::function<bool(std::uint32_t member, Secret& secret)>;

  struct Offer {
    std::uint64_t team = 0;
    std::uint32_t members = 0;
    std::uint64_t size = 0;
    int descriptor = -1;  ///< the memory; the caller's, open until withdraw()
    SecretOf secret_of;
  };

  /// A member that has the memory. Its connection ends when its process does.
  struct Admitted {
    std::uint32_t member = 0;
    Fd connection;
  };

  Status open();
  /// Of the socket, once open.
  const NodeName& name() const { return name_; }
  /// Readable when somebody connects.
  int descriptor() const { return listener_.get(); }

  void offer(Offer offer);
  void withdraw(std::uint64_t team) { teams_.erase(team); }

  /// Accepts and answers, as far as that goes without waiting. A connection has kHandshakeTime to become a member.
  void progress(Nanoseconds now);
  /// The members of the team that came since the last call.
  std::vector<Admitted> take(std::uint64_t team);

  std::size_t pending() const { return pending_.size(); }

  static constexpr Nanoseconds kHandshakeTime = 30 * kSecond;
  static constexpr std::size_t kMostPending = 1024;
  static constexpr std::size_t kMostAtOnce = 64;  ///< accepted in one progress()

 private:
  struct Team {
    Offer offer;
    std::vector<Admitted> admitted;
  };
  enum class Step { hello, offer, proof, done };
  struct Pending {
    Fd connection;
    Nanoseconds deadline = 0;
    Step step = Step::hello;
    NodeHello hello;
    NodeHelloBytes hello_bytes{};
    NodeNonce nonce{};
  };

  void accept_all(Nanoseconds now);
  void proceed(Pending& pending);
  bool read_hello(Pending& pending);
  bool challenge(Pending& pending);
  bool check_proof(Pending& pending);

  NodeName name_{};
  Fd listener_;
  std::map<std::uint64_t, Team> teams_;
  std::vector<Pending> pending_;
};

}  // namespace nezha
