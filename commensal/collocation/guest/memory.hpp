// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/collocation/governor/carried.hpp>
#include <commensal/collocation/probe/sample.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::guest {

/// A host by what stays the same from day to day: its probe's spec without what is secret, and of a
/// process the program's name instead of its number.
std::string lasting_name(const std::string& spec, const core::Path& proc = "/proc");

/// This machine: folders may be shared.
std::string machine_name();
/// The host, what it works on, and the machine that it is on.
std::string about(const std::string& spec, const probe::Traits& traits);

/// What is kept of a host in a folder: the books of its hour, and for each kind of guest what was
/// learnt of it. A file for each host, of one JSON line. Times are by the wall's clock, in seconds.
/// Thread-safety: none.
class Memory {
 public:
  static constexpr std::size_t kGuestsMax = 32;  // the oldest are forgotten

  /// `about`: the host and its machine. An empty folder: nothing outlives this object.
  Memory(core::Path folder, std::string about);

  /// What the file says, from now on; nothing where there is none. Error: kDataLoss (it is damaged
  /// or of another host: what was kept counts as nothing).
  core::Result<void> read();
  /// ... of such a guest, as it stands now.
  governor::Carried recall(std::string_view guest, double now_s,
                           const governor::Rules& rules) const;
  /// From now on, and in the file once that is written.
  void note(std::string_view guest, const governor::Carried& carried, double now_s);
  /// What the file is to say.
  std::string text() const;
  /// The file alone; any thread. Errors: those of core::write_file_atomically.
  core::Result<void> save(const std::string& text) const;
  const core::Path& path() const { return path_; }

 private:
  struct Known {
    std::string guest;
    double at_s = 0;
    governor::Learnt learnt;
  };
  core::Result<void> parse(std::string_view text);

  std::string about_;
  core::Path path_;
  double at_s_ = 0;
  governor::Carried hour_;  // without what was learnt
  std::vector<Known> known_;
};

}  // namespace commensal::guest
