// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <tests/http/world.hpp>

/// Answers of any size: input "x" int64 [1], output "y" float32 of so many elements, all alike.
namespace commensal::tests {

/// Of the length of an element's text.
enum class WideValue { kOne, kLongest };  // 1; -2^-126

/// One that declares how many elements it answers with (2^21 to 2^28), or that they may be any.
core::Bytes wide_model(WideValue value, std::int64_t declared = 0);
/// As "alice/wide".
void push_wide(const World& world, WideValue value = WideValue::kLongest,
               std::int64_t declared = 0);

/// Of a request's head.
std::string header(const std::string& token);
/// A request for so many.
std::string ask_wide(const std::string& token, std::int64_t elements, bool is_binary = true);

}  // namespace commensal::tests
