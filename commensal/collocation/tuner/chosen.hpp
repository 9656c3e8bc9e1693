// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/collocation/tuner/ways.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::tuner {

/// The ways that were chosen, by host and network, in a file of JSON. Thread-safety: none.
class Chosen {
 public:
  struct Row {
    std::string host;  // by its lasting name
    std::string machine;
    core::Digest model{};  // SHA-256 of its file
    Way way;
  };

  /// Error: kDataLoss (the file is damaged).
  static core::Result<Chosen> read(core::Path file);
  /// By network, for those that were tuned beside this host of a machine; "": beside the only one
  /// that was there.
  std::map<core::Digest, Way> beside(std::string_view host, std::string_view machine) const;
  /// In the place of the one of this host and network; limits::kChosenWaysMax are kept.
  void add(Row row);
  /// All of this host of a machine; "": of all its hosts. Returns how many there were.
  std::size_t forget(std::string_view host, std::string_view machine);
  /// Errors: those of core::write_file_atomically.
  core::Result<void> save() const;

 private:
  explicit Chosen(core::Path file) : file_(std::move(file)) {}

  core::Path file_;
  std::vector<Row> rows_;  // the latest last
};

}  // namespace commensal::tuner
