// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <map>
#include <string>
#include <vector>

namespace commensal::kernels::shape_inference {

/// An Einsum call, checked. A term of the equation is expanded to one label for each dimension:
/// letters, and digits for the dimensions of the ellipsis, counted from its end ('0' is the last).
struct Einsum {
  using Labels = std::string;

  TensorType to;
  Labels output, summed;  // summed: in the order of the chain, the last one fastest
  std::vector<Labels> operands;
  std::vector<tensor::Shape> shapes;
  std::map<char, std::int64_t> dims;

  /// Steps of one chain.
  std::int64_t depth() const;

  /// Labels that all operands and the output go through as if they were one.
  struct Loop {
    std::int64_t extent = 1;
    std::vector<std::int64_t> steps;  // of each operand, then of the output
    friend bool operator==(const Loop&, const Loop&) = default;
  };
  /// Those of some labels, the last one fastest.
  std::vector<Loop> loops(const Labels& labels) const;
  /// Of all of them together.
  static std::int64_t turns(const std::vector<Loop>& loops);
  /// Where `view` (an operand, or the output) is at turn `index`.
  static std::int64_t place(const std::vector<Loop>& loops, std::size_t view, std::int64_t index);
  /// Elements of an operand from one entry of the label to the next; 0 where it has none.
  std::int64_t step(std::size_t operand, char label) const;
};

/// Error: kInvalidArgument, one line.
core::Result<Einsum> einsum_of(const Call& call);

}  // namespace commensal::kernels::shape_inference
