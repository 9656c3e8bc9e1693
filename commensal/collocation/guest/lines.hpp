// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/file.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// Lines of text over Unix sockets, without waiting: who does not read is cut off.
namespace commensal::guest {

using core::Descriptor;

/// One end of a conversation. Thread-safety: none.
class Lines {
 public:
  /// No line that comes is longer than `bytes_max`.
  Lines(Descriptor socket, std::size_t bytes_max)
      : socket_(std::move(socket)), bytes_max_(bytes_max) {}
  /// Errors: kInvalidArgument (a path longer than such an address may be), kNotFound (nobody
  /// listens there), kUnavailable.
  static core::Result<Lines> connect(const core::Path& path, std::size_t bytes_max);

  int fd() const { return socket_.get(); }
  /// False, here and from now on: the other end is gone, says too much at a time or does not read.
  bool is_open() const { return is_open_; }
  void send(std::string_view line);
  /// Takes in what has come; waits for nothing.
  void receive();
  /// The next whole line, without its end.
  std::optional<std::string> next();

 private:
  Descriptor socket_;
  std::size_t bytes_max_;
  bool is_open_ = true;
  std::string held_;
};

/// Who accepts conversations at a path; an older socket there is removed. Errors as connect().
core::Result<Descriptor> listen_at(const core::Path& path);
/// Nothing if nobody is there.
std::optional<Descriptor> accept_from(const Descriptor& listener);
/// Waits until there is something to take in, or `wait_ms` are over.
void wait_for(int fd, int wait_ms);

}  // namespace commensal::guest
