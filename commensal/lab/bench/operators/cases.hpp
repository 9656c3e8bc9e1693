// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What operators are measured on: shapes as networks have them, one node a graph.
namespace commensal::lab::bench::operators {

/// A row of the table.
struct Case {
  std::string_view ops;  // "Add|Sub": each of them
  /// Separated by spaces: `f32[1,64,56,56]` is fed, `*f32[64]` a constant, `i64{0,2}` a constant
  /// of these elements, `i64{2}.` of one and no dimension, `-` is left out. Behind a shape: `+` for
  /// elements in [1, 2), `~4` for [-4, 4) instead of [-1, 1), `<9` for whole numbers below 9, `>9`
  /// for those from 1 to 9, `#9` for boxes: two corners below 9, the nearer one first, after image
  /// 0 where there is a fifth column.
  std::string_view inputs;
  std::string_view attributes = "";  // `axis=1 alpha=0.5 pads=[1,1] mode:linear names:[a,b]`
  int outputs = 1;
  int opset = 17;
};
std::span<const Case> case_table();

/// Operators that no row names, as rows name theirs, and why.
struct NotMeasured {
  std::string_view ops, why;
};
std::span<const NotMeasured> not_measured();
/// Null: rows name it, or nobody does.
const NotMeasured* why_not_measured(std::string_view op);

/// A case of one operator.
struct Subject {
  std::string op;
  std::string what;  // inputs and attributes
  core::Bytes model;
  std::vector<std::string> names;  // of what is fed
  std::vector<tensor::Tensor> feeds;
  std::int64_t bytes = 0;        // of a node's inputs and outputs
  std::int64_t product_ops = 0;  // of its products, a multiply-add being two
};
/// `copies` nodes, one after the other, where an output can be the first input again.
/// Error: kInvalidArgument (a row that cannot be read).
core::Result<Subject> subject_of(const Case& row, std::string_view op, int copies = 1);
/// "Add|Sub": both.
std::vector<std::string_view> names_in(std::string_view ops);

/// A row and one of its operators.
struct Pick {
  const Case* row;
  std::string_view op;
};
/// All of the table whose operator is among `ops`; none: all.
std::vector<Pick> picks(std::span<const std::string> ops);
/// The first of each operator.
std::vector<Pick> firsts(const std::vector<Pick>& all);

}  // namespace commensal::lab::bench::operators
