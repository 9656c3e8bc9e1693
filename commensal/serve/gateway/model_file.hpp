// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>

/// What has become of a model's file since it was pushed: disks lose bits, and people files. Pure
/// functions but for the reading, which may take seconds. Any thread.
namespace commensal::gateway {

/// Whether the file is there, with these bytes.
bool holds(const core::Path& file, core::ByteView bytes);
/// Whether it is the one with this SHA-256. Error: kDataLoss, with its name.
core::Result<void> check_model_file(const core::Path& file, const core::Digest& content);

}  // namespace commensal::gateway
