// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/pulse.hpp>
#include <cstdint>
#include <string>
#include <string_view>

/// UTF-8 and the case of letters, the same on every machine: no locale takes part.
namespace commensal::kernels::ref {

/// The character at `at`, which is moved behind it. A byte that begins no well-formed character
/// is one by itself: kRawByte plus its value.
inline constexpr std::uint32_t kRawByte = 0x110000;
std::uint32_t next_character(std::string_view text, std::size_t& at);
/// Appends a character (a raw byte as that byte).
void append_character(std::uint32_t character, std::string& text);

/// Unicode 14's simple case mappings (UnicodeData.txt), for all scripts: one character to one.
std::uint32_t lower_of(std::uint32_t character);
std::uint32_t upper_of(std::uint32_t character);
std::string lower_of(std::string_view text, Pulse& pulse);
std::string upper_of(std::string_view text, Pulse& pulse);

/// The property White_Space.
bool is_white_space(std::uint32_t character);

}  // namespace commensal::kernels::ref
