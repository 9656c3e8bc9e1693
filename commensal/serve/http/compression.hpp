// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/growing_bytes.hpp>
#include <commensal/base/core/memory_budget.hpp>
#include <commensal/base/core/result.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

/// Content codings of bodies (RFC 9110, section 8.4): gzip (RFC 1952) and deflate (RFC 1950; of
/// requests RFC 1951 too, which some clients send by that name). Pure functions.
namespace commensal::http {

enum class Coding : std::uint8_t { kIdentity, kGzip, kDeflate };

/// As headers name it.
std::string_view name_of(Coding coding);
/// The coding that a Content-Encoding names; nothing where it is none of ours, or several.
std::optional<Coding> coding_of(std::string_view content_encoding);
/// The best of ours by an Accept-Encoding (RFC 9110, section 12.5.3); equals go to gzip. What is
/// no such list asks for none.
Coding accepted_coding(std::string_view accept_encoding);

/// Puts into `body` what it encodes; both are held on `memory` on the way. False where that is more
/// than `bytes_max`. Takes as long as reading what comes out. Errors: kInvalidArgument (not of this
/// coding, cut off, or with more behind it), kCancelled (`left`), memory's. Unless it is true
/// `body` is as it was.
core::Result<bool> decompress(Coding coding, core::GrowingBytes& body, std::int64_t bytes_max,
                              core::MemoryBudget::Lease& memory, const std::stop_token& left);

/// `text` encoded, held on `memory` beside it; nothing where it would not be shorter, or not held.
std::optional<std::string> compress(Coding coding, std::string_view text,
                                    core::MemoryBudget::Lease& memory);

}  // namespace commensal::http
