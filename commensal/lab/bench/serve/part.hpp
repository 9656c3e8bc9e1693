// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/result.hpp>
#include <functional>
#include <string>
#include <vector>

namespace commensal::lab::bench::serve {

/// One party of a measurement, in a process of its own: what it takes of the processor is its own,
/// and nothing that it locks is anybody else's. Made before this process has threads.
/// Thread-safety: one thread.
class Part {
 public:
  /// What the party is given: say() once it serves, wait() until it is to end.
  class Side {
   public:
    Side(core::Descriptor out, core::Descriptor in) : out_(std::move(out)), in_(std::move(in)) {}
    void say(const std::string& line) const;
    void wait() const;

   private:
    core::Descriptor out_, in_;
  };
  /// An error is what it says instead.
  using Serve = std::function<core::Result<void>(const Side&)>;

  /// Waits for its line. Errors: kUnavailable (it cannot be started, or ends), its own.
  static core::Result<Part> start(const std::string& name, const Serve& serve);
  Part(Part&& other) noexcept;
  Part& operator=(Part&&) = delete;
  ~Part();

  const std::string& said() const { return said_; }
  /// Processor time of it and of its children, so far.
  std::int64_t cpu_ns() const;
  /// What both have in memory now, shared pages counted in each.
  std::int64_t memory_bytes() const;

 private:
  Part() = default;
  std::vector<int> processes() const;

  int pid_ = -1;
  core::Descriptor in_, out_;
  std::string said_;
};

}  // namespace commensal::lab::bench::serve
