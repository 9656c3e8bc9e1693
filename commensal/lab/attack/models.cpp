// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/attack/models.hpp>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::attack {
namespace {

using core::Result;
using tensor::Tensor;

constexpr std::uint32_t kCutBits = 4;  // of each weight's mantissa
constexpr std::size_t kKept = 2;       // one weight in so many stays

/// The same network with other weights.
std::shared_ptr<const graph::Graph> with_weights(const graph::Graph& exact,
                                                 float (*change)(std::size_t, float)) {
  auto made = std::make_shared<graph::Graph>(exact);
  for (auto& [id, value] : made->initialisers) {
    if (value.dtype() != tensor::DType::kFloat32) continue;
    std::vector<float> values(value.data<float>().begin(), value.data<float>().end());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = change(i, values[i]);
    value = Tensor::of<float>(value.shape(), values);
  }
  return made;
}

float cut(std::size_t, float weight) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(weight) >> kCutBits << kCutBits);
}

float thinned(std::size_t place, float weight) { return place % kKept == 0 ? weight : 0; }

}  // namespace

Result<std::unique_ptr<Models>> Models::load(const core::Path& folder) {
  std::unique_ptr<Models> models(new Models);
  COMMENSAL_TRY(models->load_digits(folder / "digits" / "digits.onnx"));
  COMMENSAL_TRY(models->load_letters(folder / "letters" / "letters.onnx"));
  return models;
}

Result<void> Models::load_digits(const core::Path& file) {
  COMMENSAL_ASSIGN(digits_graph_, graph::onnx::import_file(file));
  digits_leaves_ = std::make_shared<receipt::ModelLeaves>(receipt::model_leaves(*digits_graph_));
  digits_roots_ = receipt::model_roots(*digits_leaves_);
  graph::SessionOptions by_reference;
  by_reference.backend = graph::Backend::kRef;
  COMMENSAL_ASSIGN(digits_, graph::Session::create(digits_graph_, {}));
  COMMENSAL_ASSIGN(auditor_, noise::NoisySession::create(digits_graph_, by_reference));
  COMMENSAL_ASSIGN(shorter_, graph::Session::create(with_weights(*digits_graph_, cut), {}));
  COMMENSAL_ASSIGN(smaller_, graph::Session::create(with_weights(*digits_graph_, thinned), {}));
  COMMENSAL_ASSIGN(bfloat16_, sim::make_bf16_cheat()->load(file, {}));
  return {};
}

Result<void> Models::load_letters(const core::Path& file) {
  COMMENSAL_ASSIGN(letters_graph_, graph::onnx::import_file(file));
  letters_roots_ = receipt::model_roots(*letters_graph_);
  COMMENSAL_ASSIGN(letters_, noise::NoisySession::create(letters_graph_, {}, letters_feeds()));
  return {};
}

Result<tensor::NamedTensors> Models::run(Digits which, const tensor::NamedTensors& picture) {
  graph::Session& session = which == Digits::kShorter   ? *shorter_
                            : which == Digits::kSmaller ? *smaller_
                                                        : *digits_;
  COMMENSAL_ASSIGN(const auto inputs, receipt::order_inputs(session.graph(), picture));
  COMMENSAL_ASSIGN(auto outputs, which == Digits::kBfloat16
                                     ? bfloat16_->run(1, inputs, std::nullopt)
                                     : session.run(inputs));
  return receipt::name_tensors(session.graph(), session.graph().outputs, std::move(outputs));
}

tensor::NamedTensors Models::picture(core::Rng& rng) const {
  std::vector<float> pixels(64);
  for (float& pixel : pixels) pixel = static_cast<float>(16 * rng.next_unit());
  return {{"image", Tensor::of<float>({1, 1, 8, 8}, pixels)}};
}

tensor::NamedTensors Models::garbage(const tensor::NamedTensors& outputs, core::Rng& rng) {
  tensor::NamedTensors made;
  for (const tensor::NamedTensor& one : outputs) {
    std::vector<float> numbers(static_cast<std::size_t>(one.value.elements()));
    for (float& number : numbers) number = static_cast<float>(rng.next_unit());
    made.push_back({one.name, Tensor::of<float>(one.value.shape(), numbers)});
  }
  return made;
}

const std::vector<protocol::Feed>& Models::letters_feeds() {
  static const std::vector<protocol::Feed> kFeeds = {{0, 0}, {1, 1}};
  return kFeeds;
}

tensor::NamedTensors Models::letters_inputs() {
  const std::vector<std::int64_t> letter = {20};
  const std::vector<float> state(160, 0);
  return {{"letter", Tensor::of<std::int64_t>({1}, letter)},
          {"state", Tensor::of<float>({1, 160}, state)}};
}

}  // namespace commensal::attack
