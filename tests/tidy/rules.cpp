// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <iterator>
#include <tests/tidy/functions.hpp>
#include <tests/tidy/includes.hpp>
#include <tests/tidy/names.hpp>
#include <tests/tidy/rules.hpp>

namespace commensal::tidy {
namespace {

using std::string_view;

bool is_cmake(string_view path) {
  return path.ends_with(".cmake") || path.ends_with("CMakeLists.txt");
}

void check_licence(const Source& source, std::vector<Finding>& findings) {
  const auto lines = lines_of(source.text);
  const std::size_t at = !lines.empty() && lines[0].starts_with("#!") ? 1 : 0;
  if (lines.size() <= at ||
      lines[at].find("SPDX-License-Identifier: Apache-2.0") == string_view::npos) {
    findings.push_back({source.path, 1, "the first line is not the SPDX line"});
  }
}

int columns_of(string_view line) {  // characters, not bytes
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  return static_cast<int>(line.size()) - static_cast<int>(std::ranges::count_if(line, continues));
}

void check_size(const Source& source, std::vector<Finding>& findings) {
  const auto lines = lines_of(source.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const int columns = columns_of(lines[i]); columns > kColumnsMax) {
      findings.push_back(
          {source.path, static_cast<int>(i) + 1,
           std::to_string(columns) + " columns, at most " + std::to_string(kColumnsMax)});
    }
  }
  if (lines.size() > kFileLinesMax) {
    findings.push_back({source.path, static_cast<int>(lines.size()),
                        "a file of " + std::to_string(lines.size()) + " lines, at most " +
                            std::to_string(kFileLinesMax)});
  }
}

void check_functions(const Source& source, string_view code, std::vector<Finding>& findings) {
  for (const Function& function : functions_of(without_directives(code))) {
    const int lines = function.last_line - function.first_line + 1;
    if (lines <= kFunctionLinesMax) continue;
    findings.push_back({source.path, function.first_line,
                        "a function of " + std::to_string(lines) + " lines, at most " +
                            std::to_string(kFunctionLinesMax)});
  }
}

void check_includes(const Source& source, string_view code, const Arrows& arrows,
                    std::vector<Finding>& findings) {
  const string_view room = arrows.room_of(source.path);
  constexpr string_view kOurs = "commensal/";
  if (room.empty()) findings.push_back({source.path, 1, "this file is in no room of arrows.txt"});
  for (const Include& include : includes_of(source.text, code)) {
    const auto report = [&](std::string what) {
      findings.push_back({source.path, include.line, std::move(what)});
    };
    const std::string target(include.target);
    if (include.mark == '"') report("include <" + target + ">, not \"" + target + "\"");
    if (target.find("../") != std::string::npos) report("an include goes through ../");
    const bool is_ours = target.starts_with(kOurs) && !is_foreign(target);
    if (is_ours &&
        !arrows.allows(room, string_view(target).substr(kOurs.size()), is_for_tests(source.path))) {
      report(std::string(room) + " may not include <" + target + ">");
    }
    if (!is_for_tests(source.path) &&
        (target.find("/testing/") != std::string::npos || target.starts_with("gtest/") ||
         target.starts_with("gmock/"))) {
      report("<" + target + "> is for tests: no product includes it");
    }
    if (target.starts_with("hosts/") && room != "hosts") report("only hosts include <hosts/...>");
    if (target.starts_with("tests/") && room != "tests") report("only tests include <tests/...>");
    if (target.starts_with("apps/") && !room.starts_with("apps") && room != "tests") {
      report("only programs and tests include <apps/...>");
    }
    const bool is_of_apps = target.starts_with("apps/") && room.starts_with("apps/");
    if (is_of_apps && !arrows.allows(room, target, is_for_tests(source.path))) {
      report(std::string(room) + " may not include <" + target + ">");
    }
  }
}

/// Lanes are included once per instruction set: they have Highway's guard, or say why they have
/// none.
bool is_included_often(const Source& source) {
  return (source.path.ends_with("-inl.hpp") || source.path.ends_with("_inl.hpp")) &&
         (source.text.find("HWY_TARGET_TOGGLE") != std::string::npos ||
          source.text.find("\n// No #pragma once") != std::string::npos);
}

void check_guard(const Source& source, std::vector<Finding>& findings) {
  if (!source.path.ends_with(".hpp") || is_included_often(source)) return;
  const auto lines = lines_of(source.text);
  if (std::ranges::find(lines, "#pragma once") == lines.end()) {
    findings.push_back({source.path, 1, "a header without #pragma once"});
  }
}

/// Words that read the machine's clock or dice wherever they stand, and those that do when called.
constexpr auto kWorldWords = std::to_array<string_view>(
    {"system_clock", "steady_clock", "high_resolution_clock", "random_device", "mt19937",
     "mt19937_64", "default_random_engine", "getrandom", "gettimeofday", "clock_gettime", "srand"});
constexpr auto kWorldCalls = std::to_array<string_view>({"time", "rand", "clock"});

/// True where the word [begin, end) is a call of the C library: not a member, not a declaration,
/// not of a namespace other than std.
bool is_c_call(string_view code, std::size_t begin, std::size_t end) {
  if (end >= code.size() || code[end] != '(') return false;
  string_view before = trimmed(code.substr(0, begin));
  if (before.ends_with("::")) {
    before = trimmed(before.substr(0, before.size() - 2));
    return before.ends_with("std") || before.empty() || !is_word(before.back());
  }
  if (before.ends_with("return")) return true;
  const char last = before.empty() ? ';' : before.back();
  return !is_word(last) && last != '.' && last != '>' && last != '&' && last != '*';
}

void check_world(const Source& source, string_view code, std::vector<Finding>& findings) {
  if (source.path.starts_with("commensal/base/core/")) return;
  if (source.path == "hosts/common/clock.cpp") return;  // programs of their own, in real time
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (!is_word(code[at])) continue;
    std::size_t end = at;
    while (end < code.size() && is_word(code[end])) ++end;
    const string_view word = code.substr(at, end - at);
    if (std::ranges::find(kWorldWords, word) != kWorldWords.end() ||
        (std::ranges::find(kWorldCalls, word) != kWorldCalls.end() && is_c_call(code, at, end))) {
      findings.push_back({source.path, line_at(code, at),
                          std::string(word) + ": take core::Clock or core::Rng instead"});
    }
    at = end;
  }
}

}  // namespace

bool is_checked(const Source& source) {
  return is_cpp(source.path) || is_c(source.path) || is_cmake(source.path) ||
         source.path.ends_with(".proto") || source.path.ends_with(".py") ||
         source.path.ends_with("arrows.txt") || source.text.starts_with("#!");
}

std::vector<Finding> check(const Source& source, const Arrows& arrows) {
  std::vector<Finding> findings;
  check_licence(source, findings);
  if (is_cmake(source.path) || source.path.ends_with(".txt")) return findings;
  check_size(source, findings);
  if (!is_cpp(source.path)) return findings;  // of C only heads and sizes
  const std::string code = code_of(source.text);
  check_includes(source, code, arrows, findings);
  check_guard(source, findings);
  check_functions(source, code, findings);
  check_world(source, code, findings);
  std::ranges::move(check_names(source, code, arrows), std::back_inserter(findings));
  return findings;
}

}  // namespace commensal::tidy
