// SPDX-License-Identifier: Apache-2.0
// RegexFullMatch, StringConcat, StringNormalizer, StringSplit: texts are UTF-8; bytes that are not
// are kept as they are.
#include <algorithm>
#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/kernels/ref/strings_ops.hpp>
#include <commensal/compute/kernels/ref/strings_pattern.hpp>
#include <commensal/compute/kernels/ref/unicode.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/broadcast.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <optional>
#include <set>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Views = std::vector<std::string_view>;

constexpr Scalar kText{DType::kString, 0};  // an element that has no bits

core::Result<void> check_strings(const Call& call, int input) {
  if (call.in(input).dtype() == DType::kString) return {};
  return fail(ErrorCode::kInvalidArgument, "input {} must be strings, not {}", input,
              traits(call.in(input).dtype()).name);
}
std::string_view text_at(const Call& call, int input, std::int64_t index) {
  call.pulse(32);
  return call.in(input).strings()[static_cast<std::size_t>(index)];
}
core::Result<void> check_made(std::int64_t strings) {
  if (strings <= limits::kStringsMadeMax) return {};
  return fail(ErrorCode::kResourceExhausted, "{} strings, at most {} are made", strings,
              limits::kStringsMadeMax);
}

struct ConcatPlan {
  shape_inference::Broadcast broadcast;

  static core::Result<ConcatPlan> make(const Call& call) {
    COMMENSAL_TRY(check_strings(call, 0));
    COMMENSAL_TRY(check_strings(call, 1));
    COMMENSAL_ASSIGN(auto broadcast, shape_inference::Broadcast::of(call));
    const std::int64_t count = broadcast.shape().elements();
    COMMENSAL_TRY(check_made(count));
    std::int64_t bytes = 0;
    for (std::int64_t i = 0; i < count && bytes <= limits::kStringBytesMadeMax; ++i) {
      for (const int input : {0, 1}) {
        const auto text = text_at(call, input, broadcast.source(input, i));
        bytes += static_cast<std::int64_t>(text.size());
      }
    }
    if (bytes <= limits::kStringBytesMadeMax) return ConcatPlan{std::move(broadcast)};
    return fail(ErrorCode::kResourceExhausted, "the result has more than {} bytes",
                limits::kStringBytesMadeMax);
  }
  std::vector<TensorType> types() const { return {{DType::kString, broadcast.shape()}}; }
  Scalar element(const Call&, int, std::int64_t) const { return kText; }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (const int input : {0, 1}) out.push_back({input, broadcast.source(input, index)});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    std::vector<std::string> made;
    for (std::int64_t i = 0; i < broadcast.shape().elements(); ++i) {
      made.emplace_back(text_at(call, 0, broadcast.source(0, i)));
      made.back() += text_at(call, 1, broadcast.source(1, i));
    }
    outputs[0] = Tensor::of_strings(broadcast.shape(), made);
  }
};

enum class CaseChange { kNone, kLower, kUpper };

struct NormalizerPlan {
  CaseChange change = CaseChange::kNone;
  std::vector<std::int64_t> kept;
  std::int64_t width = 1;
  bool is_row = false;  // [1, C], not [C]

  static core::Result<NormalizerPlan> make(const Call& call) {
    constexpr std::pair<std::string_view, CaseChange> kChanges[] = {
        {"NONE", CaseChange::kNone}, {"LOWER", CaseChange::kLower}, {"UPPER", CaseChange::kUpper}};
    NormalizerPlan plan;
    COMMENSAL_TRY(check_strings(call, 0));
    const Shape& shape = call.in(0).shape();
    plan.is_row = shape.rank() == 2;
    if (shape.rank() != 1 && !(plan.is_row && shape[0] == 1)) {
      return fail(ErrorCode::kInvalidArgument, "input 0 must be [C] or [1, C], not {}",
                  shape.text());
    }
    COMMENSAL_ASSIGN(const auto asked, call.attributes->text("case_change_action", "NONE"));
    const auto* found =
        std::ranges::find_if(kChanges, [&](auto& row) { return row.first == asked; });
    if (found == std::end(kChanges)) {
      return fail(ErrorCode::kInvalidArgument,
                  "attribute 'case_change_action' must be NONE, LOWER or UPPER");
    }
    plan.change = found->second;
    // Accepted, so that models load; no locale changes what a letter's case is.
    COMMENSAL_TRY(call.attributes->text("locale", "en_US"));
    COMMENSAL_ASSIGN(const auto words, call.attributes->texts("stopwords"));
    COMMENSAL_ASSIGN(const auto exact, call.attributes->integer("is_case_sensitive", 0));
    const auto key = [&](std::string_view text) {
      return exact != 0 ? std::string(text) : lower_of(text, call.pulse);
    };
    std::set<std::string> stops;
    for (const std::string& word : words) stops.insert(key(word));
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      if (stops.empty() || !stops.contains(key(text_at(call, 0, i)))) plan.kept.push_back(i);
    }
    // Where nothing is left there is one empty string.
    plan.width = std::max<std::int64_t>(static_cast<std::int64_t>(plan.kept.size()), 1);
    return plan;
  }
  Shape shape() const { return is_row ? Shape{1, width} : Shape{width}; }
  std::vector<TensorType> types() const { return {{DType::kString, shape()}}; }
  Scalar element(const Call&, int, std::int64_t) const { return kText; }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    read_whole(call, 0, out);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    std::vector<std::string> made;
    for (const std::int64_t i : kept) {
      const std::string_view text = text_at(call, 0, i);
      made.push_back(change == CaseChange::kNone    ? std::string(text)
                     : change == CaseChange::kLower ? lower_of(text, call.pulse)
                                                    : upper_of(text, call.pulse));
    }
    if (made.empty()) made.emplace_back();
    outputs[0] = Tensor::of_strings(shape(), made);
  }
};

// Pieces between white space; what is behind the last cut begins at its first other character.
Views cut_at_space(std::string_view text, std::int64_t cuts, Pulse& pulse) {
  Views pieces;
  std::size_t at = 0;
  while (true) {
    std::size_t next = at;
    while (at < text.size() && is_white_space(next_character(text, next))) {
      pulse(4);
      at = next;
    }
    if (at >= text.size()) return pieces;
    if (cuts-- == 0) {
      pieces.push_back(text.substr(at));
      return pieces;
    }
    const std::size_t first = at;
    next = at;
    while (at < text.size() && !is_white_space(next_character(text, next))) {
      pulse(4);
      at = next;
    }
    pieces.push_back(text.substr(first, at - first));
  }
}

Views cut_at(std::string_view text, std::string_view delimiter, std::int64_t cuts, Pulse& pulse) {
  Views pieces;
  std::size_t first = 0;
  for (; cuts != 0; --cuts) {
    const std::size_t found = text.find(delimiter, first);
    if (found == std::string_view::npos) break;
    pulse(8 + (found - first) / 8);
    pieces.push_back(text.substr(first, found - first));
    first = found + delimiter.size();
  }
  pieces.push_back(text.substr(first));
  return pieces;
}

// [..., most pieces] strings, filled up with empty ones, and how many each has.
struct SplitPlan {
  std::string delimiter;
  std::int64_t cuts = 0;
  Shape from, to;
  std::int64_t most = 0;
  bool gives_counts = false;

  static core::Result<SplitPlan> make(const Call& call) {
    SplitPlan plan;
    plan.gives_counts = call.output_count > 1;
    COMMENSAL_TRY(check_strings(call, 0));
    COMMENSAL_ASSIGN(plan.delimiter, call.attributes->text("delimiter", ""));
    COMMENSAL_ASSIGN(plan.cuts, call.attributes->integer("maxsplit", -1));
    // More pieces than may be made are refused before they fill the memory.
    if (plan.cuts < 0) plan.cuts = limits::kStringsMadeMax;
    plan.cuts = std::min(plan.cuts, limits::kStringsMadeMax);
    plan.from = call.in(0).shape();
    std::int64_t made = 0;
    for (std::int64_t i = 0; i < plan.from.elements(); ++i) {
      const auto count = static_cast<std::int64_t>(plan.pieces(call, i).size());
      plan.most = std::max(plan.most, count);
      made += count;
    }
    COMMENSAL_TRY(check_made(made));
    std::vector<std::int64_t> dims(plan.from.dims().begin(), plan.from.dims().end());
    dims.push_back(plan.most);
    COMMENSAL_ASSIGN(plan.to, Shape::of(dims));
    COMMENSAL_TRY(check_made(plan.to.elements()));
    return plan;
  }
  Views pieces(const Call& call, std::int64_t index) const {
    const std::string_view text = text_at(call, 0, index);
    return delimiter.empty() ? cut_at_space(text, cuts, call.pulse)
                             : cut_at(text, delimiter, cuts, call.pulse);
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> made = {{DType::kString, to}};
    if (gives_counts) made.push_back({DType::kInt64, from});
    return made;
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    if (output == 0) return kText;
    return scalar_of(static_cast<std::int64_t>(pieces(call, index).size()));
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    // The last dimension is as long as the longest needs.
    if (output == 0) return read_whole(call, 0, out);
    out.push_back({0, index});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    Views made;
    for (std::int64_t i = 0; i < from.elements(); ++i) {
      Views row = pieces(call, i);
      if (gives_counts) {
        outputs[1].mutable_data<std::int64_t>()[static_cast<std::size_t>(i)] =
            static_cast<std::int64_t>(row.size());
      }
      call.pulse(most);
      row.resize(static_cast<std::size_t>(most));
      made.insert(made.end(), row.begin(), row.end());
    }
    outputs[0] = Tensor::of_string_views(to, std::move(made), {call.in(0).owner()});
  }
};

struct MatchPlan {
  Pattern pattern;
  Shape shape;

  static core::Result<MatchPlan> make(const Call& call) {
    COMMENSAL_TRY(check_strings(call, 0));
    COMMENSAL_ASSIGN(const std::string text, call.attributes->text("pattern", ""));
    COMMENSAL_ASSIGN(auto pattern, Pattern::of(text));
    return MatchPlan{std::move(pattern), call.in(0).shape()};
  }
  std::vector<TensorType> types() const { return {{DType::kBool, shape}}; }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return scalar_of(pattern.matches(text_at(call, 0, index), call.pulse));
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    out.push_back({0, index});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto y = outputs[0].mutable_data<bool>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = pattern.matches(text_at(call, 0, static_cast<std::int64_t>(i)), call.pulse);
    }
  }
};

}  // namespace

constinit const Judge kRegexFullMatch = judge_of<MatchPlan>();
constinit const Judge kStringConcat = judge_of<ConcatPlan>();
constinit const Judge kStringNormalizer = judge_of<NormalizerPlan>();
constinit const Judge kStringSplit = judge_of<SplitPlan>();

}  // namespace commensal::kernels::ref
