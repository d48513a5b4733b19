// SPDX-License-Identifier: BSD-3-Clause
/// The parameters, parsed. A new parameter is a field here and a row of the table in params.cc; a field of a new type
/// also needs a `Status parse(std::string_view, T&)`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "nezha/nezha.h"
#include "util/aggregator_list.h"
#include "util/collective.h"
#include "util/core_list.h"
#include "util/file.h"
#include "util/interface_list.h"
#include "util/ip_version.h"
#include "util/port_range.h"
#include "util/share_list.h"

namespace nezha {

/// Vectors beyond this are never sent whole, which takes a copy (single-step mesh, recursive doubling).
constexpr std::size_t kMostCopied = 32 * 1024;
/// Larger ones are reduced by mesh or halving only if the user says so: the mesh keeps a block of every rank, halving may have to.
constexpr std::size_t kMostMesh = std::size_t{32} * 1024 * 1024;

/// Bytes of a chunk that may be asked for. Smaller ones would cost a frame and a record for hardly any bytes.
constexpr std::size_t kLeastChunk = 512;
constexpr std::size_t kMostChunk = 256 * 1024;

/// Enumerators are in the order of the words in the parameter's row, which ends with incumbent. memory is no word of it: a
/// team within one node uses it wherever another one uses an algorithm over rails.
enum class AlgorithmChoice { automatic, ring, mesh, single_step, doubling, halving, incumbent, memory };

enum class RailThreads { automatic, none, all };

/// A parameter that was set to another text than its default.
struct GivenParameter {
  std::string_view name;  ///< that of the table
  std::string value;
};

/// What each means, its unit and its range: the help sentences in params.cc.
struct Config {
  /// Every parameter at its default.
  Config();

  // What is used.
  bool enable{};
  int priority{};
  int single_node{};  ///< number of loopback rails; 0 = off
  int btl{};          ///< number of Open MPI's own modules that are rails
  InterfaceList rail_include;
  InterfaceList rail_exclude;
  IpVersion ip_version{};
  PortRange port_range;
  CollectiveSet collectives;

  // How it is used.
  ShareList share;
  AlgorithmChoice algorithm{};
  std::size_t threshold{};  ///< bytes
  std::size_t small_max{};  ///< bytes
  std::size_t mesh_block{}; ///< bytes
  int mesh_peers{};
  std::size_t chunk{};      ///< bytes; 0 = chosen by size
  bool reproducible{};
  bool shared_memory{};
  bool learn{};
  int incumbent_margin{};  ///< per cent
  FilePath table;
  FilePath table_save;
  AggregatorList aggregators;
  FilePath aggregator_key;
  AggregatorShare aggregator_share;
  bool sharp{};
  bool strict_persistent_order{};
  FilePath sharp_library;
  std::size_t zero_copy{};  ///< bytes; 0 = never
  RailThreads rail_threads{};
  CoreList rail_cores;

  // How it is guarded.
  bool checksum{};
  int timeout{};          ///< seconds
  int connect_timeout{};  ///< seconds
  std::size_t window{};   ///< bytes

  // What it says.
  int verbose{};  ///< level of Log
  bool report{};
  FilePath trace;

  std::vector<GivenParameter> given;  ///< in the order in which they were set
};

/// Sets one parameter from text. On bad text `config` is unchanged and the status says what is allowed.
Status set_parameter(Config& config, std::string_view name, std::string_view value);

/// The parameters behind the C handle; lives as long as the handle.
Config& config_of(nezha_config_t& config);
const Config& config_of(const nezha_config_t& config);

}  // namespace nezha
