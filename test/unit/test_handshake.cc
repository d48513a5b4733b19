// SPDX-License-Identifier: BSD-3-Clause
/// The handshake without a network: who is admitted, and what the words of a kind of rail are worth.
#include "rail/handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace nezha {
namespace {

using Outcome = Handshake::Outcome;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kWords = 24;

class OnePeer final : public Admission {
 public:
  OnePeer(ProcessId known, std::uint8_t secret) : known_(known) { secret_.fill(secret); }
  const Secret* secret(ProcessId peer) const override { return peer == known_ ? &secret_ : nullptr; }
  void forget() { known_ = 0; }
  void know_anew(std::uint8_t secret) { secret_.fill(secret); }
  bool expects(const LaneSpec&) const override { return true; }
  LaneEvents& lane_up(Lane&) override { std::abort(); }
  void lane_failed(const LaneSpec&, const Status&) override { std::abort(); }

 private:
  ProcessId known_;
  Secret secret_{};
};

Handshake::Words saying(std::uint8_t byte) {
  return [byte](const LaneSpec&, std::span<std::byte> words) {
    std::fill(words.begin(), words.end(), std::byte{byte});
    return Status{};
  };
}

Bytes bytes_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

/// Both sides of one connection, message by message; `change` may spoil each on its way.
struct Talk {
  explicit Talk(std::size_t words = kWords, std::uint8_t their_secret = 7)
      : there(2, 7), here(1, their_secret), connecting({2, 3, 4, false}, 1, words, words == 0 ? Handshake::Words() : saying(11)),
        accepting(4, 2, words, words == 0 ? Handshake::Words() : saying(22)) {}

  /// True: both are admitted.
  bool run() {
    if (!connecting.begin().ok()) return false;
    Bytes message = bytes_of(connecting.answer());
    std::size_t number = 0;
    for (Handshake* to = &accepting;; to = to == &accepting ? &connecting : &accepting) {
      if (change) change(number++, message);
      if (message.size() != to->wanted()) return false;
      const Outcome outcome = to->take(message, to == &accepting ? here : there);
      if (outcome == Outcome::failed) return false;
      if (outcome == Outcome::admitted && to == &connecting) return true;
      admitted = admitted || outcome == Outcome::admitted;
      message = bytes_of(to->answer());
    }
  }

  OnePeer there, here;
  Handshake connecting, accepting;
  std::function<void(std::size_t number, Bytes& message)> change;
  bool admitted = false;  ///< the accepting side has
};

TEST(Handshake, BothAreAdmittedAndHaveHeardEachOthersWords) {
  Talk talk;
  ASSERT_TRUE(talk.run()) << talk.connecting.why().text() << talk.accepting.why().text();
  EXPECT_TRUE(talk.admitted);
  EXPECT_EQ(bytes_of(talk.connecting.their_words()), Bytes(kWords, std::byte{22}));
  EXPECT_EQ(bytes_of(talk.accepting.their_words()), Bytes(kWords, std::byte{11}));
  EXPECT_EQ(talk.accepting.spec().peer, 1u);
  EXPECT_EQ(talk.accepting.spec().local_rail, 4);
  EXPECT_EQ(talk.accepting.spec().remote_rail, 3);
  EXPECT_EQ(talk.accepting.spec().connection, talk.connecting.spec().connection);
}

TEST(Handshake, AKindWithoutWordsSaysNone) {
  Talk talk(0);
  ASSERT_TRUE(talk.run());
  EXPECT_TRUE(talk.connecting.their_words().empty());
}

TEST(Handshake, AnotherSecretIsRefused) {
  Talk talk(kWords, 8);
  EXPECT_FALSE(talk.run());
  EXPECT_FALSE(talk.admitted);
  EXPECT_EQ(talk.connecting.why().text(), "the other side does not know the job's secret");
}

/// An aggregator that is greeted anew while it welcomes a lane of the greeting before.
TEST(Handshake, TheWelcomeOfAProcessThatIsNotKnownAnyMoreIsRefused) {
  constexpr std::size_t kWelcome = 3;
  for (const bool anew : {false, true}) {
    Talk talk;
    talk.change = [&](std::size_t number, Bytes&) {
      if (number == kWelcome) anew ? talk.there.know_anew(9) : talk.there.forget();
    };
    EXPECT_FALSE(talk.run());
    EXPECT_TRUE(talk.admitted);
    EXPECT_EQ(talk.connecting.why().text(), "the process is not known any more");
  }
}

/// Whoever carries the messages cannot put another queue pair into them.
TEST(Handshake, EachByteIsProved) {
  const std::size_t sizes[] = {kHelloSize + kWords, kChallengeSize + kWords, kProofSize, kWelcomeSize};
  for (std::size_t message = 0; message < std::size(sizes); ++message)
    for (std::size_t at = 0; at < sizes[message]; ++at) {
      Talk talk;
      talk.change = [&](std::size_t number, Bytes& bytes) {
        ASSERT_EQ(bytes.size(), sizes[number]);
        if (number == message) bytes[at] ^= std::byte{1};
      };
      ASSERT_FALSE(talk.run()) << "message " << message << ", byte " << at;
    }
}

TEST(Handshake, WhoHasNoWordsNowRefuses) {
  OnePeer known(1, 7);
  Handshake accepting(4, 2, kWords, [](const LaneSpec&, std::span<std::byte>) { return Status{Code::io, "no queue pair"}; });
  Talk talk;
  ASSERT_TRUE(talk.connecting.begin().ok());
  EXPECT_EQ(accepting.take(talk.connecting.answer(), known), Outcome::failed);
  EXPECT_EQ(accepting.why().text(), "no queue pair");
}

TEST(Handshake, AMessageOfAnotherSizeIsRefused) {
  OnePeer known(1, 7);
  Handshake accepting(4, 2);
  EXPECT_EQ(accepting.take(Bytes(kHelloSize - 1), known), Outcome::failed);
}

}  // namespace
}  // namespace nezha
