// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <numeric>

namespace commensal::kernels::ref {
namespace {

using namespace cpu::testing;
using tensor::Shape;
using Ints = std::vector<std::int64_t>;

struct Sides {
  float top, left, bottom, right;
  explicit Sides(const float* at)
      : top(std::min(at[0], at[2])),
        left(std::min(at[1], at[3])),
        bottom(std::max(at[0], at[2])),
        right(std::max(at[1], at[3])) {}
  float area() const { return (bottom - top) * (right - left); }
};
float overlap(const Sides& a, const Sides& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0 && width > 0)) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

/// Of one class, box by box.
Ints selected(const Tensor& boxes, const Tensor& scores, std::int64_t most, float overlap_max) {
  const auto score = scores.data<float>();
  const float* const sides = boxes.data<float>().data();
  Ints order;
  for (std::size_t i = 0; i < score.size(); ++i) {
    if (score[i] == score[i]) order.push_back(static_cast<std::int64_t>(i));
  }
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::int64_t i) { return score[static_cast<std::size_t>(i)]; });
  Ints taken, made;
  for (const std::int64_t one : order) {
    const bool is_free = std::ranges::none_of(taken, [&](std::int64_t other) {
      return overlap(Sides(sides + one * 4), Sides(sides + other * 4)) > overlap_max;
    });
    if (!is_free || std::ssize(taken) == most) continue;
    taken.push_back(one);
    made.insert(made.end(), {0, 0, one});
  }
  return made;
}

/// Corners in [0, 10); of the special ones some are infinite or NaN.
Tensor boxes_of(std::int64_t count, bool special) {
  const Tensor drawn = random_tensor({count, 4}, 3);
  std::vector<float> sides;
  for (const float one : drawn.data<float>()) sides.push_back(5 + 5 * one);
  for (std::size_t i = 0; special && i < sides.size(); i += 20) {
    sides[i + i / 20 % 4] = special_value(static_cast<std::uint32_t>(i / 20));
  }
  return Tensor::of<float>({1, count, 4}, sides);
}

TEST(NonMaxSuppression, ComparesEveryBoxWithThoseTaken) {
  for (const bool special : {false, true}) {
    for (const std::int64_t count : {1, 15, 16, 17, 300, 2500}) {
      for (const float overlap_max : {0.0f, 0.3f, 0.7f, 2.0f, -1.0f}) {
        for (const std::int64_t most : {5, 16, 1000}) {
          SCOPED_TRACE(
              fmt::format("{} of {} above {}, special {}", most, count, overlap_max, special));
          const Tensor scores = random_tensor({1, 1, count}, 4, Values::kSpecial);
          const Case test{.name = "NonMaxSuppression",
                          .opset = 11,
                          .attributes = {},
                          .inputs = {boxes_of(count, special), scores,
                                     Tensor::of<std::int64_t>({1}, std::span(&most, 1)),
                                     Tensor::of<float>({1}, std::span(&overlap_max, 1))},
                          .constants = {}};
          const Ints expected = selected(test.inputs[0], scores, most, overlap_max);
          CaseRunner(test).compare_with(
              [&](const Operator&, const Call&, std::span<Tensor> outputs) -> core::Result<void> {
                const auto to = outputs[0].mutable_data<std::int64_t>();
                EXPECT_EQ(to.size(), expected.size());
                std::copy_n(expected.begin(), std::min(to.size(), expected.size()), to.begin());
                return {};
              });
        }
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::ref
