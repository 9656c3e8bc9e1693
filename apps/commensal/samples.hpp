// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/inputs.hpp>

namespace commensal::apps {

/// Reads "[NAME=]PATH" for each input of the graph: a folder with a file for each sample, taken by
/// name, or an .npy file with the samples along its first axis. At most `samples_max` are read, as
/// many for each input. A sample of an .npy file keeps an axis of 1 where the input has as many
/// axes as the file. Errors: kInvalidArgument (naming the inputs; samples of different number);
/// those of read_inputs.
core::Result<std::vector<std::vector<tensor::Tensor>>> read_samples(
    const graph::Graph& graph, const std::vector<std::string>& given, const io::PictureRule& image,
    std::size_t samples_max);

/// An .npy file of integers, one a sample. Error: kInvalidArgument.
core::Result<std::vector<std::int64_t>> read_labels(const std::string& file,
                                                    std::size_t samples_max);

}  // namespace commensal::apps
