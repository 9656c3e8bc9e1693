// SPDX-License-Identifier: Apache-2.0
// Gemm and MatMul, from a Call to a ProductTask.
#include <commensal/compute/kernels/cuda/kernels.hpp>
#include <commensal/compute/kernels/shape_inference/gemm.hpp>
#include <vector>

namespace commensal::kernels::cuda {

core::Result<void> run_gemm(const Call& call, std::span<Tensor> outputs, Device& device) {
  COMMENSAL_ASSIGN(const shape_inference::Gemm g, shape_inference::gemm_of(call));
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const auto a, device.upload(call.in(0)));
  COMMENSAL_ASSIGN(const auto b, device.upload(call.in(1)));
  COMMENSAL_ASSIGN(const auto y, device.floats(outputs[0].elements()));
  COMMENSAL_ASSIGN(const auto offsets, device.upload(std::vector<std::int64_t>(3)));
  ProductTask task{.a = a.get(), .b = b.get(), .y = y.get(), .offsets = offsets.get()};
  task.a_row_step = g.transpose_a ? 1 : g.k;
  task.a_step = g.transpose_a ? g.m : 1;
  task.b_step = g.transpose_b ? 1 : g.n;
  task.b_column_step = g.transpose_b ? g.k : 1;
  task.rows = g.m;
  task.columns = g.n;
  task.depth = g.k;
  task.alpha = g.alpha;
  std::shared_ptr<float> c;
  if (g.has_c) {
    COMMENSAL_ASSIGN(c, device.upload(call.in(2)));
    task.c = c.get();
    task.beta = g.beta;
    task.c_row_step = g.c_row;
    task.c_column_step = g.c_column;
  }
  device.run(&Driver::product, task);
  return device.download(y.get(), outputs[0]);
}

core::Result<void> run_matmul(const Call& call, std::span<Tensor> outputs, Device& device) {
  COMMENSAL_ASSIGN(const shape_inference::MatMul mm, shape_inference::matmul_of(call));
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const auto a, device.upload(call.in(0)));
  COMMENSAL_ASSIGN(const auto b, device.upload(call.in(1)));
  COMMENSAL_ASSIGN(const auto y, device.floats(outputs[0].elements()));
  std::vector<std::int64_t> at_a, at_b, at_y;
  for (std::int64_t i = 0; i < mm.batches; ++i) {
    at_a.push_back(mm.a_matrix(i) * mm.m * mm.k);
    at_b.push_back(mm.b_matrix(i) * mm.k * mm.n);
    at_y.push_back(i * mm.m * mm.n);
  }
  at_a.insert(at_a.end(), at_b.begin(), at_b.end());
  at_a.insert(at_a.end(), at_y.begin(), at_y.end());
  COMMENSAL_ASSIGN(const auto offsets, device.upload(at_a));
  const ProductTask task{.a = a.get(),
                         .a_row_step = mm.k,
                         .b = b.get(),
                         .b_step = mm.n,
                         .y = y.get(),
                         .offsets = offsets.get(),
                         .batch = mm.batches,
                         .rows = mm.m,
                         .columns = mm.n,
                         .depth = mm.k};
  device.run(&Driver::product, task);
  return device.download(y.get(), outputs[0]);
}

}  // namespace commensal::kernels::cuda
