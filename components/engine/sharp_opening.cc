// SPDX-License-Identifier: BSD-3-Clause
#include "engine/sharp_opening.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/detached_thread.h"

namespace nezha {
namespace {

enum Kind : std::uint64_t { kNone = 0, kBroadcast = 1, kBarrier = 2, kGather = 4, kEnded = 8, kFailed = 16 };
enum Word { kKinds, kSize, kNotSize, kRoot, kNotRoot, kNotTypes, kNotOps };

/// A library that wants more than that of all members is not in its senses.
constexpr std::uint64_t kMostBytes = 16 * 1024 * 1024;
constexpr auto kLeave = std::chrono::seconds(1);

/// All that ask put the same value into the pair of words.
bool unanimous(const SharpOpening::Words& words, Word word) { return (words[word] & words[word + 1]) == 0; }

/// To the end of the process, as the library does.
void keep(std::unique_ptr<SharpGroup> group) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<SharpGroup>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(group));
}

}  // namespace

/// Shared with the thread. The buffers of a question are the library's, and only used while it waits for the answer.
struct SharpOpening::State {
  std::mutex mutex;
  std::condition_variable changed;
  SharpGroup::Spec spec;
  std::unique_ptr<SharpGroup> group = std::make_unique<SharpGroup>();
  bool ended = false, abandoned = false;
  Status status;

  Kind asked = kNone;
  int root = 0;
  std::size_t size = 0;
  void* send = nullptr;
  void* recv = nullptr;
  bool answered = false;  ///< to what was asked last: all members had asked for it

  int ask(Kind kind, int of, void* from, void* to, int bytes) {
    std::unique_lock lock(mutex);
    if (abandoned || bytes < 0 || of < 0 || of >= spec.size) return sharp_api::kOutOfBandError;
    asked = kind;
    root = of;
    size = static_cast<std::size_t>(bytes);
    send = from;
    recv = to;
    answered = false;
    changed.wait(lock, [this] { return asked == kNone || abandoned; });
    return answered ? sharp_api::kSuccess : sharp_api::kOutOfBandError;
  }

  void run() {
    spec.out_of_band = {
        [](void* self, void* buffer, int bytes, int of) { return of_context(self).ask(kBroadcast, of, buffer, buffer, bytes); },
        [](void* self) { return of_context(self).ask(kBarrier, 0, nullptr, nullptr, 1); },
        [](void* self, int of, void* from, void* to, int bytes) { return of_context(self).ask(kGather, of, from, to, bytes); }};
    spec.out_of_band_ctx = this;
    Status opened;
    try {
      opened = group->open(spec);
    } catch (const std::exception& exception) {
      opened = {Code::internal, exception.what()};
    }
    const std::lock_guard lock(mutex);
    ended = true;
    if (!abandoned) status = opened;
  }
  static State& of_context(void* self) { return *static_cast<State*>(self); }
};

SharpOpening::SharpOpening(SharpGroup::Spec spec) : state_(std::make_shared<State>()) {
  state_->spec = std::move(spec);
  if (detach_thread(nullptr, [state = state_] { state->run(); })) return;
  state_->ended = true;
  state_->status = {Code::io, "the system refuses a thread that opens the library"};
}

SharpOpening::~SharpOpening() { abandon("the communicator has failed"); }

bool SharpOpening::has_news() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ended || state_->abandoned || state_->asked != kNone;
}

void SharpOpening::abandon(const std::string& why) {
  const std::lock_guard lock(state_->mutex);
  if (state_->ended || state_->abandoned) return;
  state_->abandoned = true;
  state_->asked = kNone;
  state_->status = {Code::timed_out, why};
  state_->changed.notify_all();
}

SharpOpening::Words SharpOpening::words() const {
  const std::lock_guard lock(state_->mutex);
  Words words{};
  if (state_->ended || state_->abandoned) {
    const bool there = state_->ended && state_->status.ok();
    words[kKinds] = kEnded | (there ? kNone : kFailed);
    words[kNotTypes] = there ? ~state_->group->types() : 0;
    words[kNotOps] = there ? ~state_->group->ops() : 0;
    return words;
  }
  words[kKinds] = state_->asked;
  words[kSize] = state_->size;
  words[kNotSize] = ~words[kSize];
  words[kRoot] = static_cast<std::uint64_t>(state_->root);
  words[kNotRoot] = ~words[kRoot];
  return words;
}

bool SharpOpening::over(const Words& combined) { return (combined[kKinds] & ~std::uint64_t{kFailed}) == kEnded; }

/// A gather has a place for each member, of which this one fills its own; a broadcast one, which the root fills.
std::vector<std::byte> SharpOpening::contribution(const Words& combined) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  const auto members = static_cast<std::uint64_t>(state.spec.size);
  const std::uint64_t kind = combined[kKinds], places = kind == kGather ? members : 1;
  const bool same = (kind == kBroadcast || kind == kBarrier || kind == kGather) && unanimous(combined, kSize) &&
                    unanimous(combined, kRoot) && combined[kSize] <= kMostBytes / places && combined[kSize] != 0;
  if (!same) {
    state.asked = kNone;
    state.changed.notify_all();
    return {};
  }
  std::vector<std::byte> bytes(state.size * places);
  const auto rank = static_cast<std::size_t>(state.spec.rank);
  if (kind == kGather)
    std::memcpy(bytes.data() + rank * state.size, state.send, state.size);
  else if (kind == kBroadcast && state.root == state.spec.rank)
    std::memcpy(bytes.data(), state.send, state.size);
  return bytes;
}

void SharpOpening::answer(const std::vector<std::byte>& combined) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  const bool wants = state.asked == kBroadcast || (state.asked == kGather && state.root == state.spec.rank);
  if (wants) std::memcpy(state.recv, combined.data(), combined.size());
  state.answered = true;
  state.asked = kNone;
  state.changed.notify_all();
}

std::unique_ptr<SharpGroup> SharpOpening::group(const Words& combined) {
  const std::lock_guard lock(state_->mutex);
  if ((combined[kKinds] & kFailed) != 0 || !state_->ended) return nullptr;
  return std::move(state_->group);
}

std::unique_ptr<SharpGroup> SharpOpening::rest() {
  const std::lock_guard lock(state_->mutex);
  return state_->ended ? std::move(state_->group) : nullptr;
}

Status SharpOpening::status() const {
  const std::lock_guard lock(state_->mutex);
  return state_->status;
}

void leave_sharp(std::unique_ptr<SharpGroup> group) {
  struct Leaving {
    std::unique_ptr<SharpGroup> group;
    std::mutex mutex;
    std::condition_variable changed;
    bool left = false;
  };
  const auto leaving = std::make_shared<Leaving>();
  leaving->group = std::move(group);
  const bool detached = detach_thread(nullptr, [leaving] {
    leaving->group->close();
    const std::lock_guard lock(leaving->mutex);
    leaving->left = true;
    leaving->changed.notify_all();
  });
  if (!detached) return keep(std::move(leaving->group));  // this thread must not block
  std::unique_lock lock(leaving->mutex);
  leaving->changed.wait_for(lock, kLeave, [&] { return leaving->left; });
}

}  // namespace nezha
