// SPDX-License-Identifier: BSD-3-Clause
/// A library that answers what Nezha uses of SHARP's interface, for tests: ranks of one host, by a reducer in the process of
/// rank 0, over Unix sockets of the abstract namespace. It adds up from the last rank to the first, which is not Nezha's order,
/// and has no complex types and no products.
///
/// NEZHA_SHARP_STUB in the environment makes it fail: words separated by commas. "rank=R": on that rank alone.
///   init=error, init=hang    sharp_coll_init fails before it asks for any collective, or never returns
///   comm=error               sharp_coll_comm_init fails, likewise
///   error=N, hang=N          the operations from number N on (the first is 0) end with an error, or never
///   float=no                 there are no sums of float
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "reduce/reduce.h"
#include "sharp/sharp_api.h"
#include "sharp/sharp_types.h"

using namespace nezha;
using namespace nezha::sharp_api;

namespace {

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

bool transfer(int fd, void* data, std::size_t size, bool out) {
  auto* at = static_cast<char*>(data);
  while (size != 0) {
    const ssize_t done = out ? send(fd, at, size, MSG_NOSIGNAL) : recv(fd, at, size, 0);
    if (done <= 0) return false;
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

struct Header {
  std::uint64_t bytes, element;
  int type, op;
};

/// Gets a contribution of each rank, and sends all the sums, until one hangs up.
void reduce_for(std::vector<int> ranks) {
  for (std::vector<char> sum, next;;) {
    Header header{};
    for (std::size_t i = ranks.size(); i-- != 0;) {
      if (!transfer(ranks[i], &header, sizeof header, false)) goto over;
      next.resize(header.bytes);
      if (!transfer(ranks[i], next.data(), next.size(), false)) goto over;
      const ReduceKernel kernel = find_kernel(static_cast<nezha_type_t>(header.type), static_cast<nezha_op_t>(header.op));
      if (i + 1 == ranks.size())
        sum.swap(next);
      else
        kernel(next.data(), sum.data(), sum.data(), sum.size() / header.element);
    }
    for (const int rank : ranks)
      if (!transfer(rank, sum.data(), sum.size(), true)) goto over;
  }
over:
  for (const int rank : ranks) close(rank);
}

sockaddr_un place(const char* name, socklen_t& size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::strlen(name));
  return address;
}

}  // namespace

struct sharp_api::Context {
  InitSpec spec;
};

struct sharp_api::Comm {
  int fd = -1, rank = 0;
  std::size_t operations = 0;
};

namespace {

struct Request {
  std::atomic<int> state = 1;  ///< 1: under way
  bool hangs = false;
  std::thread thread;
};

int socket_for(const char* name, bool listens) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t size = 0;
  const sockaddr_un address = place(name, size);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  if (listens ? bind(fd, where, size) == 0 && listen(fd, 64) == 0 : connect(fd, where, size) == 0) return fd;
  close(fd);
  return -1;
}

/// Rank 0 listens, all connect, and say which rank they are.
int join(const Context& context, const CommSpec& spec, Comm& comm) {
  const OutOfBand& collectives = context.spec.oob_colls;
  char name[64];
  std::snprintf(name, sizeof name, "nezha-sharp-stub-%d-%llx", getpid(), static_cast<unsigned long long>(context.spec.job_id));
  const int door = spec.rank == 0 ? socket_for(name, true) : -1;
  if (collectives.bcast(spec.oob_ctx, name, sizeof name, 0) != 0) return kOutOfBandError;
  comm.fd = socket_for(name, false);
  std::int32_t rank = spec.rank;
  if (comm.fd < 0 || !transfer(comm.fd, &rank, sizeof rank, true)) return kError;
  if (spec.rank == 0) {
    std::vector<int> ranks(static_cast<std::size_t>(spec.size));
    for (int i = 0; i < spec.size; ++i) {
      const int fd = accept(door, nullptr, nullptr);
      if (!transfer(fd, &rank, sizeof rank, false)) return kError;
      ranks[static_cast<std::size_t>(rank)] = fd;
    }
    close(door);
    std::thread(reduce_for, ranks).detach();
  }
  return collectives.barrier(spec.oob_ctx) == 0 ? kSuccess : kOutOfBandError;
}

/// The inverse of sharp_type() and sharp_op().
template <typename Theirs, typename Ours>
int ours(Theirs theirs, Ours last, Theirs (*of)(Ours)) {
  for (int i = 0; i < last; ++i)
    if (of(static_cast<Ours>(i)) == theirs) return i;
  return 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

extern const Config sharp_coll_default_config;
const Config sharp_coll_default_config = {nullptr, 128, -1, 0, {}};

int sharp_coll_init(InitSpec* spec, Context** context) {
  if (fault("init", spec->world_rank) == "error") return -8;
  if (fault("init", spec->world_rank) == "hang") hang();
  // Everybody's number, at rank 0, which hands them out again.
  std::vector<int> numbers(static_cast<std::size_t>(spec->world_size), -1);
  int own = spec->world_rank;
  const OutOfBand& collectives = spec->oob_colls;
  if (collectives.gather(spec->oob_ctx, 0, &own, numbers.data(), sizeof own) != 0) return kOutOfBandError;
  if (collectives.bcast(spec->oob_ctx, numbers.data(), static_cast<int>(numbers.size() * sizeof own), 0) != 0) return kOutOfBandError;
  for (int rank = 0; rank < spec->world_size; ++rank)
    if (numbers[static_cast<std::size_t>(rank)] != rank) return kError;
  *context = new Context{*spec};
  return kSuccess;
}

int sharp_coll_finalize(Context* context) {
  delete context;
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

int sharp_coll_comm_init(Context* context, CommSpec* spec, Comm** comm) {
  if (fault("comm", spec->rank) == "error") return -4;
  Comm made{-1, spec->rank, 0};
  if (const int error = join(*context, *spec, made); error != 0) return error;
  *comm = new Comm(made);
  return kSuccess;
}

int sharp_coll_comm_destroy(Comm* comm) {
  close(comm->fd);
  delete comm;
  return kSuccess;
}

int sharp_coll_do_allreduce_nb(Comm* comm, ReduceSpec* spec, void** request) {
  const auto reached = [&](const char* name) {
    const std::string from = fault(name, comm->rank);
    return !from.empty() && comm->operations >= std::stoul(from);
  };
  const bool fails = reached("error"), hangs = reached("hang");
  ++comm->operations;
  if (spec->send.mem_handle != spec->send.ptr || spec->recv.ptr == nullptr) return -10;
  auto* made = new Request;
  made->hangs = hangs;
  Header header{spec->send.length, spec->send.length / spec->length, ours(spec->dtype, NEZHA_TYPE_COUNT, sharp_type),
                      ours(spec->op, NEZHA_OP_COUNT, sharp_op)};
  made->thread = std::thread([made, fails, fd = comm->fd, header, from = spec->send.ptr, to = spec->recv.ptr]() mutable {
    const bool done = transfer(fd, &header, sizeof header, true) && transfer(fd, from, header.bytes, true) &&
                      transfer(fd, to, header.bytes, false);
    made->state = done && !fails ? kSuccess : kError;
  });
  *request = made;
  return kSuccess;
}

int sharp_coll_req_test(void* request) {
  const auto* const made = static_cast<Request*>(request);
  return !made->hangs && made->state != 1;
}

int sharp_coll_req_wait(void* request) {
  auto* const made = static_cast<Request*>(request);
  made->thread.join();
  const int state = made->state;
  delete made;
  return state;
}

/// It has to be given with each operation: its handle is the memory's address.
int sharp_coll_reg_mr(Context*, void* buffer, std::size_t, void** handle) {
  *handle = buffer;
  return kSuccess;
}

int sharp_coll_dereg_mr(Context*, void*) { return kSuccess; }

const char* sharp_coll_strerror(int error) { return error == kOutOfBandError ? "Out-of-band collective error" : "an error of the stub"; }

}  // extern "C"
#pragma GCC visibility pop
