// SPDX-License-Identifier: BSD-3-Clause
#include "engine/trace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <system_error>
#include <utility>

#include "tuning/candidates.h"
#include "util/file.h"
#include "util/text.h"

namespace nezha {
namespace {

constexpr Nanoseconds kTraceTick = 50 * kMillisecond;
constexpr std::uint64_t kSingly = 512;  ///< calls of a size class that get a line each
constexpr std::size_t kMost = 32u << 20;  ///< bytes of a file

/// Empty where nothing went through an aggregator.
std::string aggregated_part(std::uint64_t aggregated, std::uint64_t bytes) {
  if (aggregated == 0) return {};
  char text[40];
  std::snprintf(text, sizeof text, ",\"aggregated\":%.4f", static_cast<double>(aggregated) / static_cast<double>(bytes));
  return text;
}

std::string first_line(const TraceSubject& subject) {
  std::string text = R"({"kind":"start","format":1,"version":")" NEZHA_VERSION R"(","node":)" +
                     json_text(subject.node) + R"(,"tick_ms":)" + std::to_string(kTraceTick / kMillisecond) +
                     R"(,"command":)" + json_text(subject.command) + R"(,"parameters":{)";
  const char* separator = "";
  for (const GivenParameter& given : subject.parameters) {
    text += separator + json_text(given.name) + ":" + json_text(given.value);
    separator = ",";
  }
  return text + "}}";
}

/// Two jobs, or the one that MPI_Comm_spawn starts and its parent, may be given one name: the lock is held until the descriptor is
/// closed. A file system without locks refuses nobody.
Status begin_anew(const std::string& path, Fd& file) {
  if (Status opened = open_regular(path, O_WRONLY | O_CREAT, "cannot be written", file); !opened.ok()) return opened;
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return {Code::io, "cannot be written: another process writes it"};
  if (ftruncate(file.get(), 0) != 0) return {Code::io, "cannot be emptied: " + std::generic_category().message(errno)};
  return {};
}

double microseconds(Nanoseconds time) { return static_cast<double>(time) / static_cast<double>(kMicrosecond); }

}  // namespace

std::unique_ptr<Trace> Trace::open(const std::string& path, const TraceSubject& subject, const Clock& clock,
                                   const std::deque<RailLoad>& loads, const std::vector<RailAddress>& rails,
                                   Status& why) {
  Fd file;
  if (const Status begun = begin_anew(path, file); !begun.ok()) {
    why = {Code::io, path + " " + begun.text()};
    return nullptr;
  }
  std::unique_ptr<Trace> trace(new Trace(path, std::move(file), clock, loads, rails));
  trace->add(first_line(subject));
  return trace;
}

Trace::Trace(std::string path, Fd file, const Clock& clock, const std::deque<RailLoad>& loads,
             const std::vector<RailAddress>& rails)
    : clock_(clock),
      loads_(loads),
      addresses_(rails),
      origin_(clock.now()),
      path_(std::move(path)),
      file_(std::move(file)),
      ticked_(origin_),
      told_(origin_) {}

Trace::~Trace() {
  tick(clock_.now() + kTraceTick);  // what came together since the last one
  (void)write(take());  // nobody is left who could be told
}

double Trace::milliseconds(Nanoseconds when) const {
  return static_cast<double>(when - origin_) / static_cast<double>(kMillisecond);
}

void Trace::line(const char* format, ...) {
  if (full_) return;
  std::array<char, 4096> text;
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (length < 0 || static_cast<std::size_t>(length) >= text.size()) return;  // no line is better than half of one
  add({text.data(), static_cast<std::size_t>(length)});
}

void Trace::add(std::string_view line) {
  lines_.append(line) += '\n';
  made_ += line.size() + 1;
  if (made_ < kMost) return;
  char last[64];
  std::snprintf(last, sizeof last, "{\"kind\":\"full\",\"t\":%.3f}\n", milliseconds(clock_.now()));
  lines_ += last;
  full_ = true;
}

void Trace::name_rails() {
  if (addresses_.size() == rails_) return;
  rails_ = addresses_.size();
  std::string names;
  for (const RailAddress& rail : addresses_) names += (names.empty() ? "" : ",") + json_text(rail.label());
  line(R"({"kind":"rails","names":[%s]})", names.c_str());
}

std::string Trace::list(const Bytes& bytes) const {
  std::string text = "[";
  for (std::size_t rail = 0; rail < rails_; ++rail) text += (rail == 0 ? "" : ",") + std::to_string(bytes[rail]);
  return text + "]";
}

void Trace::call(Nanoseconds began, std::size_t bytes, int ranks, const Candidate& way, const RailNames& names,
                 const Bytes& sent, std::size_t aggregated) {
  const Nanoseconds now = clock_.now(), took = now - began;
  const std::size_t index = size_class_of(bytes);
  Size& size = sizes_[index];
  told_ = now;
  name_rails();
  size.calls += 1;
  if (size.calls <= kSingly) {
    line(R"({"kind":"call","t":%.3f,"ranks":%d,"bytes":%zu,"us":%.3f,"way":%s,"sent":%s%s})", milliseconds(began), ranks,
         bytes, microseconds(took), json_text(text_of(way, names)).c_str(), list(sent).c_str(),
         aggregated_part(aggregated, bytes).c_str());
    return;
  }
  if (size.since != 0 && size.way != way) summarise(index, now);
  size.way = way;
  if (size.since == 0) size.way_text = text_of(way, names);
  size.since += 1;
  size.time += took;
  size.bytes += bytes;
  size.aggregated += aggregated;
  size.least = size.since == 1 ? took : std::min(size.least, took);
  for (std::size_t rail = 0; rail < rails_; ++rail) size.sent[rail] += sent[rail];
}

void Trace::summarise(std::size_t index, Nanoseconds when) {
  Size& size = sizes_[index];
  line(R"({"kind":"calls","t":%.3f,"class":%zu,"calls":%llu,"us":%.3f,"least_us":%.3f,"way":%s,"sent":%s%s})",
       milliseconds(when), index, static_cast<unsigned long long>(size.since),
       microseconds(size.time) / static_cast<double>(size.since), microseconds(size.least),
       json_text(size.way_text).c_str(), list(size.sent).c_str(), aggregated_part(size.aggregated, size.bytes).c_str());
  const std::uint64_t calls = size.calls;
  size = Size{};
  size.calls = calls;
}

void Trace::memory(const nezha_memory_stats_t& stats) {
  if (stats.calls == 0) return;
  const auto us = [](std::uint64_t time) { return microseconds(static_cast<Nanoseconds>(time)); };
  line(R"({"kind":"memory","t":%.3f,"calls":%llu,"bytes":%llu,"us":%.3f,"copied_in_us":%.3f,"reduced_us":%.3f,)"
       R"("gathered_us":%.3f,"between_us":%.3f,"shared_us":%.3f})",
       milliseconds(clock_.now()), static_cast<unsigned long long>(stats.calls), static_cast<unsigned long long>(stats.bytes),
       us(stats.time_ns), us(stats.copied_in_ns), us(stats.reduced_ns), us(stats.gathered_ns), us(stats.between_ns), us(stats.shared_ns));
}

void Trace::lane(std::string_view event, std::string_view label, std::string_view peer, std::string_view why) {
  line(R"({"kind":"lane","t":%.3f,"event":%s,"lane":%s,"peer":%s,"why":%s})", milliseconds(clock_.now()),
       json_text(event).c_str(), json_text(label).c_str(), json_text(peer).c_str(), json_text(why).c_str());
}

void Trace::tick(Nanoseconds now) {
  const Nanoseconds before = std::exchange(told_, now);
  if (now - ticked_ < kTraceTick) return;
  // Nobody ticks while nothing is carried: what has come together is from before such a pause.
  const bool paused = before > ticked_ && now - before > kTraceTick;
  const Nanoseconds when = paused ? before : now;
  ticked_ = now;
  name_rails();
  traffic(when);
  for (std::size_t index = 0; index < sizes_.size(); ++index)
    if (sizes_[index].since != 0) summarise(index, when);
}

void Trace::traffic(Nanoseconds when) {
  Bytes sent{}, received{};
  bool any = false;
  for (std::size_t rail = 0; rail < rails_; ++rail) {
    sent[rail] = loads_[rail].bytes_sent - sent_[rail];
    received[rail] = loads_[rail].bytes_received - received_[rail];
    sent_[rail] += sent[rail];
    received_[rail] += received[rail];
    any = any || sent[rail] != 0 || received[rail] != 0;
  }
  if (any)
    line(R"({"kind":"traffic","t":%.3f,"sent":%s,"received":%s})", milliseconds(when), list(sent).c_str(),
         list(received).c_str());
}

std::string Trace::take() { return std::exchange(lines_, {}); }

Status Trace::write(const std::string& lines) {
  std::size_t done = 0;
  while (file_ && done < lines.size()) {
    const ssize_t wrote = ::write(file_.get(), lines.data() + done, lines.size() - done);
    if (wrote > 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (wrote == 0 || errno != EINTR) {
      const int error = wrote == 0 ? ENOSPC : errno;
      file_.reset();
      return {Code::io, path_ + " cannot be written any more: " + std::generic_category().message(error)};
    }
  }
  return {};
}

}  // namespace nezha
