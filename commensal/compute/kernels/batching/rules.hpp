// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <string>
#include <vector>

/// Which calls may be joined into one batch: the rules that rows name in column `batching`.
namespace commensal::kernels::batching {

/// One node of a trial with `rows` rows in the batch. Inputs that are not batched are the same for
/// every number of rows (only the shape that Reshape takes may differ), and their elements may be
/// read; of batched ones only the type means something.
struct Trial {
  const Call& call;            // with the types of the outputs
  std::vector<bool> batched;   // by input
  std::vector<bool> is_rows;   // by element of Reshape's shape: the number of rows, nothing else
  std::vector<bool> is_asked;  // by output: the graph has a name for it
  std::int64_t rows = 0;

  bool has(int i) const { return call.has(i); }
  bool is_batched(int i) const { return batched[static_cast<std::size_t>(i)]; }
  const tensor::Shape& shape(int i) const { return call.in(i).shape(); }
};

std::string along_first(const Trial& t);
std::string along_last(const Trial& t);
std::string batch_norm(const Trial& t);
std::string concat(const Trial& t);
std::string dropout(const Trial& t);
std::string elementwise(const Trial& t);
std::string flatten(const Trial& t);
std::string gather(const Trial& t);
std::string gather_elements(const Trial& t);
std::string gemm(const Trial& t);
std::string grid_sample(const Trial& t);
std::string integer_matmul(const Trial& t);
std::string layer_norm(const Trial& t);
std::string matmul(const Trial& t);
std::string max_pool(const Trial& t);
std::string one_hot(const Trial& t);
std::string only_first(const Trial& t);
std::string pad(const Trial& t);
std::string quantise(const Trial& t);
std::string quantised_matmul(const Trial& t);
std::string reduce(const Trial& t);
std::string reshape(const Trial& t);
std::string resize(const Trial& t);
std::string slice(const Trial& t);
std::string softmax(const Trial& t);
std::string squeeze(const Trial& t);
std::string tile(const Trial& t);
std::string transpose(const Trial& t);
std::string trilu(const Trial& t);
std::string unsqueeze(const Trial& t);

}  // namespace commensal::kernels::batching
