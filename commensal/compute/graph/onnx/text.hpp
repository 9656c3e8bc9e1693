// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace commensal::graph::onnx {

/// The first line of `text` that says something, trimmed, control characters replaced, at most
/// 300 bytes: what libonnx's exceptions say, made fit for one line.
std::string one_line(std::string_view text);

/// UTF-8 without control characters, at most 4096 bytes: fit for messages and JSON.
bool is_name(std::string_view text);

}  // namespace commensal::graph::onnx
