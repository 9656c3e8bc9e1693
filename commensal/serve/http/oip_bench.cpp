// SPDX-License-Identifier: Apache-2.0
// What a picture of 3x224x224 costs in JSON and in binary.
#include <benchmark/benchmark.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/http/json_elements.hpp>
#include <commensal/serve/http/oip.hpp>

namespace commensal::http {
namespace {

tensor::Tensor picture() {
  std::vector<float> values(3 * 224 * 224);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = core::counter_symmetric_f32(1, 2, i);
  return tensor::Tensor::of<float>({1, 3, 224, 224}, values);
}

void ReadJson(benchmark::State& state) {
  std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,3,224,224],"data":)";
  append_json_elements(body, picture());
  body += "}]}";
  for (auto _ : state) {
    const auto request = read_infer_body(core::as_bytes(body), {});
    if (!request) state.SkipWithError("refused");
    benchmark::DoNotOptimize(request->inputs.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(body.size()));
}
BENCHMARK(ReadJson)->Unit(benchmark::kMillisecond);

void ReadBinary(benchmark::State& state) {
  std::string body = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,3,224,224],)"
                     R"("parameters":{"binary_data_size":602112}}]})";
  const std::string size = std::to_string(body.size());
  body += core::as_text(picture().bytes());
  for (auto _ : state) {
    const auto request = read_infer_body(core::as_bytes(body), size);
    if (!request) state.SkipWithError("refused");
    benchmark::DoNotOptimize(request->inputs.data());
  }
}
BENCHMARK(ReadBinary)->Unit(benchmark::kMillisecond);

void WriteJson(benchmark::State& state) {
  const InferAnswer answer{"a/m", 1, "", "00", "0x00", {{"y", picture()}}};
  for (auto _ : state) {
    const auto encoded = write_infer_answer(answer, {}, *answer_bytes_max(answer, {}));
    benchmark::DoNotOptimize(encoded->text.data());
  }
}
BENCHMARK(WriteJson)->Unit(benchmark::kMillisecond);

void CountJson(benchmark::State& state) {
  const InferAnswer answer{"a/m", 1, "", "00", "0x00", {{"y", picture()}}};
  for (auto _ : state) benchmark::DoNotOptimize(answer_bytes(answer, {}));
}
BENCHMARK(CountJson)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace commensal::http
