// SPDX-License-Identifier: BSD-3-Clause
/// Verbs rails of a device that is not there, and who connects to them.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/worker_thread.h"
#include "fake_verbs.h"
#include "rail/verbs/verbs_kind.h"
#include "trunk_pair.h"

namespace nezha::test {

class VerbsPairs : public testing::Test, protected MessageArrivals, protected QueuePairEvents {
 protected:
  void SetUp() override {
    pairs = &pairs_;
    std::vector<std::unique_ptr<VerbsDevice>> devices;
    devices.push_back(device_.open());
    ASSERT_TRUE(kind_->open(std::move(devices)).ok());
    ASSERT_TRUE(service_.start("test"));
    kind_->employ_service(service_);
  }
  void TearDown() override {
    pairs_.let();
    arrived_.clear();
    kind_.reset();
    EXPECT_EQ(pairs_.made(), 0);
  }

  Fd connect_to_it() {
    VerbsPlace place;
    EXPECT_TRUE(read_place(kind_->rails()[0].place, place));
    sockaddr_storage to{};
    const socklen_t size = socket_address(place, to);
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), size), 0);
    return fd;
  }
  static void say(const Fd& fd, const VerbsPlace& as) {
    PairWords words;
    words.mtu = 3;
    words.number = 5;
    words.gid = gid_of(as);
    const PairWordsBytes bytes = write_pair_words(words);
    ASSERT_EQ(send(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  template <typename Done>
  bool poll_until(const Done& done) {
    for (int i = 0; i < 20000 && !done(); ++i) {
      kind_->poll(Watch::rare, *this);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return done();
  }

  /// As long as pairs that have been stopped are kept.
  void linger() {
    const Nanoseconds due = kind_->next_deadline();
    ASSERT_GT(due, clock_.now());
    kind_->poll(Watch::rare, *this);
    EXPECT_NE(pairs_.made(), 0);
    clock_.advance(due - clock_.now());
    kind_->poll(Watch::rare, *this);
    EXPECT_EQ(pairs_.made(), 0);
  }
  /// The same beside so many that are up.
  void linger_with(int others) {
    clock_.advance(VerbsOptions().linger);
    kind_->poll(Watch::rare, *this);
    EXPECT_EQ(pairs_.made(), others);
  }
  bool readable(Watch watch) const {
    pollfd wait{kind_->fd(watch), POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
  }

  void arrived(std::size_t, std::unique_ptr<QueuePair> pair, std::string) override {
    const std::uint32_t own = pair->shared_receives() == 0 ? 1 : 0;
    Slots slots{.size = 64, .receives = own, .sends = 1, .memory = {}, .owner = std::make_shared<std::byte[]>(128)};
    slots.memory = {slots.owner.get(), 128};
    EXPECT_TRUE(pair->enroll(slots, *this).ok());
    EXPECT_TRUE(pair->start().ok());
    memory_ = slots.owner;
    arrived_.push_back(std::move(pair));
  }
  void reached() override { reached_ = true; }
  void connected() override { connected_ = true; }
  void received(std::uint32_t slot, std::size_t size) override { received_.push_back({slot, size}); }
  void sent(std::uint32_t) override {}
  void broken(const Status& why) override {
    why_ = why;
    arrived_.back()->close();
  }

  Pairs pairs_;
  Device device_;
  TestClock clock_;
  WorkerThread service_;
  std::unique_ptr<VerbsKind> kind_ = std::make_unique<VerbsKind>(VerbsOptions(), clock_, Log());
  std::vector<std::unique_ptr<QueuePair>> arrived_;
  std::weak_ptr<std::byte[]> memory_;
  std::vector<std::pair<std::uint32_t, std::size_t>> received_;
  bool reached_ = false, connected_ = false;
  Status why_;
};

}  // namespace nezha::test
