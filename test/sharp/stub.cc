// SPDX-License-Identifier: BSD-3-Clause
/// A library that answers what Nezha uses of SHARP's interface, for tests. Vectors are reduced by an aggregation service
/// (nezha-aggregate), which has the place of the switches. It has no complex types and no products.
///
/// NEZHA_SHARP_STUB_SERVICE in the environment says where the service is, see ServiceClient::read().
/// NEZHA_SHARP_STUB makes it fail: words separated by commas. "rank=R": on that rank alone.
///   init=error, init=hang    sharp_coll_init fails before it asks for any collective, or never returns
///   comm=error               sharp_coll_comm_init fails, likewise
///   finalize=hang            sharp_coll_finalize never returns
///   error=N, hang=N          the operations from number N on (the first is 0) end with an error, or never
///   float=no                 there are no sums of float
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "service_client.h"
#include "sharp/sharp_api.h"
#include "sharp/sharp_types.h"
#include "util/random.h"

using namespace nezha;
using namespace nezha::sharp_api;
using test::ServiceClient;

namespace {

constexpr int kNoService = -30, kNoSums = -31;

/// The value of a word of NEZHA_SHARP_STUB; empty: it is not there, or means another rank.
std::string fault(const char* name, int rank) {
  const char* const text = std::getenv("NEZHA_SHARP_STUB");
  std::string words = "," + std::string(text == nullptr ? "" : text) + ",";
  const auto value = [&](const std::string& of) {
    const std::size_t at = words.find("," + of + "=");
    const std::size_t begin = at + of.size() + 2;
    return at == std::string::npos ? std::string() : words.substr(begin, words.find(',', begin) - begin);
  };
  const std::string only = value("rank");
  return only.empty() || std::stoi(only) == rank ? value(name) : "";
}

[[noreturn]] void hang() {
  for (;;) pause();
}

}  // namespace

struct sharp_api::Context {
  InitSpec spec;
  ServiceClient client;
};

struct sharp_api::Comm {
  ServiceClient& client;
  int rank = 0;
  std::size_t operations = 0;
};

namespace {

struct Reduction {
  ServiceClient& client;
  ServiceClient::Work work;
  bool fails = false, hangs = false;
};

/// The inverse of sharp_type() and sharp_op().
template <typename Theirs, typename Ours>
Ours ours(Theirs theirs, Ours last, Theirs (*of)(Ours)) {
  for (int i = 0; i < last; ++i)
    if (of(static_cast<Ours>(i)) == theirs) return static_cast<Ours>(i);
  return {};
}

/// Everybody's number, at rank 0, which hands them out again.
int compare_ranks(const InitSpec& spec) {
  std::vector<int> numbers(static_cast<std::size_t>(spec.world_size), -1);
  int own = spec.world_rank;
  const OutOfBand& collectives = spec.oob_colls;
  if (collectives.gather(spec.oob_ctx, 0, &own, numbers.data(), sizeof own) != 0) return kOutOfBandError;
  const int size = static_cast<int>(numbers.size() * sizeof own);
  if (collectives.bcast(spec.oob_ctx, numbers.data(), size, 0) != 0) return kOutOfBandError;
  for (int rank = 0; rank < spec.world_size; ++rank)
    if (numbers[static_cast<std::size_t>(rank)] != rank) return kError;
  return kSuccess;
}

/// Where all members reach the same service, rank 0 draws the number of their star. A member that reaches none takes part.
int join(const OutOfBand& collectives, const CommSpec& spec, ServiceClient& client) {
  std::vector<std::uint64_t> services(static_cast<std::size_t>(spec.size));
  std::uint64_t own = client.reached();
  if (collectives.gather(spec.oob_ctx, 0, &own, services.data(), sizeof own) != 0) return kOutOfBandError;
  TeamId star = 0;
  const auto same = [&](std::uint64_t other) { return other == own && other != 0; };
  if (spec.rank == 0 && std::all_of(services.begin(), services.end(), same) && !random_id(star).ok()) star = 0;
  if (collectives.bcast(spec.oob_ctx, &star, sizeof star, 0) != 0) return kOutOfBandError;
  if (star == 0) return kNoService;
  client.join(star, spec.size, spec.rank);
  return collectives.barrier(spec.oob_ctx) == 0 ? kSuccess : kOutOfBandError;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

extern const sharp_api::Config sharp_coll_default_config;
const sharp_api::Config sharp_coll_default_config = {nullptr, 128, -1, 0, {}};

int sharp_coll_init(InitSpec* spec, Context** context) {
  if (fault("init", spec->world_rank) == "error") return -8;
  if (fault("init", spec->world_rank) == "hang") hang();
  const char* const place = std::getenv("NEZHA_SHARP_STUB_SERVICE");
  ServiceClient::Service service;
  Status status = ServiceClient::read(place == nullptr ? "" : place, service);
  char node[256] = "";
  gethostname(node, sizeof node - 1);
  std::unique_ptr<Context> made;
  if (status.ok()) {
    made.reset(new Context{*spec, {service, static_cast<std::uint32_t>(spec->world_rank), node}});
    status = made->client.open();
  }
  if (!status.ok()) std::fprintf(stderr, "sharp stub: %s\n", status.text().c_str());
  if (!status.ok()) return kNoService;
  if (const int error = compare_ranks(*spec); error != kSuccess) return error;
  *context = made.release();
  return kSuccess;
}

int sharp_coll_finalize(Context* context) {
  const bool hangs = fault("finalize", context->spec.world_rank) == "hang";
  delete context;  // its thread must not outlive the program's statics
  if (hangs) hang();
  return kSuccess;
}

int sharp_coll_caps_query(Context* context, Caps* caps) {
  for (int type = NEZHA_INT8; type < NEZHA_TYPE_COUNT; ++type)
    if (const DataType theirs = sharp_type(static_cast<nezha_type_t>(type)); theirs != kNoType)
      caps->support_mask.dtypes |= std::uint64_t{1} << theirs;
  if (fault("float", context->spec.world_rank) == "no") caps->support_mask.dtypes &= ~(std::uint64_t{1} << kFloat);
  for (int op = NEZHA_SUM; op < NEZHA_OP_COUNT; ++op)
    if (op != NEZHA_PROD) caps->support_mask.reduce_ops |= std::uint64_t{1} << sharp_op(static_cast<nezha_op_t>(op));
  return kSuccess;
}

/// A context has one communicator.
int sharp_coll_comm_init(Context* context, CommSpec* spec, Comm** comm) {
  if (fault("comm", spec->rank) == "error") return -4;
  if (const int error = join(context->spec.oob_colls, *spec, context->client); error != kSuccess) return error;
  *comm = new Comm{context->client, spec->rank};
  return kSuccess;
}

int sharp_coll_comm_destroy(Comm* comm) {
  comm->client.leave();
  delete comm;
  return kSuccess;
}

int sharp_coll_do_allreduce_nb(Comm* comm, ReduceSpec* spec, void** request) {
  const auto reached = [&](const char* name) {
    const std::string from = fault(name, comm->rank);
    return !from.empty() && comm->operations >= std::stoul(from);
  };
  if (spec->send.mem_handle != spec->send.ptr || spec->recv.ptr == nullptr) return -10;
  auto* const made = new Reduction{comm->client, {}, reached("error"), reached("hang")};
  ++comm->operations;
  ServiceClient::Work& work = made->work;
  work.call.send = static_cast<const std::byte*>(spec->send.ptr);
  work.call.recv = static_cast<std::byte*>(spec->recv.ptr);
  work.call.count = spec->length;
  work.call.element = spec->send.length / spec->length;
  work.call.star.type = ours(spec->dtype, NEZHA_TYPE_COUNT, sharp_type);
  work.call.star.op = ours(spec->op, NEZHA_OP_COUNT, sharp_op);
  comm->client.begin(work);
  *request = made;
  return kSuccess;
}

int sharp_coll_req_test(void* request) {
  const auto* const made = static_cast<Reduction*>(request);
  return !made->hangs && made->work.outcome != ServiceClient::Work::Outcome::under_way;
}

int sharp_coll_req_wait(void* request) {
  const std::unique_ptr<Reduction> made(static_cast<Reduction*>(request));
  made->client.wait(made->work);
  if (made->fails) return kError;
  return made->work.outcome == ServiceClient::Work::Outcome::summed ? kSuccess : kNoSums;
}

/// It has to be given with each operation: its handle is the memory's address.
int sharp_coll_reg_mr(Context*, void* buffer, std::size_t, void** handle) {
  *handle = buffer;
  return kSuccess;
}

int sharp_coll_dereg_mr(Context*, void*) { return kSuccess; }

const char* sharp_coll_strerror(int error) {
  switch (error) {
    case kOutOfBandError:
      return "Out-of-band collective error";
    case kNoService:
      return "not all ranks reach the same aggregation service";
    case kNoSums:
      return "the aggregation service has brought no sums";
    default:
      return "an error of the stub";
  }
}

}  // extern "C"
#pragma GCC visibility pop
