// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <commensal/base/core/result.hpp>
#include <cstring>

namespace commensal::core {

/// Whether it says that a disk has no room left: a file's message, or SQLite's. Such messages name
/// folders of ours, which nobody else is to see. Thread-safety: any.
inline bool is_disk_full(const Error& error) {
  return error.message.find(std::strerror(ENOSPC)) != std::string::npos ||
         error.message.find("database or disk is full") != std::string::npos;
}

}  // namespace commensal::core
