// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <regex>
#include <tests/tidy/functions.hpp>
#include <tests/tidy/source.hpp>

namespace commensal::tidy {
namespace {

enum class Scope { kNames, kData, kFunction };

/// What stands before an opening brace, minus a template header and an access label.
std::string_view declaration(std::string_view head) {
  head = trimmed(head);
  for (const std::string_view label : {"public:", "protected:", "private:"}) {
    if (head.starts_with(label)) head = trimmed(head.substr(label.size()));
  }
  if (!head.starts_with("template")) return head;
  int depth = 0;
  for (std::size_t i = head.find('<'); i < head.size(); ++i) {
    depth += head[i] == '<' ? 1 : head[i] == '>' ? -1 : 0;
    if (depth == 0) return trimmed(head.substr(i + 1));
  }
  return head;
}

bool opens_names(std::string_view head) {
  constexpr std::array<std::string_view, 7> kWords = {
      "namespace", "inline namespace", "class", "struct", "union", "enum", "extern"};
  for (const std::string_view word : kWords) {
    if (head.starts_with(word) && (head.size() == word.size() || !is_word(head[word.size()]))) {
      return true;
    }
  }
  return false;
}

bool opens_lambda(std::string_view head) {
  static const std::regex kLambda(R"((^|[^\]])\](<[^{}]*>)?\s*(\([^{}]*\))?[^{}();=\]]*$)");
  const std::string_view tail = head.substr(head.size() > 400 ? head.size() - 400 : 0);
  return std::regex_search(tail.begin(), tail.end(), kLambda);
}

class Braces {
 public:
  explicit Braces(std::string_view code) : code_(code) {}

  std::vector<Function> run() {
    for (; at_ < code_.size(); ++at_) {
      const char c = code_[at_];
      if (c == '{') {
        open();
      } else if (c == '}') {
        close();
      } else if (in_function()) {
        continue;
      } else if (c == '(' || c == ')') {
        parentheses_ += c == '(' ? 1 : -1;
      } else if (c == ';' && parentheses_ == 0) {
        head_ = at_ + 1;
      }
    }
    return std::move(found_);
  }

 private:
  struct Open {
    Scope scope;
    std::size_t head;
    int parentheses;
  };

  bool in_function() const { return !open_.empty() && open_.back().scope == Scope::kFunction; }

  Scope classify() const {
    if (in_function()) return Scope::kFunction;
    const std::string_view head = declaration(code_.substr(head_, at_ - head_));
    const bool is_inner =
        parentheses_ > 0 || (!open_.empty() && open_.back().scope == Scope::kData);
    if (!is_inner && opens_names(head)) return Scope::kNames;
    // x_{1} in a list of initialisers: a body has a space before its brace.
    const bool is_glued = at_ > 0 && code_[at_ - 1] != ' ' && code_[at_ - 1] != '\n';
    if (is_glued || head.ends_with('=')) return Scope::kData;
    if (opens_lambda(head)) return Scope::kFunction;
    if (is_inner) return Scope::kData;  // an element of a table, a default argument
    return head.find(')') != std::string_view::npos ? Scope::kFunction : Scope::kData;
  }

  void open() {
    open_.push_back({classify(), head_, parentheses_});
    if (open_.back().scope == Scope::kFunction) return;
    head_ = at_ + 1;
    parentheses_ = 0;
  }

  void close() {
    if (open_.empty()) return;  // unbalanced: the compiler will say so
    const Open last = open_.back();
    open_.pop_back();
    if (in_function()) return;  // a block within one
    parentheses_ = last.parentheses;
    if (last.scope == Scope::kFunction) {
      std::size_t first = last.head;
      while (first < at_ && !is_ink(code_[first])) ++first;
      found_.push_back({line_at(code_, first), line_at(code_, at_)});
    }
    // Data is part of a longer declaration; a scope or a body ends one.
    head_ = last.scope == Scope::kData ? last.head : at_ + 1;
  }

  static bool is_ink(char c) { return c != ' ' && c != '\n' && c != ','; }

  std::string_view code_;
  std::size_t at_ = 0;
  std::size_t head_ = 0;  // where the current declaration begins
  int parentheses_ = 0;
  std::vector<Open> open_;
  std::vector<Function> found_;
};

}  // namespace

std::vector<Function> functions_of(std::string_view code) { return Braces(code).run(); }

}  // namespace commensal::tidy
