// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/train/plan.hpp>

namespace commensal::train {

/// What `sources` have for the model's inputs, in their order, then for the loss's target (but of
/// LossKind::kValue): arrays of as many samples, `least` at least, each as a batch of `batch` wants
/// it; classes become int64, other targets float32.
/// Errors: those of what it reads, with the file's name; kInvalidArgument (data that does not fit
/// the model, too few samples, a source that is no input).
/// Thread-safety: any thread.
core::Result<std::vector<tensor::Tensor>> read_samples(const Sources& sources,
                                                       const graph::Graph& model, LossKind loss,
                                                       std::int64_t batch, std::int64_t least);

/// The last `count` samples of each, which `data` then lacks. Error: kInvalidArgument (fewer than
/// `least` are left).
core::Result<std::vector<tensor::Tensor>> take_last(std::vector<tensor::Tensor>& data,
                                                    std::int64_t count, std::int64_t least);

/// That each of the classes of `target`, the last of read_samples(), is one of `classes`, or
/// ignored; nothing where there are none (0). Error: kInvalidArgument, with the first row that is
/// not so.
core::Result<void> check_classes(const Sources& sources, const tensor::Tensor& target,
                                 std::int64_t classes, const Loss& loss);

/// The type of so many of those samples.
tensor::TensorType batch_of(const tensor::Tensor& samples, std::int64_t batch);

}  // namespace commensal::train
