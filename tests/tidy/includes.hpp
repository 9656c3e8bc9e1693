// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <tests/tidy/arrows.hpp>
#include <tests/tidy/source.hpp>
#include <vector>

namespace commensal::tidy {

struct Include {
  int line = 0;
  char mark = '<';          // or "
  std::string_view target;  // lies in the source's text
};

/// `code` is code_of(text).
std::vector<Include> includes_of(std::string_view text, std::string_view code);

/// True for headers that stay in leaf sources: gRPC, SQLite, ONNX, Boost, OpenSSL, Highway and
/// such, and what protoc generates.
bool is_foreign(std::string_view target);

/// A header that includes a foreign one, itself or through a header of its room, is for its own
/// room only: every include of it from another room is reported.
std::vector<Finding> check_leaf_headers(const std::vector<Source>& sources, const Arrows& arrows);

}  // namespace commensal::tidy
