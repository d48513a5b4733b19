// SPDX-License-Identifier: BSD-3-Clause
/// A result that carries its own story. Cheap when ok (an empty string and a code), copied freely, no threads.
#pragma once

#include <string>
#include <utility>

namespace nezha {

enum class Code { ok, bad_parameter, no_memory, no_rail, bad_peer, bad_wire, io, absent, busy, closed, refused, timed_out, internal };

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string text) : code_(code), text_(std::move(text)) {}

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  /// One sentence without a final newline: what, which value, what is allowed. Empty when ok.
  const std::string& text() const { return text_; }

 private:
  Code code_ = Code::ok;
  std::string text_;
};

}  // namespace nezha
