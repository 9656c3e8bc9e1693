// SPDX-License-Identifier: Apache-2.0
// Models' cards: files of strangers, held against a model of one picture and ten scores.
#include <algorithm>
#include <commensal/base/core/limits_cards.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/model_card.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;

gateway::ModelVersion digits() {
  gateway::ModelVersion model;
  model.inputs = {{"image",
                   {.dtype = tensor::DType::kFloat32,
                    .ranked = true,
                    .dims = {-1, 1, 8, 8},
                    .symbols = std::vector<std::string>(4)}}};
  model.outputs = {{"logits",
                    {.dtype = tensor::DType::kFloat32,
                     .ranked = true,
                     .dims = {-1, 10},
                     .symbols = std::vector<std::string>(2)}}};
  return model;
}

void expect_line(const core::Error& error) {
  core::check(protocol::is_line(error.message), "an error is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gateway::ModelVersion kModel = digits();
  const std::string_view source = core::as_text({data, size});
  auto card = gateway::parse_card(source);
  if (!card) return expect_line(card.error()), 0;
  core::check(card->text.size() <= source.size(), "a text is part of its file");
  for (const std::string* one : {&card->license, &card->task, &card->modality, &card->summary})
    core::check(protocol::is_line(*one) && one->size() <= limits::kCardWordBytesMax,
                "a word is a short line");
  const auto fits = gateway::fit_card(*card, kModel);
  if (!fits) return expect_line(fits.error()), 0;
  core::check(card->labels.empty() || card->labels.size() == 10, "as many labels as scores");
  return 0;
}
