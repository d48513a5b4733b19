// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/aggregation.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rail/tcp/socket.h"

namespace nezha {
namespace {

constexpr Nanoseconds kGreetingTime = 3 * kSecond;
constexpr std::size_t kMostGreetings = 256;
constexpr int kMostAccepts = 16;  ///< in a turn: operations wait meanwhile
constexpr Nanoseconds kAcceptPause = 100 * kMillisecond;  ///< when descriptors or memory ran out
constexpr Nanoseconds kLookEvery = 100 * kMillisecond;
/// A client whose lanes are all gone for so long has ended, or greets anew.
constexpr Nanoseconds kGoneAfter = 2 * kSecond;
/// One that has never had a lane.
constexpr Nanoseconds kNeverCame = 30 * kSecond;
/// How often clients are asked for a sign of life: between two operations nothing else finds out that a node has lost power.
constexpr Nanoseconds kAskEvery = 30 * kSecond;
/// One that has not answered for so long has gone, or greets anew when it runs again.
constexpr Nanoseconds kNoAnswer = 60 * kSecond;
/// An upstream aggregator that gives no sign of life for so long is not waited for, and a client's id is free again.
constexpr Nanoseconds kLongestSilence = 500 * kMillisecond;
/// Makes the tree's id from the upstream aggregator's. They differ, because ranks that go to the upstream aggregator directly do not
/// share sums with ranks that go to a rack's.
constexpr std::uint64_t kTree = 0x94d049bb133111eb;

/// This machine does not have that address, or its kind: it may have another one of the same name.
bool not_here(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

}  // namespace

Aggregation::Aggregation(Core& core, const Secret& key, const Limits& limits, bool in_rack)
    : core_(core), in_rack_(in_rack), key_(key), limits_(limits) {
  core.serve(*this);
}

Aggregation::~Aggregation() = default;

Status Aggregation::listen(const std::string& host, std::uint16_t port) {
  const std::string where = (host.empty() ? "*" : host) + ":" + std::to_string(port);
  const std::vector<std::string> names = host.empty() ? std::vector<std::string>{"::", "0.0.0.0"} : std::vector{host};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  int error = EADDRNOTAVAIL;
  for (std::size_t i = 0; i < names.size() && not_here(error); ++i) {
    addrinfo* found = nullptr;
    if (const int why = getaddrinfo(names[i].c_str(), std::to_string(port).c_str(), &hints, &found); why != 0)
      return {Code::bad_parameter, "cannot listen at " + where + ": " + gai_strerror(why)};
    for (const addrinfo* at = found; at != nullptr && not_here(error); at = at->ai_next) error = listen_at(*at);
    freeaddrinfo(found);
  }
  if (error != 0) return {Code::io, "cannot listen at " + where + ": " + std::strerror(error)};
  SocketAddress bound;
  getsockname(listener_.get(), bound.get(), &bound.size);
  port_ = bound.port();
  return {};
}

int Aggregation::listen_at(const addrinfo& at) {
  const int on = 1, off = 0;
  listener_ = Fd(socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (listener_) setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // no matter to IPv4
  const bool good = listener_ && setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                    bind(listener_.get(), at.ai_addr, at.ai_addrlen) == 0 && ::listen(listener_.get(), 64) == 0;
  return good ? 0 : errno;
}

// ---- who may join

Address Aggregation::address() const {
  Address own = core_.self();
  if (!in_rack_) return own;
  const std::vector<AggregatorList::Entry>& named = core_.config().aggregators.entries;
  const std::string name = named.empty() ? "upstream" : named.front().text();
  if (upstream_ != nullptr) {
    own.tree = upstream_->address.id ^ kTree;
    own.upstream = name + " on " + upstream_->address.node;
  } else {
    own.upstream = name + ": " + upstream_trouble();
  }
  return own;
}

Peer* Aggregation::greeted() const {
  const std::vector<Peer*> found = core_.aggregators();
  return found.empty() ? nullptr : found.front();
}

std::string Aggregation::upstream_trouble() const {
  if (const Peer* peer = greeted()) return peer->trunk->missed() ? "it gives no sign of life" : "no lane to it is up";
  const std::string trouble = core_.aggregator_trouble(0);
  return trouble.empty() ? "it has not answered yet" : trouble;
}

void Aggregation::accept_greetings(Nanoseconds now) {
  if (now < paused_until_) return;
  paused_until_ = 0;
  for (int taken = 0; taken < kMostAccepts; ++taken) {  // the listener stays readable
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && exhausted(errno)) pause(errno, now);
    if (!fd) return;
    if (greetings_.size() >= kMostGreetings) make_room();
    greetings_.push_back(std::make_unique<Greeting>(Greeting::Side::aggregator, std::move(fd), key_, address(),
                                                    now + kGreetingTime));
  }
}

/// The listener stays readable, and would keep the process awake.
void Aggregation::pause(int error, Nanoseconds now) {
  paused_until_ = now + kAcceptPause;
  if (std::has_single_bit(++pauses_))
    core_.log().line(1, "no greetings are accepted for a while: %s (%llu times so far)", std::strerror(error),
                     static_cast<unsigned long long>(pauses_));
}

/// Anybody may connect: the oldest of those goes that have said nothing.
void Aggregation::make_room() {
  const auto silent =
      std::find_if(greetings_.begin(), greetings_.end(), [](const auto& greeting) { return greeting->silent(); });
  greetings_.erase(silent == greetings_.end() ? greetings_.begin() : silent);
}

/// A flood must not fill the log: only the first, the second, the fourth ... is told.
void Aggregation::refused(int level, const std::string& why) {
  if (std::has_single_bit(++counts_.refused))
    core_.log().line(level, "a greeting is refused: %s (%llu refused so far)", why.c_str(),
                     static_cast<unsigned long long>(counts_.refused));
}

void Aggregation::step_greetings(Nanoseconds now) {
  std::erase_if(greetings_, [&](const std::unique_ptr<Greeting>& greeting) {
    switch (greeting->step(now)) {
      case Greeting::State::pending:
        return false;
      case Greeting::State::failed:
        refused(greeting->why().code() == Code::busy ? 2 : 1, greeting->why().text());
        return true;
      case Greeting::State::done:
        if (greeting->peer().rails.empty())
          core_.log().line(2, "somebody on %s asks", greeting->peer().node.c_str());
        else
          admit(greeting->peer(), greeting->secret(), now);
        return true;
    }
    return true;
  });
}

/// Clients of a rack's aggregator know its id. None of them can take its place at the upstream one while it answers.
bool Aggregation::admit(const Address& client, const Secret& secret, Nanoseconds now) {
  const auto known = clients_.find(client.id);
  if (known == clients_.end() || known->second.peer->trunk->lanes_up() == 0) return take_in(client, secret, now);
  known->second.peer->trunk->quiet(now, 0);
  if (claims_.size() >= kMostGreetings || claimed(client.id)) return false;
  claims_.push_back({client, secret, now + 2 * kLongestSilence});
  return true;
}

bool Aggregation::claimed(ProcessId id) const {
  return std::any_of(claims_.begin(), claims_.end(), [&](const Claim& claim) { return claim.client.id == id; });
}

void Aggregation::judge(const Claim& claim, Nanoseconds now) {
  const auto known = clients_.find(claim.client.id);
  Trunk* const trunk = known == clients_.end() ? nullptr : known->second.peer->trunk.get();
  if (trunk == nullptr || trunk->lanes_up() == 0 || trunk->quiet(now, 0) >= kLongestSilence) {
    take_in(claim.client, claim.secret, now);
  } else if (now < claim.until) {
    claims_.push_back(claim);
  } else {
    refused(1, "somebody on " + claim.client.node + " has the id of " + known->second.peer->label() +
                   ", which has lanes here");
  }
}

bool Aggregation::take_in(const Address& client, const Secret& secret, Nanoseconds now) {
  drop_client(client.id, "it has greeted anew");
  if (clients_.size() >= limits_.clients) {
    refused(1, "there are " + std::to_string(clients_.size()) + " clients");
    return false;
  }
  Peer* const peer = core_.add_outsider(client, secret);
  if (peer == nullptr) return false;
  const auto later = static_cast<Nanoseconds>(client.id % kAskEvery);  // not all of a job at once
  clients_[client.id] = {.peer = peer, .seen = now + kNeverCame - kGoneAfter, .ask_at = now + kAskEvery + later};
  core_.log().line(2, "%s has come", peer->label().c_str());
  return true;
}

void Aggregation::drop_client(ProcessId id, const std::string& why) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Peer& peer = *found->second.peer;
  core_.log().line(2, "%s has gone: %s", peer.label().c_str(), why.c_str());
  std::vector<TeamId> of;
  for (const auto& [team, star] : stars_)
    if (star->client(*peer.trunk) >= 0) of.push_back(team);
  for (const TeamId team : of) give_up(team, peer.label() + " has gone");
  clients_.erase(found);
  core_.remove_outsider(peer);
}

// ---- the upstream aggregator

/// It has had a lane, and is not silent: else clients that have lanes here would try again and again what it does not answer.
bool Aggregation::usable(const Peer& upstream) const {
  return !upstream.trunk->missed() && (upstream.trunk->lanes_up() != 0 || upstream.address.id == upstream_id_);
}

/// When the upstream aggregator is another process, clients have to greet this one again, because the tree has another id.
void Aggregation::follow_upstream() {
  Peer* peer = greeted();
  if (peer != nullptr && !usable(*peer)) peer = nullptr;
  const ProcessId id = peer == nullptr ? 0 : peer->address.id;
  if (id != upstream_id_) {
    while (!clients_.empty()) drop_client(clients_.begin()->first, "the upstream aggregator is another one, or none");
    greetings_.clear();
  }
  upstream_ = peer;
  upstream_id_ = id;
  if (peer != nullptr && peer->trunk->lanes_up() == 0) give_up_all("no lane to the upstream aggregator is left");
}

void Aggregation::watch_upstream(Nanoseconds now) {
  Peer* const peer = greeted();
  if (peer == nullptr) return;
  Trunk& trunk = *peer->trunk;
  const bool climbs = std::any_of(stars_.begin(), stars_.end(), [](const auto& star) { return star.second->climbs(); });
  if (!climbs && !trunk.missed()) return;
  if (trunk.quiet(now, kLookEvery) < kLongestSilence || trunk.missed()) return;
  trunk.miss();
  give_up_all("no sign of life from the upstream aggregator");
}

void Aggregation::going(const Trunk& trunk) {
  if (upstream_ == nullptr || &trunk != upstream_->trunk.get()) return;
  give_up_all("the upstream aggregator has gone");
  upstream_ = nullptr;
}

void Aggregation::give_up_all(const std::string& why) {
  while (!stars_.empty()) give_up(stars_.begin()->first, why);
}

// ---- what is due

void Aggregation::progress(Nanoseconds now, bool greetings) {
  if (in_rack_) follow_upstream();
  if (greetings) {
    step_greetings(now);  // may make room
    accept_greetings(now);
  }
  for (const Said& said : std::exchange(said_, {})) hear(said);
  attend();
  for (const auto& [id, why] : std::exchange(over_, {})) give_up(id, why);
  if (now - looked_ >= kLookEvery) look_after(now);
}

void Aggregation::look_after(Nanoseconds now) {
  looked_ = now;
  if (in_rack_) watch_upstream(now);
  std::vector<std::pair<ProcessId, const char*>> gone;
  for (auto& [id, client] : clients_) {
    if (client.peer->trunk->lanes_up() != 0) client.seen = now;
    if (now - client.seen > kGoneAfter)
      gone.emplace_back(id, "no lane to it is left");
    else if (silent(client, now))
      gone.emplace_back(id, "no sign of life from it");
  }
  for (const auto& [id, why] : gone) drop_client(id, why);
  for (const Claim& claim : std::exchange(claims_, {})) judge(claim, now);
}

/// Asks it now and then: judge() takes a client for silent that is watched all the time and has nothing to say.
bool Aggregation::silent(Client& client, Nanoseconds now) {
  if (now < client.ask_at) return false;
  const Nanoseconds quiet = client.peer->trunk->quiet(now, 0);
  if (client.asked && quiet == 0) client.ask_at = now + kAskEvery;
  client.asked = now >= client.ask_at;
  return quiet >= kNoAnswer;
}

}  // namespace nezha
