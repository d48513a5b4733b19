// SPDX-License-Identifier: BSD-3-Clause
/// How the members of a team come to a group in the SHARP library. The library's calls may block, for good if its network
/// does, so that a thread of their own makes them. It asks for collectives meanwhile: broadcasts, barriers, gathers. The caller of
/// MPI makes these as operations of the team, in rounds: in each, all members combine by OR what their libraries want, and then
/// what is to be sent if all want the same. A member whose library has ended goes on to take part until all have, so that
/// nobody waits for a collective that another library has not come to; whoever asked for that one gets an error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sharp/sharp_group.h"
#include "util/status.h"

namespace nezha {

/// For the caller of MPI alone. No function blocks.
class SharpOpening {
 public:
  using Words = std::array<std::uint64_t, 7>;

  /// Starts the thread. `spec` without its collectives.
  explicit SharpOpening(SharpGroup::Spec spec);
  /// The thread goes on until the library lets it; what it has made is closed then.
  ~SharpOpening();
  SharpOpening(const SharpOpening&) = delete;
  SharpOpening& operator=(const SharpOpening&) = delete;

  /// The library asks for something, or has ended.
  bool has_news() const;
  /// This member does not wait for its library any more.
  void abandon(const std::string& why);

  // ---- a round, once there are news
  Words words() const;
  /// By the combined words: all have ended.
  static bool over(const Words& combined);
  /// What is to be combined next, of the same size on all members; empty: nothing, as they do not ask for the same.
  std::vector<std::byte> contribution(const Words& combined);
  /// The combined bytes, for the library.
  void answer(const std::vector<std::byte>& combined);

  // ---- once it is over
  /// Null: some member has no group. `combined`: the words of the last round.
  std::unique_ptr<SharpGroup> group(const Words& combined);
  /// What this member's library has opened and nobody uses, to be left; null: nothing, or it goes on with it.
  std::unique_ptr<SharpGroup> rest();
  /// Bits of what all libraries have.
  static std::uint64_t types(const Words& combined) { return ~combined[5]; }
  static std::uint64_t ops(const Words& combined) { return ~combined[6]; }
  /// Why this member has none; ok: it has.
  Status status() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Closes a group by a thread of its own, since the library may block, and waits for a moment.
void leave_sharp(std::unique_ptr<SharpGroup> group);

}  // namespace nezha
