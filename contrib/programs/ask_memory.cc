// SPDX-License-Identifier: BSD-3-Clause
#include "ask_memory.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "node/segment.h"

namespace nezha {
namespace {

constexpr Nanoseconds kPatience = 5 * kSecond;
constexpr timespec kPause = {0, 500000};

Nanoseconds now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

SegmentSpec spec(std::uint32_t self) {
  return {.team = 1, .members = 2, .self = self, .chunk = kLeastNodeChunk, .deadline = now() + kPatience};
}

/// Until both know. The other one may still be in the middle of it when this one knows.
MemoryAnswer join(Segment& segment, NodeAcceptor* acceptor) {
  while (segment.progress(now()) == Segment::State::joining) {
    if (acceptor != nullptr) acceptor->progress(now());
    nanosleep(&kPause, nullptr);
  }
  if (segment.state() == Segment::State::absent) return {"none", segment.why().text()};
  return {segment.access() == NodeAccess::single_copy ? "single_copy" : "copies", segment.why_copies()};
}

MemoryAnswer make(const Fd& name_to) {
  NodeAcceptor acceptor;
  if (const Status status = acceptor.open(); !status.ok()) return {"none", status.text()};
  if (write(name_to.get(), acceptor.name().data(), acceptor.name().size()) < 0) return {"none", std::strerror(errno)};
  Segment segment(spec(0), acceptor, [](std::uint32_t, Secret& secret) {
    secret = {};
    return true;
  });
  return join(segment, &acceptor);
}

MemoryAnswer enter(const Fd& name_from) {
  NodeName name{};
  if (read(name_from.get(), name.data(), name.size()) != static_cast<ssize_t>(name.size()))
    return {"none", "no process of this node can be asked for memory"};
  Segment segment(spec(1), name, Secret{});
  return join(segment, nullptr);
}

struct Pipe {
  Fd from, to;
  bool open() {
    int ends[2];
    if (pipe(ends) != 0) return false;
    from = Fd(ends[0]);
    to = Fd(ends[1]);
    return true;
  }
};

std::string read_all(const Fd& from) {
  std::string text;
  char part[256];
  for (ssize_t got = 0; (got = read(from.get(), part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
  return text;
}

}  // namespace

MemoryAnswer ask_memory() {
  Pipe name, answer;
  if (!name.open() || !answer.open()) return {"none", std::strerror(errno)};
  const pid_t maker = fork();
  if (maker == 0) {
    make(name.to);
    _exit(0);
  }
  const pid_t joiner = maker < 0 ? -1 : fork();
  if (joiner == 0) {
    name.to.reset();
    const MemoryAnswer found = enter(name.from);
    const std::string text = found.way + "\n" + found.why;
    _exit(write(answer.to.get(), text.data(), text.size()) < 0 ? 1 : 0);
  }
  name.to.reset();
  answer.to.reset();
  const std::string text = read_all(answer.from);
  for (const pid_t child : {maker, joiner})
    if (child > 0) waitpid(child, nullptr, 0);
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) return {"none", "a process that was to try it could not be started, or has ended"};
  return {text.substr(0, end), text.substr(end + 1)};
}

}  // namespace nezha
