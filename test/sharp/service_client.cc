// SPDX-License-Identifier: BSD-3-Clause
#include "service_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sstream>
#include <utility>

#include "engine/aggregation/aggregator_key.h"
#include "engine/signals_blocked.h"
#include "engine/transports.h"
#include "util/random.h"

namespace nezha::test {
namespace {

constexpr std::size_t kEarlyBytes = 256 * 1024;
constexpr std::size_t kReducedAtOnce = 64 * 1024;
constexpr Nanoseconds kTurnEvery = kMillisecond;
constexpr Nanoseconds kRestAtMost = 100 * kMillisecond;
/// Without anything to do for so long, acks are sent on their own.
constexpr Nanoseconds kAckAfter = 2 * kMillisecond;
constexpr Nanoseconds kReachWithin = 3 * kSecond;
constexpr auto kReachLook = std::chrono::milliseconds(2);

ProcessId draw_id() {
  ProcessId id = 0;
  return random_id(id).ok() ? id : 0;
}

void print(void*, int, const char* line) { std::fprintf(stderr, "sharp stub: %s\n", line); }

}  // namespace

Status ServiceClient::read(const std::string& text, Service& service) {
  std::istringstream words(text);
  std::string place, key;
  words >> place >> key;
  if (Status status = set_parameter(service.config, "aggregators", place); !status.ok()) return status;
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size() - 1);
    if (Status status = set_parameter(service.config, word.substr(0, equals), word.substr(equals + 1)); !status.ok()) return status;
  }
  service.config.window = kEarlyBytes;
  return read_aggregator_key({key}, service.key);
}

ServiceClient::ServiceClient(const Service& service, std::uint32_t rank, const std::string& node)
    : key_(service.key),
      core_(service.config, clock_, Log(print, nullptr, service.config.verbose), rank, node, draw_id(), Secret{}),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  core_.serve(*this);
}

ServiceClient::~ServiceClient() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake();
  if (thread_.joinable()) thread_.join();
}

Status ServiceClient::open() {
  const std::lock_guard lock(mutex_);
  if (core_.self().id == 0 || !wake_) return {Code::io, "no random bytes, or no descriptor"};
  Notices notices;
  if (Status status = open_transports(core_, 1, nullptr, notices); !status.ok()) return status;
  const SignalsBlocked meanwhile;
  core_.greet_aggregators(key_);
  thread_ = std::thread([this] { run(); });
  return {};
}

const Peer* ServiceClient::linked() const {
  const std::vector<Peer*> found = core_.aggregators();
  return !found.empty() && found.front() != nullptr && found.front()->trunk->lanes_up() != 0 ? found.front() : nullptr;
}

std::uint64_t ServiceClient::reached() {
  for (const Nanoseconds until = clock_.now() + kReachWithin; clock_.now() < until;) {
    {
      const std::lock_guard lock(mutex_);
      if (const Peer* peer = linked()) return peer->address.service();
    }
    std::this_thread::sleep_for(kReachLook);
  }
  return 0;
}

void ServiceClient::join(TeamId id, int members, int position) {
  const std::lock_guard lock(mutex_);
  const Peer* const peer = linked();
  star_.emplace(id, peer == nullptr ? nullptr : peer->trunk.get(),
                Star::Member{members, position, kReducedAtOnce, &core_.buffer_pool()});
}

void ServiceClient::leave() {
  const std::lock_guard lock(mutex_);
  if (star_) star_->give_up("the communicator has ended");
  star_.reset();
}

void ServiceClient::begin(Work& work) {
  work.call.chunk = kReducedAtOnce;
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    star_->begin(work.call, {}, clock_.now());
  }
  wake();
}

void ServiceClient::wait(const Work& work) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return work.outcome != Work::Outcome::under_way; });
}

// ---- the thread

void ServiceClient::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

void ServiceClient::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const bool moved = turn();
    std::vector<pollfd> ready{{wake_.get(), POLLIN, 0}};
    for (const auto& transport : core_.transports()) ready.push_back({transport->wait_fd(Watch::all), POLLIN, 0});
    const timespec rest{0, moved ? 0 : longest_rest()};
    lock.unlock();
    ppoll(ready.data(), ready.size(), &rest, nullptr);
    std::uint64_t woken = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_.get(), &woken, sizeof woken);
    lock.lock();
  }
}

bool ServiceClient::turn() {
  const bool moved = core_.progress(Watch::all);
  const Nanoseconds now = clock_.now();
  if (now - stepped_ >= kTurnEvery) {
    stepped_ = now;
    core_.step(now);
  }
  if (moved) {
    moved_ = now;
    outstanding_ = true;
  } else if (outstanding_ && now - std::max(moved_, settled_) >= kAckAfter) {
    settled_ = now;
    outstanding_ = core_.settle();
  }
  conclude(now);
  return moved;
}

Nanoseconds ServiceClient::longest_rest() const {
  if (outstanding_ || work_ != nullptr) return kTurnEvery;
  const Nanoseconds due = core_.next_due();
  return due == 0 ? kRestAtMost : std::clamp<Nanoseconds>(due - clock_.now(), 0, kRestAtMost);
}

/// Who returns from wait() may give the work's memory back.
void ServiceClient::conclude(Nanoseconds now) {
  if (work_ == nullptr || !star_->settled(now, false)) return;
  if (star_->complete()) star_->accept();
  std::exchange(work_, nullptr)->outcome = star_->complete() ? Work::Outcome::summed : Work::Outcome::lost;
  ended_.notify_all();
}

// ---- what comes

Placement ServiceClient::place(Trunk&, const PieceHeader& piece) {
  const Star* const star = find(piece.team);
  return star == nullptr ? Placement{PlaceKind::early} : star->operations().place(0, piece);
}

void ServiceClient::arriving(Trunk&, const PieceHeader& piece) {
  Star* const star = find(piece.team);
  if (Operation* const operation = star == nullptr ? nullptr : star->operations().find(piece.op))
    operation->algorithm().arriving(kStarCenter, piece);
}

bool ServiceClient::arrived(Trunk&, const PieceHeader& piece, const std::byte* data) {
  Star* const star = find(piece.team);
  Operation* const operation = star == nullptr ? nullptr : star->operations().find(piece.op);
  return operation == nullptr || operation->algorithm().arrived(kStarCenter, piece, data);
}

bool ServiceClient::has_begun(TeamId id, OpNumber op) {
  const Star* const star = find(id);
  return star != nullptr && star->operations().has_begun(op);
}

void ServiceClient::peer_at(Trunk&, TeamId id, OpNumber begun, OpNumber ended) {
  if (Star* const star = find(id)) star->operations().peer_at(0, begun, ended);
}

void ServiceClient::failed(TeamId id) {
  if (Star* const star = find(id)) star->give_up("the service has given it up");
}

void ServiceClient::going(const Trunk& trunk) {
  if (star_ && star_->trunk() == &trunk) star_->lost();
}

}  // namespace nezha::test
