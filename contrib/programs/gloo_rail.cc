/* SPDX-License-Identifier: BSD-3-Clause */
#include "gloo_rail.h"

#include <mpi.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>

namespace nezha_bench {
namespace {

/// gloo::rendezvous needs a shared directory or a server; MPI is there already.
class MeshContext : public gloo::Context {
 public:
  MeshContext(int rank, int ranks) : gloo::Context(rank, ranks) {}

  void connect(std::shared_ptr<gloo::transport::Device> device) {
    device_ = std::move(device);
    transportContext_ = device_->createContext(rank, size);
    transportContext_->setTimeout(getTimeout());
    const auto theirs = exchange(own_addresses());
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) transportContext_->getPair(peer)->connect(theirs[peer]);
    }
  }

 private:
  using Bytes = std::vector<char>;

  /// One address per peer; all of Gloo's TCP addresses are equally long, and an own one is left empty.
  std::vector<Bytes> own_addresses() {
    std::vector<Bytes> own(size);
    for (int peer = 0; peer < size; peer++) {
      if (peer != rank) own[peer] = transportContext_->createPair(peer)->address().bytes();
    }
    return own;
  }

  /// What each peer has for us, for what we have for each peer.
  std::vector<Bytes> exchange(const std::vector<Bytes>& own) {
    const size_t width = own[rank == 0 ? size - 1 : 0].size();
    Bytes sent(width * size), received(width * size);
    for (int peer = 0; peer < size; peer++) std::copy(own[peer].begin(), own[peer].end(), sent.begin() + width * peer);
    const int length = static_cast<int>(width);
    MPI_Alltoall(sent.data(), length, MPI_BYTE, received.data(), length, MPI_BYTE, MPI_COMM_WORLD);
    std::vector<Bytes> theirs;
    for (int peer = 0; peer < size; peer++)
      theirs.emplace_back(received.begin() + width * peer, received.begin() + width * (peer + 1));
    return theirs;
  }
};

}  // namespace

std::shared_ptr<gloo::Context> connect_over(const std::string& interface, int rank, int ranks) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = interface;
  auto context = std::make_shared<MeshContext>(rank, ranks);
  context->connect(gloo::transport::tcp::CreateDevice(attributes));
  return context;
}

RailThread::RailThread() : thread_([this] { work(); }) {}

RailThread::~RailThread() {
  {
    std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RailThread::start(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    job_ = std::move(job);
    busy_ = true;
  }
  changed_.notify_all();
}

void RailThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void RailThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return busy_ || leaving_; });
    if (!busy_) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      job_();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace nezha_bench
