// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/samples.hpp>
#include <commensal/compute/io/npy.hpp>
#include <filesystem>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::Tensor;

/// A graph that asks for one input only: what the file of one sample is read against.
graph::Graph one_input(const graph::Graph& graph, std::size_t place) {
  graph::Graph one;
  one.values.push_back(graph.values[static_cast<std::size_t>(graph.inputs[place])]);
  one.inputs = {0};
  return one;
}

Result<std::vector<Tensor>> from_folder(const graph::Graph& input, const core::Path& folder,
                                        const io::PictureRule& image, std::size_t samples_max) {
  std::vector<std::string> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  if (failed) {
    return fail(ErrorCode::kNotFound, "'{}': {}", folder.string(), failed.message());
  }
  std::ranges::sort(files);
  files.resize(std::min(files.size(), samples_max));
  std::vector<Tensor> samples;
  for (const std::string& file : files) {
    COMMENSAL_ASSIGN(auto read, read_inputs(input, {input.values[0].name + "=" + file}, image));
    samples.push_back(std::move(read[0]));
  }
  return samples;
}

Result<std::vector<Tensor>> from_array(const graph::Declared& declared, const std::string& file,
                                       std::size_t samples_max) {
  COMMENSAL_ASSIGN(const Tensor all, io::read_npy_file(file));
  if (all.shape().rank() == 0 || all.shape()[0] == 0) {
    return fail(ErrorCode::kInvalidArgument, "'{}' is {}, expected samples along the first axis",
                file, all.type().text());
  }
  const bool keeps_axis = !declared.ranked || std::ssize(declared.dims) == all.shape().rank();
  std::vector<std::int64_t> dims(all.shape().dims().begin(), all.shape().dims().end());
  const std::size_t count = std::min(static_cast<std::size_t>(dims[0]), samples_max);
  dims[0] = 1;
  if (!keeps_axis) dims.erase(dims.begin());
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
  const tensor::TensorType type{all.dtype(), shape};
  std::vector<Tensor> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bytes = static_cast<std::size_t>(type.bytes());
    samples.push_back(Tensor::copy_of(type, all.bytes().subspan(i * bytes, bytes)));
  }
  return samples;
}

/// The path that `given` has for this input; empty for none.
std::string path_of(const graph::Graph& graph, std::size_t place,
                    const std::vector<std::string>& given) {
  const std::string prefix = graph.name_of(graph.inputs[place]) + "=";
  for (const std::string& text : given) {
    if (text.starts_with(prefix)) return text.substr(prefix.size());
  }
  return graph.inputs.size() == 1 && given.size() == 1 ? given[0] : "";
}

}  // namespace

Result<std::vector<std::vector<Tensor>>> read_samples(const graph::Graph& graph,
                                                      const std::vector<std::string>& given,
                                                      const io::PictureRule& image,
                                                      std::size_t samples_max) {
  std::vector<std::vector<Tensor>> samples;
  for (std::size_t place = 0; place < graph.inputs.size(); ++place) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(graph.inputs[place])];
    const std::string path = path_of(graph, place, given);
    if (path.empty()) {
      return fail(ErrorCode::kInvalidArgument, "no --data for '{}' {}", value.name,
                  value.declared.text());
    }
    auto read = std::filesystem::is_directory(path)
                    ? from_folder(one_input(graph, place), path, image, samples_max)
                    : from_array(value.declared, path, samples_max);
    if (!read) return core::in_context(fmt::format("data of '{}'", value.name), read.error());
    if (place == 0) samples.resize(read->size());
    if (read->size() != samples.size()) {
      return fail(ErrorCode::kInvalidArgument, "{} samples of '{}', expected {} as of '{}'",
                  read->size(), value.name, samples.size(), graph.name_of(graph.inputs[0]));
    }
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i].push_back((*read)[i]);
  }
  if (given.size() != graph.inputs.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} times --data, expected one for each of {} inputs",
                given.size(), graph.inputs.size());
  }
  return samples;
}

Result<std::vector<std::int64_t>> read_labels(const std::string& file, std::size_t samples_max) {
  COMMENSAL_ASSIGN(const Tensor all, io::read_npy_file(file));
  std::vector<std::int64_t> labels;
  const auto take = [&]<class T>(std::span<const T> values) {
    labels.assign(values.begin(),
                  values.begin() + std::ssize(values.first(std::min(values.size(), samples_max))));
  };
  if (all.dtype() == tensor::DType::kInt64) {
    take(all.data<std::int64_t>());
  } else if (all.dtype() == tensor::DType::kInt32) {
    take(all.data<std::int32_t>());
  } else if (all.dtype() == tensor::DType::kUint8) {
    take(all.data<std::uint8_t>());
  } else {
    return fail(ErrorCode::kInvalidArgument, "labels '{}' are {}, expected int64, int32 or uint8",
                file, all.type().text());
  }
  return labels;
}

}  // namespace commensal::apps
