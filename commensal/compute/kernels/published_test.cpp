// SPDX-License-Identifier: Apache-2.0
// The published bits of every row of the table (tests/vectors/operators.txt): hashes of all
// samples' outputs by ref/, so that another architecture is held against this file and not against
// itself. They change only with kNumericsVersion. Where samples were added, write the file anew:
//   COMMENSAL_WRITE_VECTORS=1 commensal_compute_kernels_test --gtest_filter='EqualityOfMachines.*'
#include <gtest/gtest.h>

#include <commensal/compute/kernels/testing/samples.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace commensal::kernels {
namespace {

using namespace testing;

// FNV-1a, 64 bits: nobody is to be kept from forging these.
class Hash {
 public:
  void bytes(core::ByteView view) {
    for (const std::uint8_t byte : view) value_ = (value_ ^ byte) * 0x100000001b3u;
  }
  void number(std::uint64_t x) {
    for (int i = 0; i < 8; ++i) value_ = (value_ ^ (x >> (8 * i) & 0xff)) * 0x100000001b3u;
  }
  void text(std::string_view words) {
    number(words.size());
    bytes({reinterpret_cast<const std::uint8_t*>(words.data()), words.size()});
  }
  void tensor(const Tensor& tensor) {
    text(tensor.defined() ? tensor.type().text() : "absent");
    if (!tensor.defined()) return;
    if (tensor.dtype() != tensor::DType::kString) return bytes(tensor.bytes());
    for (const std::string_view one : tensor.strings()) text(one);
  }
  void attribute(std::int64_t x) { number(static_cast<std::uint64_t>(x)); }
  void attribute(float x) { number(std::bit_cast<std::uint32_t>(x)); }
  void attribute(const std::string& x) { text(x); }
  void attribute(const Tensor& x) { tensor(x); }
  template <class T>
  void attribute(const std::vector<T>& list) {
    number(list.size());
    for (const T& one : list) attribute(one);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

struct Digest {
  Hash calls, outputs;
  std::string text() const {
    return fmt::format("{:016x} {:016x}", calls.value(), outputs.value());
  }
};

void add(SampleCall& made, Digest& digest) {
  digest.calls.number(static_cast<std::uint64_t>(made.sample().opset));
  for (const auto& [name, value] : made.sample().attributes.all()) {
    digest.calls.text(name);
    std::visit([&](const auto& x) { digest.calls.attribute(x); }, value);
  }
  for (const Tensor& input : made.sample().inputs) digest.calls.tensor(input);
  for (const Tensor& output : made.run_ref()) digest.outputs.tensor(output);
}

// By row: every sample as it is, with special values, and in every element type.
std::map<std::string, std::string> digests() {
  std::map<const Operator*, Digest> by_row;
  for (const Sample& sample : all_samples()) {
    std::vector<Sample> variants = {sample, with_specials(sample)};
    for (const auto& type : tensor::all_dtypes()) {
      if (type.size > 0) variants.push_back(as_type(sample, type.dtype));
    }
    for (const Sample& variant : variants) {
      SampleCall made(variant);
      if (made.infer()) add(made, by_row[&made.op()]);
    }
  }
  std::map<std::string, std::string> made;
  for (const auto& [row, digest] : by_row) {
    const std::string_view domain = row->domain.empty() ? "ai.onnx" : row->domain;
    made[fmt::format("{}.{} {}", domain, row->name, row->since)] = digest.text();
  }
  return made;
}

const std::string kFile = std::string(COMMENSAL_SOURCE_DIR) + "/tests/vectors/operators.txt";

void write(const std::map<std::string, std::string>& made) {
  std::ofstream file(kFile);
  file << "# operator, first opset, hash of the calls, hash of the outputs (published_test.cpp)\n";
  for (const auto& [row, digest] : made) file << row << " " << digest << "\n";
  ASSERT_TRUE(file.good()) << kFile;
}

std::map<std::string, std::string> published() {
  std::map<std::string, std::string> made;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name, since, calls, outputs;
    EXPECT_TRUE(words >> name >> since >> calls >> outputs) << line;
    made[name + " " + since] = calls + " " + outputs;
  }
  return made;
}

TEST(EqualityOfMachines, EveryRowGivesThePublishedBits) {
  const auto made = digests();
  if (std::getenv("COMMENSAL_WRITE_VECTORS") != nullptr) return write(made);
  const auto expected = published();
  EXPECT_FALSE(expected.empty()) << kFile;
  std::size_t known = 0;
  for (const auto& [row, digest] : made) {
    const auto found = expected.find(row);
    const auto calls = digest.substr(0, 16);
    if (found == expected.end() || found->second.substr(0, 16) != calls) continue;
    EXPECT_EQ(found->second, digest) << row << ": other bits for the same calls";
    ++known;
  }
  EXPECT_EQ(known, made.size()) << "samples changed: write " << kFile << " anew";
}

}  // namespace
}  // namespace commensal::kernels
