// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/common/inputs.hpp>
#include <array>
#include <commensal/compute/graph/onnx/tensor_file.hpp>
#include <commensal/compute/io/image.hpp>
#include <commensal/compute/io/npy.hpp>
#include <map>

namespace commensal::apps {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::Tensor;

namespace {

/// One input and the file that is to fill it.
struct Request {
  std::string name;
  const graph::Declared* declared = nullptr;
  std::string file;
  std::string member;  // of an .npz
  io::PictureRule image;
};

Result<Tensor> read_picture(const Request& request) {
  const graph::Declared& declared = *request.declared;
  if (declared.dtype != tensor::DType::kFloat32 || declared.dims.size() != 4) {
    return fail(ErrorCode::kInvalidArgument, "a picture fills float32{}, not {}",
                request.image.channels_last ? "[1,H,W,C]" : "[1,C,H,W]", declared.text());
  }
  COMMENSAL_ASSIGN(const io::Image image, io::read_image_file(request.file));
  using Own = std::array<std::int64_t, 4>;
  const Own own = request.image.channels_last ? Own{1, image.height, image.width, image.channels}
                                              : Own{1, image.channels, image.height, image.width};
  std::vector<std::int64_t> dims = declared.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = dims[i] < 0 ? own[i] : dims[i];
  COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
  auto made = io::image_tensor(image, shape, request.image);
  if (made) return made;
  return fail(made.error().code, "'{}': {} (--image-resize, --image-convert)", request.file,
              made.error().message);
}

Result<Tensor> read_proto(const Request& request) {
  COMMENSAL_ASSIGN(auto read, graph::onnx::read_tensor_file(request.file));
  return std::move(read.tensor);
}

Result<Tensor> read_array(const Request& request) { return io::read_npy_file(request.file); }

Result<Tensor> read_archive(const Request& request) {
  return io::read_npz_file(request.file, request.member.empty() ? request.name : request.member);
}

struct Format {
  std::string_view suffix;
  Result<Tensor> (*read)(const Request&);
};

constexpr Format kFormats[] = {
    {".npy", read_array},    {".npz", read_archive}, {".pb", read_proto},    {".jpg", read_picture},
    {".jpeg", read_picture}, {".png", read_picture}, {".pgm", read_picture}, {".ppm", read_picture},
};

/// Cameras and old systems write .JPG.
std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

Result<Tensor> read(Request request) {
  constexpr std::string_view kArchive = ".npz:";
  if (const std::size_t at = request.file.rfind(kArchive); at != std::string::npos) {
    request.member = request.file.substr(at + kArchive.size());
    request.file.resize(at + kArchive.size() - 1);
  }
  const std::string lower = lower_case(request.file);
  for (const Format& format : kFormats) {
    if (lower.ends_with(format.suffix)) return format.read(request);
  }
  return fail(ErrorCode::kInvalidArgument, "'{}' is not .npy, .npz, .pb, .jpg, .png, .pgm or .ppm",
              request.file);
}

std::string expected(const graph::Graph& graph) {
  std::string text;
  for (const graph::ValueId id : graph.inputs) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", value.name, value.declared.text());
  }
  return text;
}

/// An archive is asked for whatever nothing else fills.
std::string take_archive(std::vector<std::string>& given) {
  const auto found = std::ranges::find_if(given, [](const std::string& text) {
    return text.ends_with(".npz") && text.find('=') == std::string::npos;
  });
  if (found == given.end()) return "";
  std::string archive = std::move(*found);
  given.erase(found);
  return archive;
}

// Input name to file.
Result<std::map<std::string, std::string>> assign(const graph::Graph& graph,
                                                  std::vector<std::string> given) {
  std::map<std::string, std::string> files;
  const std::string archive = take_archive(given);
  for (const std::string& text : given) {
    std::string name, file;
    for (const graph::ValueId id : graph.inputs) {
      const std::string& candidate = graph.name_of(id);
      if (!text.starts_with(candidate + "=")) continue;
      name = candidate;
      file = text.substr(candidate.size() + 1);
    }
    if (file.empty() && graph.inputs.size() == 1 && text.find('=') == std::string::npos) {
      name = graph.name_of(graph.inputs.front());
      file = text;
    }
    if (file.empty()) {
      return fail(ErrorCode::kInvalidArgument, "'{}' names no input; the model expects {}", text,
                  expected(graph));
    }
    if (!files.emplace(name, file).second) {
      return fail(ErrorCode::kInvalidArgument, "the input '{}' is given twice", name);
    }
  }
  for (const graph::ValueId id : graph.inputs) {
    if (!archive.empty()) files.emplace(graph.name_of(id), archive);
  }
  return files;
}

/// Nothing is computed of an empty batch, so that it is a mistake.
Result<void> check_batch(const graph::Declared& declared, const Tensor& value) {
  const bool has_batch =
      value.shape().rank() > 1 && declared.ranked && !declared.dims.empty() && declared.dims[0] < 0;
  if (!has_batch || value.shape()[0] > 0) return {};
  return fail(ErrorCode::kInvalidArgument, "{} is a batch of 0, expected at least 1 sample",
              value.type().text());
}

}  // namespace

Result<std::vector<Tensor>> read_inputs(const graph::Graph& graph,
                                        const std::vector<std::string>& given,
                                        const io::PictureRule& image) {
  COMMENSAL_ASSIGN(const auto files, assign(graph, given));
  std::vector<Tensor> inputs;
  for (const graph::ValueId id : graph.inputs) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    const auto file = files.find(value.name);
    if (file == files.end()) {
      return fail(ErrorCode::kInvalidArgument, "no --input for '{}'; the model expects {}",
                  value.name, expected(graph));
    }
    auto made = read({value.name, &value.declared, file->second, "", image});
    auto checked = made ? check_batch(value.declared, *made) : tl::unexpected(made.error());
    if (!checked) return core::in_context(fmt::format("input '{}'", value.name), checked.error());
    inputs.push_back(*std::move(made));
  }
  return inputs;
}

}  // namespace commensal::apps
