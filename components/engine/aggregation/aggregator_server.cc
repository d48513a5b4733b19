// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/aggregator_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include <algorithm>
#include <vector>

#include "engine/transports.h"
#include "util/random.h"

namespace nezha {
namespace {

constexpr std::size_t kWindow = 256 * 1024;
/// Without anything to do for so long, acks are sent on their own.
constexpr Nanoseconds kPatience = 2 * kMillisecond;
constexpr Nanoseconds kWriteEvery = 5 * kSecond;

Config with_window(Config config) {
  if (config.window == 0) config.window = kWindow;
  return config;
}

ProcessId make_id() {
  ProcessId id = 0;
  return random_id(id).ok() ? id : 0;
}

void add(std::string& text, const char* name, const char* type, const char* help, std::uint64_t value) {
  text += std::string("# HELP nezha_aggregator_") + name + " " + help + "\n# TYPE nezha_aggregator_" + name + " " + type +
          "\nnezha_aggregator_" + name + " " + std::to_string(value) + "\n";
}

}  // namespace

AggregatorServer::AggregatorServer(const Options& options, const Log& log)
    : options_(options),
      core_(with_window(options.config), clock_, log, kNoRank, options.node, make_id(), Secret{}),
      service_(core_, options.key, options.limits, !options.config.aggregators.empty()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Status AggregatorServer::open(Notices& notices) {
  if (core_.self().id == 0) return {Code::internal, "the kernel gives no random bytes"};
  if (!wake_) return {Code::io, "no descriptor to be woken by"};
  if (Status status = open_transports(core_, 1, nullptr, notices); !status.ok()) return status;
  core_.greet_aggregators(options_.key);
  return service_.listen(options_.host, options_.port);
}

void AggregatorServer::stop() {
  stop_.store(true);
  wake();
}

void AggregatorServer::reload() {
  reload_.store(true);
  wake();
}

void AggregatorServer::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

bool AggregatorServer::run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    if (!reload_.exchange(false)) {
      turn();
      continue;
    }
    std::uint64_t woken = 0;
    [[maybe_unused]] const ssize_t got = read(wake_.get(), &woken, sizeof woken);
    return true;
  }
  put_statistics(false);
  return false;
}

void AggregatorServer::turn() {
  const bool moved = core_.progress(Watch::all);
  const Nanoseconds now = clock_.now();
  const bool step = now - stepped_ >= ServiceRest::kStepEvery;
  service_.progress(now, greeted_ || step);
  if (step) {
    stepped_ = now;
    core_.step(now);
    write_statistics(now);
  }
  if (moved) {
    moved_ = now;
    outstanding_ = true;
  } else if (outstanding_ && now - moved_ >= kPatience && now - settled_ >= kPatience) {
    settled_ = now;
    outstanding_ = core_.settle();
  }
  if (!moved || !service_.busy()) rest();  // else a large vector's next chunks are on their way
}

/// Until there is something to do, which may be so already. Without a sched_yield() before: beside five processes that compute, Linux
/// 6.18 lets one that yields wait for 16 ms in the mean, and one that sleeps for 0.3 ms.
void AggregatorServer::rest() {
  std::vector<pollfd> fds{{wake_.get(), POLLIN, 0}};
  for (const auto& transport : core_.transports()) fds.push_back({transport->wait_fd(Watch::all), POLLIN, 0});
  const std::size_t own = fds.size();
  service_.each_fd([&](int fd, bool write) { fds.push_back({fd, static_cast<short>(write ? POLLOUT : POLLIN), 0}); });
  const ServiceRest sleep{.stepped = stepped_, .due = core_.next_due(), .eager = outstanding_ || service_.busy()};
  const timespec time{0, sleep.span(clock_.now())};
  ppoll(fds.data(), fds.size(), &time, nullptr);
  greeted_ = std::any_of(fds.begin() + static_cast<std::ptrdiff_t>(own), fds.end(), [](const pollfd& fd) { return fd.revents != 0; });
}

std::string AggregatorServer::statistics(bool serves) const {
  const Aggregation::Counts& counts = service_.counts();
  const auto now = [serves](std::uint64_t value) { return serves ? value : 0; };
  std::string text;
  add(text, "operations_total", "counter", "Operations that were carried to their end.", counts.operations);
  add(text, "vector_bytes_total", "counter", "Bytes of the parts of vectors that were reduced.", counts.bytes);
  add(text, "given_up_total", "counter", "Communicators that were given up.", counts.given_up);
  add(text, "refused_total", "counter", "Greetings that were refused.", counts.refused);
  add(text, "clients", "gauge", "Processes that have lanes here.", now(service_.clients()));
  add(text, "communicators", "gauge", "Communicators that send something through it.", now(service_.stars()));
  if (!options_.config.aggregators.empty())
    add(text, "upstream", "gauge", "1: the upstream aggregator is there.", now(service_.linked() ? 1 : 0));
  add(text, "memory_bytes", "gauge", "Memory of operations under way.", now(service_.memory()));
  return text;
}

void AggregatorServer::write_statistics(Nanoseconds now) {
  if (written_ != 0 && now - written_ < kWriteEvery) return;
  written_ = now;
  put_statistics(true);
}

void AggregatorServer::put_statistics(bool serves) {
  if (options_.statistics.empty()) return;
  const Status status = replace_file({options_.statistics}, statistics(serves), Written::soon);  // operations wait meanwhile
  if (!status.ok() && !told_) core_.log().line(0, "statistics: %s", status.text().c_str());
  told_ = !status.ok();
}

}  // namespace nezha
