// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: how often the n-grams of a pool occur in each row. An n-gram is n elements of
// the row, 1, 2, ... max_skip_count + 1 places apart; a single element counts once.
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/kernels/ref/ml.hpp>
#include <commensal/compute/kernels/ref/strings_ops.hpp>
#include <unordered_map>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Ints = std::vector<std::int64_t>;
using Elements = Types<std::int64_t, std::int32_t>;

enum class Mode { kTf, kIdf, kTfIdf };

// Equal elements get equal numbers; what the pool does not have is kUnknown.
class WordNumbers {
 public:
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

  std::uint32_t add(std::string_view text) { return texts_.emplace(text, next()).first->second; }
  std::uint32_t add(std::int64_t value) { return values_.emplace(value, next()).first->second; }
  std::uint32_t find(const Tensor& x, std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    if (x.dtype() == DType::kString) {
      const auto found = texts_.find(std::string(x.strings()[at]));
      return found == texts_.end() ? kUnknown : found->second;
    }
    const std::int64_t value = visit(Elements{}, x.dtype(), [&]<class T>() {
      return static_cast<std::int64_t>(x.data<T>()[at]);
    });
    const auto found = values_.find(value);
    return found == values_.end() ? kUnknown : found->second;
  }

 private:
  std::uint32_t next() const { return static_cast<std::uint32_t>(texts_.size() + values_.size()); }
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::unordered_map<std::int64_t, std::uint32_t> values_;
};

// The pool as a tree of elements: node 0 is no element, an n-gram ends at a node.
class GramTree {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Of equal n-grams the first counts.
  void add(std::span<const std::uint32_t> elements, std::int64_t gram) {
    std::uint32_t node = 0;
    for (const std::uint32_t element : elements) {
      const auto fresh = static_cast<std::uint32_t>(grams_.size());
      const auto [place, is_new] = children_.emplace(key(node, element), fresh);
      if (is_new) grams_.push_back(-1);
      node = place->second;
    }
    if (grams_[node] < 0) grams_[node] = gram;
  }
  std::uint32_t child(std::uint32_t node, std::uint32_t element) const {
    const auto found = children_.find(key(node, element));
    return found == children_.end() ? kNone : found->second;
  }
  /// The n-gram that ends here, or -1.
  std::int64_t gram(std::uint32_t node) const { return grams_[node]; }

 private:
  static std::uint64_t key(std::uint32_t node, std::uint32_t element) {
    return std::uint64_t{node} << 32 | element;
  }
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  Ints grams_ = {-1};
};

struct GramsPlan {
  Mode mode = Mode::kTf;
  std::int64_t least = 1, most = 1, skips = 0;  // lengths and gaps
  Ints columns;                                 // of each n-gram of the pool
  std::vector<float> weights;
  WordNumbers numbers;
  GramTree tree;
  std::int64_t rows = 1, length = 0, width = 0;
  bool is_row = false;  // [C], not [N, C]

  static core::Result<GramsPlan> make(const Call& call) {
    GramsPlan plan;
    const Tensor& x = call.in(0);
    if (x.dtype() != DType::kString) COMMENSAL_TRY(shape_inference::check_dtype<Elements>(call, 0));
    COMMENSAL_ASSIGN(const ml::Rows rows, ml::Rows::of(call));
    plan.rows = rows.count;
    plan.length = rows.features;
    plan.is_row = x.shape().rank() == 1;
    COMMENSAL_TRY(plan.read_numbers(call));
    COMMENSAL_TRY(plan.read_pool(call));
    const std::int64_t dims[] = {plan.rows, plan.width};
    COMMENSAL_TRY(Shape::of(dims));
    return plan;
  }
  core::Result<void> read_numbers(const Call& call) {
    constexpr std::pair<std::string_view, Mode> kModes[] = {
        {"TF", Mode::kTf}, {"IDF", Mode::kIdf}, {"TFIDF", Mode::kTfIdf}};
    COMMENSAL_ASSIGN(const std::string asked, call.attributes->text("mode", ""));
    const auto* found = std::ranges::find_if(kModes, [&](auto& row) { return row.first == asked; });
    if (found == std::end(kModes)) {
      return fail(ErrorCode::kInvalidArgument, "attribute 'mode' must be TF, IDF or TFIDF");
    }
    mode = found->second;
    COMMENSAL_ASSIGN(least, call.attributes->integer("min_gram_length", 0));
    COMMENSAL_ASSIGN(most, call.attributes->integer("max_gram_length", 0));
    COMMENSAL_ASSIGN(skips, call.attributes->integer("max_skip_count", -1));
    if (least < 1 || most < least || skips < 0 || skips > limits::kGramSkipsMax) {
      return fail(
          ErrorCode::kInvalidArgument,
          "n-grams of length {} to {} with up to {} skips; lengths begin at 1, skips end at "
          "{}",
          least, most, skips, limits::kGramSkipsMax);
    }
    COMMENSAL_ASSIGN(columns, call.attributes->integers("ngram_indexes"));
    for (const std::int64_t column : columns) {
      if (column < 0 || column >= limits::kTensorElementsMax) {
        return fail(ErrorCode::kInvalidArgument, "attribute 'ngram_indexes' has {}", column);
      }
      width = std::max(width, column + 1);
    }
    COMMENSAL_ASSIGN(weights, call.attributes->reals("weights"));
    if (weights.empty() || weights.size() == columns.size()) return {};
    return fail(ErrorCode::kInvalidArgument, "attribute 'weights' must have {} entries, not {}",
                columns.size(), weights.size());
  }
  core::Result<void> read_pool(const Call& call) {
    COMMENSAL_ASSIGN(const auto texts, call.attributes->texts("pool_strings"));
    COMMENSAL_ASSIGN(const auto values, call.attributes->integers("pool_int64s"));
    const bool of_texts = call.in(0).dtype() == DType::kString;
    if ((of_texts ? texts.empty() : values.empty()) ||
        (of_texts ? !values.empty() : !texts.empty())) {
      return fail(ErrorCode::kInvalidArgument, "the pool must be of what input 0 is: {}",
                  traits(call.in(0).dtype()).name);
    }
    std::vector<std::uint32_t> pool;
    for (const std::string& text : texts) {
      call.pulse(128);
      pool.push_back(numbers.add(text));
    }
    for (const std::int64_t value : values) {
      call.pulse(64);
      pool.push_back(numbers.add(value));
    }
    return add_grams(call, pool);
  }
  // Entry i of ngram_counts says where in the pool the n-grams of i + 1 elements begin.
  core::Result<void> add_grams(const Call& call, std::span<const std::uint32_t> pool) {
    COMMENSAL_ASSIGN(Ints starts, call.attributes->integers("ngram_counts"));
    starts.push_back(static_cast<std::int64_t>(pool.size()));
    std::int64_t gram = 0;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      const auto size = static_cast<std::int64_t>(i) + 1;
      if (starts[0] != 0 || starts[i + 1] < starts[i] || starts[i + 1] > starts.back() ||
          (starts[i + 1] - starts[i]) % size != 0) {
        return fail(ErrorCode::kInvalidArgument,
                    "attribute 'ngram_counts' does not cut the pool into {}-grams", size);
      }
      for (std::int64_t at = starts[i]; at < starts[i + 1]; at += size, ++gram) {
        // Those of other lengths have their columns, but never occur.
        call.pulse(64 * size);
        if (size < least || size > most) continue;
        tree.add(pool.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size)), gram);
      }
    }
    if (gram != static_cast<std::int64_t>(columns.size())) {
      return fail(ErrorCode::kInvalidArgument, "{} n-grams in the pool, but {} in 'ngram_indexes'",
                  gram, columns.size());
    }
    if (most < static_cast<std::int64_t>(starts.size())) return {};
    return fail(ErrorCode::kInvalidArgument, "the pool has no n-grams of length {}", most);
  }
  std::vector<TensorType> types() const {
    return {{DType::kFloat32, is_row ? Shape{width} : Shape{rows, width}}};
  }

  // How often each n-gram of the pool occurs in a row.
  Ints occurrences(const Call& call, std::int64_t row) const {
    std::vector<std::uint32_t> elements;
    for (std::int64_t i = 0; i < length; ++i) {
      call.pulse(16);
      elements.push_back(numbers.find(call.in(0), row * length + i));
    }
    call.pulse(columns.size());
    Ints counts(columns.size(), 0);
    for (std::int64_t apart = 1; apart <= skips + 1; ++apart) {
      for (std::int64_t first = 0; first < length; ++first) {
        std::uint32_t node = 0;
        for (std::int64_t n = 1; n <= most && first + (n - 1) * apart < length; ++n) {
          call.pulse(16);
          node = tree.child(node, elements[static_cast<std::size_t>(first + (n - 1) * apart)]);
          if (node == GramTree::kNone) break;
          const std::int64_t gram = tree.gram(node);
          const bool is_again = n == 1 && apart > 1;
          if (gram >= 0 && !is_again) ++counts[static_cast<std::size_t>(gram)];
        }
      }
    }
    return counts;
  }
  // What an n-gram adds to its column.
  float share(std::int64_t count, std::size_t gram) const {
    if (count == 0) return 0;
    const float weight = weights.empty() ? 1.0f : weights[gram];
    if (mode == Mode::kTf) return static_cast<float>(count);
    return mode == Mode::kIdf ? weight : static_cast<float>(count) * weight;
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    const Ints counts = occurrences(call, index / width);
    float acc = 0;
    for (std::size_t gram = 0; gram < columns.size(); ++gram) {
      if (columns[gram] == index % width) acc = acc + share(counts[gram], gram);
    }
    return scalar_of(store<float>(acc));
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    const std::int64_t first = index / width * length;
    for (std::int64_t i = 0; i < length; ++i) out.push_back({0, first + i});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto y = outputs[0].mutable_data<float>();
    for (float& one : y) {
      call.pulse();
      one = 0.0f;
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      const Ints counts = occurrences(call, row);
      for (std::size_t gram = 0; gram < columns.size(); ++gram) {
        call.pulse();
        float& acc = y[static_cast<std::size_t>(row * width + columns[gram])];
        acc = store<float>(acc + share(counts[gram], gram));
      }
    }
  }
};

}  // namespace

constinit const Judge kTfIdfVectorizer = judge_of<GramsPlan>();

}  // namespace commensal::kernels::ref
