// SPDX-License-Identifier: BSD-3-Clause
#include "util/params.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "util/nearest_word.h"
#include "util/text.h"

namespace nezha {
namespace {

constexpr long long kKiB = 1024;
constexpr long long kMiB = 1024 * kKiB;
constexpr long long kAnySize = kMiB * kMiB;

// ---- from text to a field, by the field's type --------------------------------------------------------------------

Status not_allowed(const nezha_param_t& param, const std::string& allowed, std::string_view value) {
  return {Code::bad_parameter, std::string(param.name) + " takes " + allowed + ", not " + in_quotes(value)};
}

Status read(const nezha_param_t& param, std::string_view text, bool& field) {
  const auto is_text = [&](const char* word) { return text == word; };
  constexpr std::array kYes = {"1", "true", "yes", "on"};
  constexpr std::array kNo = {"0", "false", "no", "off"};
  const bool yes = std::any_of(kYes.begin(), kYes.end(), is_text);
  if (!yes && std::none_of(kNo.begin(), kNo.end(), is_text)) return not_allowed(param, "0 or 1", text);
  field = yes;
  return {};
}

Status read(const nezha_param_t& param, std::string_view text, int& field) {
  const std::optional<long long> number = parse_integer(text);
  if (!number || *number < param.min || *number > param.max) {
    return not_allowed(
        param, "a whole number from " + std::to_string(param.min) + " to " + std::to_string(param.max), text);
  }
  field = static_cast<int>(*number);
  return {};
}

Status read(const nezha_param_t& param, std::string_view text, std::size_t& field) {
  const std::optional<long long> bytes = parse_size(text);
  const bool chosen_by_nezha = bytes && *bytes == 0 && param.min > 0;
  if (!bytes || (*bytes < param.min && !chosen_by_nezha) || *bytes > param.max) {
    return not_allowed(
        param, (param.min > 0 ? "0 or bytes from " : "bytes from ") + size_text(param.min) + " to " + size_text(param.max) + " (k, m, g: powers of 1024)",
        text);
  }
  field = static_cast<std::size_t>(*bytes);
  return {};
}

template <typename Enum>
  requires std::is_enum_v<Enum>
Status read(const nezha_param_t& param, std::string_view text, Enum& field) {
  std::string_view rest = param.choices;
  for (int index = 0;; ++index) {
    const std::size_t bar = rest.find('|');
    if (text == rest.substr(0, bar)) {
      field = static_cast<Enum>(index);
      return {};
    }
    if (bar == std::string_view::npos) return not_allowed(param, std::string("one of ") + param.choices, text);
    rest.remove_prefix(bar + 1);
  }
}

template <typename Parsed>
  requires std::is_class_v<Parsed>
Status read(const nezha_param_t& param, std::string_view text, Parsed& field) {
  const Status status = parse(text, field);
  return status.ok() ? status : Status(status.code(), std::string(param.name) + ": " + status.text());
}

// ---- the table ----------------------------------------------------------------------------------------------------

template <typename Field>
constexpr nezha_param_type_t type_of() {
  if constexpr (std::is_same_v<Field, bool>) return NEZHA_PARAM_BOOL;
  if constexpr (std::is_same_v<Field, int>) return NEZHA_PARAM_INT;
  if constexpr (std::is_same_v<Field, std::size_t>) return NEZHA_PARAM_SIZE;
  if constexpr (std::is_enum_v<Field>) return NEZHA_PARAM_CHOICE;
  return NEZHA_PARAM_TEXT;
}

struct Range {
  long long min, max;
};
constexpr int kDecides = 1;

struct Row {
  nezha_param_t param;
  Status (*set)(Config&, const nezha_param_t&, std::string_view);
};

template <auto field>
constexpr Row row(const char* name, const char* fallback, Range range, const char* choices, int level, int decides,
                  const char* help) {
  using Field = std::remove_reference_t<decltype(std::declval<Config&>().*field)>;
  return {{name, type_of<Field>(), fallback, range.min, range.max, choices, level, decides, help},
          [](Config& config, const nezha_param_t& param, std::string_view text) {
            return read(param, text, config.*field);
          }};
}

constexpr std::array kRows = {
    row<&Config::enable>("enable", "1", {0, 1}, "0|1", 1, 0,
        "Whether Nezha is used at all. With 0 everything is as if it were not installed."),
    row<&Config::priority>("priority", "95", {0, 100}, "", 5, 0,
        "Priority among the coll components; the one of highest priority carries allreduce. At or below that of "
        "another component that offers allreduce, Nezha is not used."),
    row<&Config::verbose>("verbose", "0", {0, 3}, "", 2, 0,
        "How much is logged: 0 errors, 1 decisions and lost lanes, 2 rails and lanes, 3 failed attempts to connect; each "
        "includes those before it."),
    row<&Config::report>("report", "0", {0, 1}, "0|1", 2, 0,
        "With 1, rank 0 prints at the end of the job what each rail carried and how fast each message size was."),
    row<&Config::trace>("trace", "", {0, 0}, "FILE", 3, 0,
        "A file that rank 0 writes while the job runs, for nezha report: bytes on each rail over time, what happens to "
        "lanes, and what its calls took. It is made anew, and ends at 32 MiB. A second job that is given the same file, as by "
        "MPI_Comm_spawn, writes none while the first one runs. Empty: none."),
    row<&Config::single_node>("single_node", "0", {0, 8}, "", 8, 0,
        "For tests: the number of rails over the loopback interface (lo0 = 127.0.0.1, lo1 = 127.0.0.2, ...) that "
        "connect ranks of one host, in place of real rails. 0: off; see shared_memory for communicators within one node."),
    row<&Config::rail_include>("rail_include", "", {0, 0}, "[KIND/]NAME|ADDRESS/BITS,...", 1, 0,
        "Interfaces to use as rails, by name (eth0), block of addresses (10.1.0.0/16, fd00::/64) or address, "
        "separated by commas; their order is the order of the rails. With a kind of rail in front (tcp/eth0) a word is for "
        "that kind alone. Empty: every interface that looks like a network between nodes, or, if rail_exclude is empty too, "
        "those that btl_tcp_if_include names."),
    row<&Config::rail_exclude>("rail_exclude", "", {0, 0}, "[KIND/]NAME|ADDRESS/BITS,...", 1, 0,
        "Interfaces never to use as rails, in the form of rail_include. Empty: none, or, if rail_include is empty too, "
        "those that btl_tcp_if_exclude names."),
    row<&Config::ip_version>("ip_version", "auto", {0, 0}, "auto|4|6", 4, 0,
        "Addresses to use: 4 or 6 only, or auto: IPv4 where the interface has such an address, IPv6 elsewhere."),
    row<&Config::port_range>("port_range", "0", {0, 0}, "0|LOW-HIGH", 3, 0,
        "TCP ports that processes listen on, as LOW-HIGH, both included, for firewalls; each process takes one per "
        "rail. A rail without a free port in the range is left out. 0: any port that the kernel gives."),
    row<&Config::collectives>("collectives", "auto", {0, 0}, "auto|all|NAME,...", 3, 0,
        "The collectives that rails and shared memory carry, separated by commas: reduce_scatter, allgather, bcast, reduce "
        "and barrier, in all their forms, or all. allreduce is always one of them. auto: of 16 KiB and more all but barriers "
        "where each rank of a communicator has a node to itself; where ranks share a node's memory bcast and reduce, and the "
        "two others if nodes have equally many ranks and blocks are of one size; nothing where an algorithm is named. A "
        "communicator's first four such calls alone bring it no lanes. Others are left to Open MPI. "
        "The value of a communicator's rank 0 counts."),
    row<&Config::share>("share", "", {0, 0}, "RAIL:WEIGHT,...", 4, 0,
        "Fixed shares of the rails, as weights: eth0:2,eth1:1 gives two thirds to eth0. Only the ratios count. "
        "Empty: measured."),
    row<&Config::algorithm>("algorithm", "auto", {0, 0}, "auto|ring|mesh|single_step|doubling|halving|incumbent", 4, kDecides,
        "The algorithm of every allreduce. auto: by size, see small_max and mesh_block. single_step and doubling: up to "
        "32 KiB, a ring above. incumbent: Open MPI's own, always. With any other but auto a communicator's first call "
        "waits for its lanes, so that bits are the same run after run."),
    row<&Config::threshold>("threshold", "0", {0, kAnySize}, "", 4, kDecides,
        "Calls of fewer bytes than this go to Open MPI's own allreduce, or other collective. 0: none do."),
    row<&Config::small_max>("small_max", "16k", {0, kMostCopied}, "", 6, kDecides,
        "Largest vector in bytes that is sent whole in each step, of which there are fewest then. 0: none is."),
    row<&Config::mesh_block>("mesh_block", "8k", {0, kAnySize}, "", 6, kDecides,
        "Largest block in bytes (the vector divided by the ranks) for which the mesh is used, where all exchange with "
        "all in two steps. Larger vectors take the ring. 0: none takes the mesh."),
    row<&Config::mesh_peers>("mesh_peers", "32", {0, 1 << 20}, "", 4, kDecides,
        "A rank of a communicator has lanes to all others only where these are not more than this: mesh and single_step, where "
        "all exchange with all, need them. In larger ones it has lanes to those that ring, halving, doubling and barrier "
        "need, some two to four times the logarithm of the ranks, and meshes are not used. Between nodes whose ranks share "
        "memory, nodes count. Where algorithm names mesh or single_step all have lanes to all."),
    row<&Config::chunk>("chunk", "0", {kLeastChunk, kMostChunk}, "", 6, kDecides,
        "Bytes of one chunk, the unit in which a vector is sent and reduced. 0: chosen by the size of the vector."),
    row<&Config::reproducible>("reproducible", "0", {0, 1}, "0|1", 4, kDecides,
        "With 1, equal calls give equal bits in every run with the same ranks on the same nodes: only algorithms "
        "with one order of summation are used, and a communicator's first call waits for its lanes. With 0 only all ranks of one "
        "call are sure to have equal bits."),
    row<&Config::shared_memory>("shared_memory", "1", {0, 1}, "0|1", 4, kDecides,
        "With 1, ranks of one node add up in memory that they share, and only the sums go over the rails; communicators "
        "within one node need no rail. With 0, and where some node's ranks cannot share memory, every rank sends over rails, or over "
        "the loopback of its node, and communicators within one node are left to Open MPI's own allreduce."),
    row<&Config::learn>("learn", "1", {0, 1}, "0|1", 3, kDecides,
        "With 1, each message size finds the way that is fastest for it while the program runs: algorithms, for large "
        "vectors on one rail too, and Open MPI's own allreduce are tried for a few calls each, and looked at again ever more rarely. "
        "Nothing is tried where algorithm names one; with reproducible only what has the same bits. With 0 small_max "
        "and mesh_block decide, and no call is left to Open MPI's own allreduce by its size unless threshold or a table says so."),
    row<&Config::incumbent_margin>("incumbent_margin", "20", {0, 1000}, "", 4, kDecides,
        "Learning leaves a size to Open MPI's own allreduce only where all others take so many per cent longer: its calls "
        "are not protected against the loss of a network. 0: wherever it is faster, as within one node."),
    row<&Config::table>("table", "", {0, 0}, "FILE", 3, kDecides,
        "A file of what was learned before, as nezha-table(5) describes it. The sizes in it are settled from the first call "
        "on, and with learn looked at again like others; with learn 0 it is frozen. A file that is not sound is not used."),
    row<&Config::table_save>("table_save", "", {0, 0}, "FILE", 3, 0,
        "The file to which rank 0 of the job adds at MPI_Finalize what its communicators have learned. It may be the one "
        "that table names, also when there is none yet."),
    row<&Config::btl>("btl", "0", {0, 8}, "", 6, 0,
        "How many of the byte transfer layer modules that Open MPI itself sends by are rails too: btl/0, btl/1, ... For networks "
        "that no other kind of rail speaks. They move only while a rank is in an MPI call, and do not survive the loss of their "
        "network, since Open MPI does not. Open MPI has to send by the pml ob1. The same on all ranks."),
    row<&Config::aggregators>("aggregators", "", {0, 0}, "HOST:PORT,...", 3, kDecides,
        "Aggregation services (nezha-aggregate) to which a part of each large vector goes to be reduced there, beside the "
        "rails: up to 4. Those that all ranks of a communicator have reached share the part by their speed. In the place of a tree "
        "of services, each rank names that of its rack. Empty: none."),
    row<&Config::aggregator_key>("aggregator_key", "", {0, 0}, "FILE", 3, 0,
        "The file with the key by which ranks and the services of aggregators know each other, the same as that of "
        "nezha-aggregate: at least 32 bytes, which nobody but its owner may read or write."),
    row<&Config::aggregator_share>("aggregator_share", "auto", {0, 0}, "auto|0-100", 4, kDecides,
        "Per cent of each large vector that go through aggregators or SHARP; the rest goes over the rails. auto: what is "
        "fastest is found by trying. 0: none. Small vectors, up to 4 KiB, go whole through an aggregator where that is "
        "faster; with 100, always."),
    row<&Config::sharp>("sharp", "0", {0, 1}, "0|1", 3, kDecides,
        "With 1, a part of each large vector is reduced by the switches of an InfiniBand network, through NVIDIA's SHARP "
        "library, beside the rails. Not where bits are pinned (reproducible, or algorithm other than auto), because SHARP "
        "adds up in an order of its own, and not with aggregators. Needs a Nezha that was configured by --with-sharp."),
    row<&Config::strict_persistent_order>("strict_persistent_order", "0", {0, 1}, "0|1", 4, kDecides,
        "With 1, all ranks of a communicator start its persistent allreduces in the same order, as its other calls, and Nezha "
        "may carry them. MPI asks only for the same order of their making, and what is started in another order would be added up "
        "with what does not belong to it: with 0, Open MPI's own carries them. MPI 4.1 has an info key for the same promise, "
        "mpi_assert_strict_persistent_collective_ordering, which Open MPI does not hand on."),
    row<&Config::sharp_library>("sharp_library", "", {0, 0}, "FILE", 5, 0,
        "The SHARP library that sharp opens. Empty: the one that configure was told of, or libsharp_coll.so.5 where the "
        "dynamic linker finds it."),
    row<&Config::rail_threads>("rail_threads", "0", {0, 0}, "auto|0|1", 4, 0,
        "Whether each rail has a thread that sends its large frames, while the caller receives and reduces. auto: a rail "
        "that rail_cores names, and all of them where this node's ranks leave one more core of the process's cpuset to "
        "each rail. 0: none. 1: every rail has one. Rails that appear later have none."),
    row<&Config::rail_cores>("rail_cores", "", {0, 0}, "RAIL=CORES;...", 4, 0,
        "Cores that the threads of rails are bound to, by the kernel's numbers: eth0=2-3;eth1=4,6 (in quotes, for the "
        "shell). A list with a core outside the process's cpuset is not taken. Others, and rails without a list: those "
        "of the process's cores that are nearest the interface."),
    row<&Config::zero_copy>("zero_copy", "0", {4 * kKiB, kMiB}, "", 5, 0,
        "From so many bytes of a vector in a row on, 64k for example, the NIC of a verbs rail reads them from where they lie, in "
        "place of a copy. The memory is registered when it is first sent and stays so until it was freed, up to 1 GiB a rail. 0: "
        "all is copied, and no memory of the application's is registered."),
    row<&Config::checksum>("checksum", "0", {0, 1}, "0|1", 5, 0,
        "With 1, the bytes of the vector carry a CRC32C on the wire, and a lane that damages them is closed. With 0 "
        "only headers are checked, and the network's own checks are trusted for the rest."),
    row<&Config::timeout>("timeout", "60", {1, 86400}, "", 3, 0,
        "Seconds without any working lane to a peer before an allreduce fails with an MPI error. Until then it waits "
        "for one to return."),
    row<&Config::connect_timeout>("connect_timeout", "5", {1, 600}, "", 4, 0,
        "Seconds that the lanes to a peer are waited for when it is first needed; those that are not up by then are left "
        "out and named. Calls run on Open MPI's own allreduce meanwhile."),
    row<&Config::window>("window", "0", {0, 16 * kMiB}, "", 8, 0,
        "Bytes per peer that are kept of operations which this rank has not begun yet. A peer that is further ahead "
        "waits until it has. 0: 256k, and less from 17 other ranks in the job on, 16k at least."),
};

constexpr auto make_params() {
  std::array<nezha_param_t, kRows.size()> params{};
  for (std::size_t i = 0; i < kRows.size(); ++i) params[i] = kRows[i].param;
  return params;
}

constexpr auto kParams = make_params();

}  // namespace

Config::Config() {
  for (const Row& row : kRows) {
    if (!row.set(*this, row.param, row.param.fallback).ok()) std::terminate();
  }
}

namespace {

Status set_row(Config& config, const Row& row, std::string_view value) {
  if (const Status status = row.set(config, row.param, value); !status.ok()) return status;
  std::erase_if(config.given, [&](const GivenParameter& given) { return given.name == row.param.name; });
  if (value != row.param.fallback) config.given.push_back({row.param.name, std::string(value)});
  return {};
}

}  // namespace

Status set_parameter(Config& config, std::string_view name, std::string_view value) {
  for (const Row& row : kRows) {
    if (name == row.param.name) return set_row(config, row, trim(value));
  }
  return {Code::bad_parameter, "there is no parameter " + in_quotes(name)};
}

}  // namespace nezha

// ---- the C ABI ----------------------------------------------------------------------------------------------------

struct nezha_config {
  nezha::Config config;
};

namespace nezha {

Config& config_of(nezha_config_t& config) { return config.config; }
const Config& config_of(const nezha_config_t& config) { return config.config; }

}  // namespace nezha

const nezha_param_t* nezha_params(size_t* count) {
  *count = nezha::kParams.size();
  return nezha::kParams.data();
}

const char* nezha_params_nearest(const char* name) {
  try {
    std::array<std::string_view, nezha::kParams.size()> names;
    std::transform(nezha::kParams.begin(), nezha::kParams.end(), names.begin(), [](const nezha_param_t& row) { return row.name; });
    const std::size_t nearest = nezha::nearest_word(name, names);
    return nearest < names.size() ? nezha::kParams[nearest].name : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}

nezha_config_t* nezha_config_create() {
  try {
    return new nezha_config;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

unsigned nezha_config_collectives(const nezha_config_t* config) { return config->config.collectives.bits | 1u << NEZHA_ALLREDUCE; }

unsigned nezha_config_collectives_large(const nezha_config_t* config) { return config->config.collectives.large; }

void nezha_config_destroy(nezha_config_t* config) { delete config; }

int nezha_config_set(nezha_config_t* config, const char* name, const char* value, char* why, size_t why_size) {
  try {
    const nezha::Status status = nezha::set_parameter(config->config, name, value);
    if (status.ok()) return NEZHA_OK;
    std::snprintf(why, why_size, "%s", status.text().c_str());
  } catch (const std::exception&) {
    std::snprintf(why, why_size, "%s", "no memory to read the parameter");
  }
  return NEZHA_ERR_PARAM;
}

int nezha_config_inherit(nezha_config_t* config, const char* include, const char* exclude, char* why, size_t why_size) {
  const auto given = [](const char* text) { return text != nullptr && *text != '\0'; };
  if (!config->config.rail_include.empty() || !config->config.rail_exclude.empty()) return NEZHA_OK;
  if (given(include)) return nezha_config_set(config, "rail_include", include, why, why_size);
  if (given(exclude)) return nezha_config_set(config, "rail_exclude", exclude, why, why_size);
  return NEZHA_OK;
}
