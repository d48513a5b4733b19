// SPDX-License-Identifier: BSD-3-Clause
/// A result that carries its own story. Costs a null pointer when ok, is copied freely; no threads.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace nezha {

enum class Code { ok, bad_parameter, no_memory, no_rail, bad_peer, bad_wire, io, absent, busy, closed, refused, timed_out, internal };

class [[nodiscard]] Status {
 public:
  Status() = default;
  /// `code` is not ok.
  Status(Code code, std::string text) : story_(std::make_shared<const Story>(Story{code, std::move(text)})) {}

  bool ok() const { return story_ == nullptr; }
  Code code() const { return ok() ? Code::ok : story_->code; }
  /// One sentence without a final newline: what, which value, what is allowed. Empty when ok.
  const std::string& text() const {
    static const std::string none;
    return ok() ? none : story_->text;
  }

 private:
  struct Story {
    Code code;
    std::string text;
  };

  std::shared_ptr<const Story> story_;
};

}  // namespace nezha
