// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hosts/equihash/params.hpp>
#include <optional>
#include <span>
#include <string>

namespace hosts::equihash {

/// Checks a solution against the definition and nothing else: it shares no code with the solver and
/// hashes with libsodium. `input` is what is hashed before each index (header and nonce).
/// nullopt: valid. Otherwise one line: which condition fails. Thread-safety: any thread.
std::optional<std::string> verify(const Params& params, std::span<const std::uint8_t> input,
                                  const Indices& indices);

/// The `index`th string of n bits, most significant byte first: the reference for every faster way.
std::vector<std::uint8_t> string_of(const Params& params, std::span<const std::uint8_t> input,
                                    std::uint32_t index);

}  // namespace hosts::equihash
