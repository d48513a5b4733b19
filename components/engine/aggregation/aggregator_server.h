// SPDX-License-Identifier: BSD-3-Clause
/// A whole aggregator without its command line: a core, the service, and the loop that drives them. One thread, but for
/// stop() and reload().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/aggregation/aggregation.h"
#include "engine/aggregation/service_rest.h"
#include "engine/core.h"
#include "engine/engine.h"

namespace nezha {

class AggregatorServer {
 public:
  struct Options {
    /// Of the rails: rail_include, rail_exclude, ip_version, port_range, single_node, checksum. If it names an aggregator, that
    /// is the upstream one.
    Config config;
    std::string node;
    std::string host;  ///< to listen at; empty: any address
    std::uint16_t port = 0;
    Secret key{};
    Aggregation::Limits limits;
    std::string statistics;  ///< a file for node_exporter; empty: none
  };

  AggregatorServer(const Options& options, const Log& log);

  /// Finds the rails and listens. `notices`: what the administrator should know.
  Status open(Notices& notices);
  std::uint16_t port() const { return service_.port(); }
  /// Until stop(): false; or until reload(): true, and it may run on.
  bool run();
  /// One turn of that: what has come, what is due, a rest if there is nothing.
  void turn();
  /// Any thread, or a signal's handler.
  void stop();
  /// The same.
  void reload();
  /// Between runs: for those who come from here on.
  void change(const Secret& key, const Aggregation::Limits& limits) {
    service_.change(key, limits);
    core_.greet_aggregators(key);
  }

  const Core& core() const { return core_; }
  const Aggregation& service() const { return service_; }

 private:
  void wake();
  void rest();
  void write_statistics(Nanoseconds now);
  void put_statistics(bool serves);
  /// Once it does not serve any more, nobody is here.
  std::string statistics(bool serves) const;

  const Options options_;
  const SystemClock clock_;
  Core core_;
  Aggregation service_;
  Fd wake_;
  std::atomic<bool> stop_ = false, reload_ = false;
  bool outstanding_ = false;
  bool greeted_ = true;  ///< the descriptors of greetings have something
  Nanoseconds moved_ = 0, settled_ = 0, stepped_ = 0, written_ = 0;
  bool told_ = false;  ///< that statistics cannot be written
};

}  // namespace nezha
