// SPDX-License-Identifier: Apache-2.0
// Attention: for each query of a head
//   s_j = scale * (chain over the width, fma(q, k_j, acc) from +0),
//   t_j = s_j + mask_j; -infinity where the mask is false or the key excluded,
//   u_j = softcap * tanh(t_j / softcap) if there is a softcap, else t_j,
//   p = Softmax of u over all keys, as that operator's,
//   y = chain over the keys, fma(p_j, v_j, acc) from +0, plus +0.
// All of it is binary32, rounded where it is an output.
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/shape_inference/attention.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

using Lane = math::ScalarLanes;
using Row = std::vector<float>;
using Attended = shape_inference::Attention;

enum Output { kY, kPresentKey, kPresentValue, kShown };

// The numbers of one query, by key, up to the stage that was asked for.
enum class Stage { kProduct, kMasked, kCapped, kSoftmax };

struct AttentionPlan {
  Attended a;

  static core::Result<AttentionPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto made, shape_inference::attention_of(call));
    return AttentionPlan{std::move(made)};
  }
  std::vector<TensorType> types() const { return a.types; }

  // `count` elements of an input from `first` on, widened.
  static Row widened(const Call& call, ElementRef first, std::int64_t count) {
    Row row;
    visit(Floats32{}, call.in(first.input).dtype(), [&]<class T>() {
      const auto data =
          paced<T>(call, first.input)
              .all()
              .subspan(static_cast<std::size_t>(first.index), static_cast<std::size_t>(count));
      for (const T x : data) {
        call.pulse();
        row.push_back(load(x));
      }
    });
    return row;
  }
  float mask(const Call& call, std::int64_t n, std::int64_t head, std::int64_t query,
             std::int64_t key) const {
    constexpr float kExcluded = -std::numeric_limits<float>::infinity();
    if (!call.has(Attended::kMask)) return 0;
    const auto at = static_cast<std::size_t>(a.mask_at(n, head, query, key));
    return visit(Everything{}, call.in(Attended::kMask).dtype(), [&]<class M>() {
      const auto x = load(paced<M>(call, Attended::kMask)[at]);
      if constexpr (std::is_same_v<M, bool>) {
        return x ? 0.0f : kExcluded;
      } else {
        return static_cast<float>(x);
      }
    });
  }

  Row numbers(const Call& call, std::int64_t n, std::int64_t head, std::int64_t query,
              Stage stage) const {
    const Row q = widened(call, {Attended::kQ, a.q_at(n, head, query)}, a.width);
    Row row;
    for (std::int64_t key = 0; key < a.keys(); ++key) {
      const Row k = widened(call, a.kv_at(false, n, a.kv_head(head), key), a.width);
      row.push_back(a.scale * chain(call.pulse, 0.0f, q.data(), 1, k.data(), 1, a.width));
    }
    if (stage == Stage::kProduct) return row;
    for (std::int64_t key = 0; key < a.keys(); ++key) {
      float& x = row[static_cast<std::size_t>(key)];
      call.pulse(4);
      x = a.excluded(n, query, key) ? -std::numeric_limits<float>::infinity()
                                    : x + mask(call, n, head, query, key);
    }
    if (stage == Stage::kMasked) return row;
    if (a.softcap > 0) {
      for (float& x : row) {
        call.pulse(4);
        x = a.softcap * math::tanh<Lane>(x / a.softcap);
      }
    }
    if (stage == Stage::kCapped) return row;
    Extreme<float, true> largest;
    Sum<float> sum;
    for (std::size_t i = 0; i < row.size(); ++i) largest.add(static_cast<std::int64_t>(i), row[i]);
    for (std::size_t i = 0; i < row.size(); ++i) {
      call.pulse(4);
      row[i] = math::exp<Lane>(row[i] - largest.value());
      sum.add(static_cast<std::int64_t>(i), row[i]);
    }
    const float total = sum.total();
    for (float& x : row) x = x / total;
    return row;
  }
  // One element of y after `steps` keys.
  float attended(const Call& call, const Row& weights, std::int64_t n, std::int64_t head,
                 std::int64_t column, std::int64_t steps) const {
    float acc = 0;
    for (std::int64_t key = 0; key < std::min(steps, a.keys()); ++key) {
      const ElementRef v = a.kv_at(true, n, a.kv_head(head), key);
      const Row one = widened(call, {v.input, v.index + column}, 1);
      acc = std::fma(weights[static_cast<std::size_t>(key)], one[0], acc);
    }
    return acc;
  }

  // What an element of Y or of the fourth output is.
  struct Place {
    std::int64_t n = 0, head = 0, query = 0, column = 0;
  };
  Place place_of(int output, std::int64_t index) const {
    const std::int64_t each = output == kY ? a.v_width : a.keys();
    const std::int64_t row = index / each, flat = output == kY && a.flat_q;
    Place made;
    made.column = index % each;
    made.head = flat ? row % a.heads : row / a.queries % a.heads;
    made.query = flat ? row / a.heads % a.queries : row % a.queries;
    made.n = row / a.heads / a.queries;
    return made;
  }
  // Where an element of a cache comes from.
  ElementRef source(int output, std::int64_t index) const {
    const bool value = output == kPresentValue;
    const std::int64_t each = value ? a.v_width : a.width, row = index / each;
    ElementRef from =
        a.kv_at(value, row / a.keys() / a.kv_heads, row / a.keys() % a.kv_heads, row % a.keys());
    from.index += index % each;
    return from;
  }
  Scalar copied(const Call& call, ElementRef from) const {
    return visit(Floats32{}, call.in(from.input).dtype(), [&]<class T>() {
      return scalar_of(paced<T>(call, from.input)[static_cast<std::size_t>(from.index)]);
    });
  }
  Scalar stored(float value) const {
    return visit(Floats32{}, a.dtype, [&]<class T>() { return scalar_of(store<T>(value)); });
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    if (output == kPresentKey || output == kPresentValue) {
      return copied(call, source(output, index));
    }
    const Place p = place_of(output, index);
    if (output == kShown) {
      const Row row = numbers(call, p.n, p.head, p.query, static_cast<Stage>(a.shown));
      return stored(row[static_cast<std::size_t>(p.column)]);
    }
    const Row weights = numbers(call, p.n, p.head, p.query, Stage::kSoftmax);
    return stored(attended(call, weights, p.n, p.head, p.column, kAllSteps) + 0.0f);
  }

  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    if (output == kPresentKey || output == kPresentValue) {
      return out.push_back(source(output, index));
    }
    const Place p = place_of(output, index);
    const bool all = output == kY || a.shown == static_cast<int>(Stage::kSoftmax);
    const auto read = [&](ElementRef first, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) out.push_back({first.input, first.index + i});
    };
    read({Attended::kQ, a.q_at(p.n, p.head, p.query)}, a.width);
    for (std::int64_t key = 0; key < a.keys(); ++key) {
      if (!all && key != p.column) continue;
      read(a.kv_at(false, p.n, a.kv_head(p.head), key), a.width);
      if (call.has(Attended::kMask) && key < a.mask_keys) {
        out.push_back({Attended::kMask, a.mask_at(p.n, p.head, p.query, key)});
      }
      if (output != kY) continue;
      const ElementRef v = a.kv_at(true, p.n, a.kv_head(p.head), key);
      out.push_back({v.input, v.index + p.column});
    }
    if (call.has(Attended::kSeqLen)) out.push_back({Attended::kSeqLen, p.n});
  }

  // Of Y the keys; of the fourth output the products of its dot product.
  std::int64_t steps(const Call&, int output, std::int64_t) const {
    if (output == kY) return a.keys();
    return output == kShown ? a.width : 0;
  }
  Scalar partial(const Call& call, int output, std::int64_t index, std::int64_t steps) const {
    if (output != kY && output != kShown) return scalar_of(0.0f);
    const Place p = place_of(output, index);
    if (output == kY) {
      const Row weights = numbers(call, p.n, p.head, p.query, Stage::kSoftmax);
      return scalar_of(store<float>(attended(call, weights, p.n, p.head, p.column, steps)));
    }
    const std::int64_t count = std::min(steps, a.width);
    const Row q = widened(call, {Attended::kQ, a.q_at(p.n, p.head, p.query)}, count);
    const Row k = widened(call, a.kv_at(false, p.n, a.kv_head(p.head), p.column), count);
    return scalar_of(store<float>(chain(call.pulse, 0.0f, q.data(), 1, k.data(), 1, count)));
  }

  // One query of one head at a time.
  void run_query(const Call& call, std::span<Tensor> outputs, std::int64_t n, std::int64_t head,
                 std::int64_t query) const {
    const Row weights = numbers(call, n, head, query, Stage::kSoftmax);
    Row y(static_cast<std::size_t>(a.v_width));
    for (std::int64_t key = 0; key < a.keys(); ++key) {
      const Row v = widened(call, a.kv_at(true, n, a.kv_head(head), key), a.v_width);
      step_row(call.pulse, weights[static_cast<std::size_t>(key)], v.data(), 1, y.data(),
               a.v_width);
    }
    const std::int64_t row = a.flat_q ? (n * a.queries + query) * a.heads + head
                                      : (n * a.heads + head) * a.queries + query;
    for (std::int64_t c = 0; c < a.v_width; ++c) {
      call.pulse();
      put(outputs[kY].mutable_bytes(), row * a.v_width + c,
          stored(y[static_cast<std::size_t>(c)] + 0.0f));
    }
    if (outputs.size() <= kShown) return;
    const Row shown = numbers(call, n, head, query, static_cast<Stage>(a.shown));
    const std::int64_t first = ((n * a.heads + head) * a.queries + query) * a.keys();
    for (std::size_t key = 0; key < shown.size(); ++key) {
      call.pulse();
      put(outputs[kShown].mutable_bytes(), first + static_cast<std::int64_t>(key),
          stored(shown[key]));
    }
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const bool any = a.heads > 0 && a.queries > 0;  // a batch of nothing may be long
    for (std::int64_t n = 0; n < a.batch && any; ++n) {
      for (std::int64_t head = 0; head < a.heads; ++head) {
        for (std::int64_t query = 0; query < a.queries; ++query) {
          run_query(call, outputs, n, head, query);
        }
      }
    }
    for (const int output : {kPresentKey, kPresentValue}) {
      if (static_cast<int>(outputs.size()) <= output) continue;
      Tensor& to = outputs[static_cast<std::size_t>(output)];
      for (std::int64_t i = 0; i < to.elements(); ++i) {
        put(to.mutable_bytes(), i, copied(call, source(output, i)));
      }
    }
  }
};

}  // namespace

constinit const Judge kAttention = judge_of<AttentionPlan>();

}  // namespace commensal::kernels::ref
