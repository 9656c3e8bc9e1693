// SPDX-License-Identifier: Apache-2.0
#include <tests/tidy/operators.hpp>

namespace commensal::tidy {
namespace {

using std::string_view;

constexpr string_view kTable = "commensal/compute/kernels/table_";

bool is_product(string_view path) {
  const bool is_ours = path.starts_with("commensal/") || path.starts_with("apps/");
  const bool is_cpp = path.ends_with(".cpp") || path.ends_with(".hpp");
  const bool tests = path.ends_with("_test.cpp") || path.ends_with("_bench.cpp") ||
                     path.ends_with("_fuzz.cpp") || path.find("/testing/") != string_view::npos;
  return is_ours && is_cpp && !tests;
}

/// Recurrent operators have attributes whose values are called as operators are; a model, and
/// a case that is measured, is written by the names that its file has; so are gradients and a step
/// of training.
bool asks_the_table(string_view path) {
  return !path.starts_with("commensal/lab/network_writer") &&
         !path.starts_with("commensal/lab/bench/operators/") &&
         !path.starts_with("commensal/lab/bench/serve/simple_model") &&
         !path.starts_with("commensal/lab/classic") &&
         !path.starts_with("commensal/lab/squeezenet") &&
         !path.starts_with("commensal/lab/super_resolution") &&
         !path.starts_with("commensal/lab/hostile/models") &&
         !path.starts_with("commensal/compute/grad/") &&
         !path.starts_with("commensal/compute/train/") &&
         !path.starts_with("commensal/verify/arbiter/") &&
         !path.starts_with("commensal/compute/kernels/ref/recurrent");
}

/// f(offset of the opening quote, what is between the quotes)
template <class F>
void for_each_literal(string_view text, string_view code, const F& f) {
  for (std::size_t at = code.find('"'); at != string_view::npos; at = code.find('"', at)) {
    const std::size_t end = code.find('"', at + 1);
    if (end == string_view::npos) return;
    f(at, text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
}

bool is_comparison(string_view text) { return text.starts_with("==") || text.starts_with("!="); }

void check_comparisons(const Source& source, string_view code, std::vector<Finding>& findings) {
  for (const string_view name : {"op->name", "op.name", "op_type()"}) {
    for (std::size_t at = code.find(name); at != string_view::npos; at = code.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      if (end < code.size() && is_word(code[end])) continue;
      const string_view before = trimmed(code.substr(0, at)), after = trimmed(code.substr(end));
      std::size_t begin = before.size();
      while (begin > 0 && (is_word(before[begin - 1]) || before[begin - 1] == '.' ||
                           before[begin - 1] == '>' || before[begin - 1] == '-')) {
        --begin;
      }
      const string_view operand = trimmed(before.substr(0, begin));
      const bool follows = operand.size() >= 2 && is_comparison(operand.substr(operand.size() - 2));
      if (!is_comparison(after) && !follows) continue;
      findings.push_back({source.path, line_at(code, at),
                          "an operator's name is compared: give its row a column"});
    }
  }
}

}  // namespace

std::set<std::string, std::less<>> operator_names(const std::vector<Source>& sources) {
  std::set<std::string, std::less<>> names;
  for (const Source& source : sources) {
    if (!source.path.starts_with(kTable)) continue;
    const std::string code = code_of(source.text);
    for_each_literal(source.text, code, [&](std::size_t at, string_view literal) {
      if (string_view(code).substr(0, at).ends_with(".name = ")) names.emplace(literal);
    });
  }
  return names;
}

std::vector<Finding> check_operator_names(const Source& source,
                                          const std::set<std::string, std::less<>>& names) {
  std::vector<Finding> findings;
  if (!is_product(source.path) || source.path.starts_with(kTable)) return findings;
  const std::string code = code_of(source.text);
  check_comparisons(source, code, findings);
  if (!asks_the_table(source.path)) return findings;
  for_each_literal(source.text, code, [&](std::size_t at, string_view literal) {
    const bool finds_row =
        trimmed(string_view(code).substr(0, at)).ends_with("find_operator(\"\",");
    if (!names.contains(literal) || (finds_row && source.path.starts_with("commensal/lab/")))
      return;
    findings.push_back({source.path, line_at(code, at),
                        "\"" + std::string(literal) + "\" is an operator's: ask its row"});
  });
  return findings;
}

}  // namespace commensal::tidy
