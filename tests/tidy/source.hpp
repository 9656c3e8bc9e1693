// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The house's own linter. It reads text, not a syntax tree: it relies on clang-format's layout,
/// and errs on the side of silence where the layout is unusual. Thread-safety: values, nothing
/// shared.
namespace commensal::tidy {

struct Finding {
  std::string path;
  int line = 0;  // 1-based
  std::string what;
};

std::string to_string(const Finding& finding);
/// All of them, a line each.
std::string report(const std::vector<Finding>& findings);

/// One file. `path` is relative to the repository's root and decides which rules hold.
struct Source {
  std::string path;
  std::string text;
};

/// `text` with comments, string and character literals replaced by blanks (quotes stay, newlines
/// stay), so that offsets and line numbers hold.
std::string code_of(std::string_view text);

/// `code` with preprocessor directives blanked too.
std::string without_directives(std::string_view code);

std::vector<std::string_view> lines_of(std::string_view text);
int line_at(std::string_view text, std::size_t offset);
std::string_view trimmed(std::string_view text);
bool is_word(char c);
std::vector<std::string> words_of(std::string_view text);

bool is_cpp(std::string_view path);
bool is_c(std::string_view path);
/// True if `path` is `folder` or lies under it.
bool within(std::string_view path, std::string_view folder);

}  // namespace commensal::tidy
