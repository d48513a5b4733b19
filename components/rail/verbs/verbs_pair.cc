// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_pair.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "rail/verbs/verbs_place.h"
#include "rail/verbs/verbs_request.h"
#include "util/random.h"

namespace nezha {
namespace {

constexpr std::uint32_t kMost24 = (1U << 24) - 1;
constexpr std::uint8_t kRnrForever = 7;  ///< credits keep it from happening often
constexpr std::uint8_t kRnrTimer = 1;    ///< 10 us

/// Within a subnet of InfiniBand, whose GIDs begin alike, the LID does, if the ports have one.
bool needs_gid(const PairWords& one, const PairWords& other) {
  constexpr std::size_t kSubnet = 8;
  return !one.infiniband || one.needs_gid || other.needs_gid ||
         !std::equal(one.gid.begin(), one.gid.begin() + kSubnet, other.gid.begin());
}

}  // namespace

VerbsPair::VerbsPair(VerbsPairHost& host, VerbsDevice& device, const VerbsOptions& options, Fd fd, bool connecting,
                     std::uint32_t number)
    : host_(host), device_(device), options_(options), fd_(std::move(fd)), connecting_(connecting), number_(number),
      receives_(device.receives(options)) {}

Status VerbsPair::enroll(const Slots& slots, QueuePairEvents& events) {
  slots_ = slots;
  events_ = &events;
  queue_ = std::make_shared<VerbsQueue>(device_);
  queue_->owner = slots.owner;
  queue_->receives = receives_;
  queue_->lent.resize(slots.sends);
  Status status = device_.enroll(slots.memory, queue_->memory);
  return status.ok() ? make_pair() : status;
}

Status VerbsPair::make_pair() {
  const VerbsLibrary& verbs = device_.verbs();
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = device_.completions();
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {slots_.sends + options_.signal_every, slots_.receives, 2, 1, options_.inline_bytes};
  if (receives_ != nullptr) wanted.srq = receives_->queue();
  ibv_qp*& pair = queue_->pair;
  pair = verbs.create_qp(device_.domain(), &wanted);
  if (pair == nullptr) {  // some devices copy less, or nothing
    wanted.cap.max_inline_data = 0;
    pair = verbs.create_qp(device_.domain(), &wanted);
  }
  if (pair == nullptr) return verbs_error("a queue pair", errno);
  if (receives_ != nullptr) receives_->join(pair->qp_num, number_);
  inline_bytes_ = std::min(wanted.cap.max_inline_data, options_.inline_bytes);
  depth_ = slots_.sends + options_.signal_every;
  if (Status status = device_.reserve(depth_ + slots_.receives); !status.ok()) return status;
  queue_->reserved = depth_ + slots_.receives;
  ibv_qp_attr first{};
  first.qp_state = IBV_QPS_INIT;
  first.port_num = device_.port();
  const int error = verbs.modify_qp(pair, &first, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) return verbs_error("a queue pair's first state", error);

  ibv_port_attr port;
  if (Status status = device_.ask_port(port); !status.ok()) return status;
  ibv_gid gid;
  if (Status status = device_.find_gid(gid_index_, gid); !status.ok()) return status;
  std::array<std::byte, 4> random;
  if (Status status = random_bytes(random); !status.ok()) return status;
  std::memcpy(&own_.first_packet, random.data(), sizeof own_.first_packet);
  own_.first_packet &= kMost24;
  own_.mtu = static_cast<std::uint8_t>(port.active_mtu);
  own_.infiniband = device_.infiniband();
  own_.number = pair->qp_num;
  own_.lid = port.lid;
  own_.needs_gid = (port.flags & IBV_QPF_GRH_REQUIRED) != 0;
  std::memcpy(own_.gid.data(), gid.raw, own_.gid.size());
  return {};
}

Status VerbsPair::start() {
  step_ = connecting_ ? Step::dialing : Step::asking;
  return host_.watch(*this, connecting_);
}

bool VerbsPair::look() {
  Status status;
  if (step_ == Step::dialing) {
    status = dialed();
  } else if (step_ == Step::asking) {
    status = hear();
  } else {
    char unused;
    const ssize_t got = recv(fd_.get(), &unused, 1, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return true;
    if (got > 0) status = {Code::bad_wire, "words out of turn"};
  }
  if (!status.ok()) lose(status);
  return false;
}

Status VerbsPair::dialed() {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return verbs_error("connecting", error);
  step_ = Step::asking;
  if (Status status = tell(); !status.ok()) return status;
  events_->reached();
  return host_.watch(*this, false);
}

Status VerbsPair::tell() {
  const PairWordsBytes words = write_pair_words(own_);
  // So few bytes always fit into the empty buffer of a new connection.
  const ssize_t sent = send(fd_.get(), words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(words.size()) ? Status{} : verbs_error("setting a pair up", sent < 0 ? errno : EIO);
}

Status VerbsPair::hear() {
  const ssize_t got = recv(fd_.get(), heard_.data() + heard_bytes_, heard_.size() - heard_bytes_, MSG_DONTWAIT);
  if (got == 0) return {Code::refused, "the other side closed the connection before the pair was up"};
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Status{} : verbs_error("setting a pair up", errno);
  heard_bytes_ += static_cast<std::size_t>(got);
  if (heard_bytes_ < heard_.size()) return {};
  PairWords other;
  if (Status status = read_pair_words(heard_, other); !status.ok()) return status;
  if (other.infiniband != own_.infiniband) return {Code::refused, "one side is InfiniBand and the other Ethernet"};
  if (!is_from(other)) return {Code::refused, "its pair has another address than its connection"};
  begin_to_move(other);
  return {};
}

bool VerbsPair::is_from(const PairWords& other) const {
  if (other.infiniband) return true;
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  return gid_of(place_of(address)) == other.gid;
}

void VerbsPair::begin_to_move(const PairWords& other) {
  ibv_qp_attr& receive = queue_->receive;
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = static_cast<ibv_mtu>(std::min(own_.mtu, other.mtu));
  receive.dest_qp_num = other.number;
  receive.rq_psn = other.first_packet;
  receive.min_rnr_timer = kRnrTimer;
  receive.ah_attr.port_num = device_.port();
  receive.ah_attr.dlid = other.lid;
  receive.ah_attr.is_global = needs_gid(own_, other);
  receive.ah_attr.grh.sgid_index = gid_index_;
  receive.ah_attr.grh.hop_limit = 64;
  std::memcpy(receive.ah_attr.grh.dgid.raw, other.gid.data(), other.gid.size());
  ibv_qp_attr& sending = queue_->send;
  sending.qp_state = IBV_QPS_RTS;
  sending.timeout = options_.timeout;
  sending.retry_cnt = options_.retries;
  sending.rnr_retry = kRnrForever;
  sending.sq_psn = own_.first_packet;
  step_ = Step::moving;
  host_.move(*this, *queue_);
}

void VerbsPair::moved() {
  if (step_ != Step::moving) return;
  Status status = queue_->error == 0 ? Status{} : verbs_error(queue_->step, queue_->error);
  step_ = Step::up;
  if (status.ok() && !connecting_) status = tell();
  if (!status.ok()) return lose(status);
  events_->connected();
}

Status VerbsPair::post_receive(std::uint32_t slot) {
  if (receives_ != nullptr) return receives_->post(slot);
  ibv_sge place = verbs_sge(slots_.at(slot), *queue_->memory);
  ibv_recv_wr wanted{verbs_request(number_, slot), nullptr, &place, 1};
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_recv(queue_->pair, &wanted, &bad);
  return error == 0 ? Status{} : verbs_error("a receive", error);
}

Lent VerbsPair::lend(std::span<const std::byte> bytes, std::size_t reach) {
  if (!device_.regions().usable()) return {};
  std::shared_ptr<ibv_mr> region = device_.regions().find(device_.domain(), bytes, reach);
  return region != nullptr ? Lent{bytes, std::move(region)} : Lent{};
}

QueuePair::Posted VerbsPair::post_lent(std::uint32_t slot, std::size_t size, const Lent& lent) {
  if (step_ != Step::up || posted_ >= depth_) return Posted::later;
  const bool lends = !lent.bytes.empty();
  const bool copied = size <= inline_bytes_ && !lends;
  const bool completes = !copied || unsignalled_ + 1 >= options_.signal_every;
  ibv_sge parts[] = {verbs_sge(slots_.at(slot).first(size), *queue_->memory), {}};
  if (lends) parts[1] = verbs_sge(lent.bytes, *static_cast<const ibv_mr*>(lent.region.get()));
  ibv_send_wr wanted{};
  wanted.wr_id = verbs_request(number_, copied ? slot | kCopiedSlot : slot);
  wanted.sg_list = parts;
  wanted.num_sge = lends ? 2 : 1;
  wanted.opcode = IBV_WR_SEND;
  wanted.send_flags = (copied ? unsigned{IBV_SEND_INLINE} : 0U) | (completes ? unsigned{IBV_SEND_SIGNALED} : 0U);
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(queue_->pair, &wanted, &bad);
  if (error == ENOMEM && posted_ != 0) return Posted::later;
  if (error != 0) return Posted::failed;
  if (lends) queue_->lent[slot - slots_.receives] = lent.region;
  ++posted_;
  ++unsignalled_;
  if (completes) covers_.push_back(std::exchange(unsignalled_, 0));
  return copied ? Posted::copied : Posted::yes;
}

void VerbsPair::complete(const ibv_wc& completion) {
  const std::uint32_t slot = slot_of(completion.wr_id);
  if (completion.status != IBV_WC_SUCCESS)
    return lose({Code::io, std::string("the NIC says: ") + device_.verbs().wc_status_str(completion.status)});
  if ((slot & kSharedSlot) != 0 || slot < slots_.receives) return events_->received(slot & ~kSharedSlot, completion.byte_len);
  posted_ -= covers_.front();
  covers_.pop_front();
  if ((slot & kCopiedSlot) != 0) return;
  queue_->lent[slot - slots_.receives] = nullptr;
  events_->sent(slot);
}

void VerbsPair::lose(const Status& why) {
  if (step_ != Step::over) events_->broken(why);
}

/// After fork() a child may hold the socket too, so that closing it alone would tell neither epoll nor the other side.
void VerbsPair::close() {
  if (step_ == Step::over) return;
  const Step step = std::exchange(step_, Step::over);
  host_.leave(*this);
  shutdown(fd_.get(), SHUT_RDWR);
  fd_.reset();
  if (step == Step::moving || step == Step::up) host_.abandon(std::move(queue_));
  queue_.reset();
}

}  // namespace nezha
