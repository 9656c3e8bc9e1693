// SPDX-License-Identifier: Apache-2.0
// What spot checks cost beside a replay: of a network whose elements depend on patches of the
// input, at several sizes, and of ResNet-50 ($COMMENSAL_TORCHVISION), where all depend on all.
#include <commensal/lab/super_resolution.hpp>

#include <tests/e2e/disputes.hpp>
#include <tests/e2e/spot.hpp>

namespace commensal::e2e {
namespace {

class SpotNetworks : public SpotSystem {
 protected:
  void measure(const std::string& name, const tensor::NamedTensors& inputs) {
    const auto provider = start_provider("honest");
    const std::string id = receipt(inputs);
    for (const char* elements : {"16", "64", "299"}) {
      const Json said =
          Json::parse(audit(id, {"--elements", elements, "--beside-replay", "--json"}));
      EXPECT_EQ(status_, 0);
      const Json& cost = said.at("cost");
      const double spot = cost.at("processor_s"), replay = cost.at("replay_processor_s");
      std::printf(
          "%s: %s of %lld elements: %.2f %% of the operations, %.3f s, a replay %.3f s\n",
          name.c_str(), elements, said.at("elements").at("of").get<long long>(),
          100 * cost.at("operations").get<double>() / cost.at("operations_of_replay").get<double>(),
          spot, replay);
      std::fflush(stdout);
    }
  }
};

TEST_F(SpotNetworks, SuperResolution) {
  serve(lab::super_resolution(1));
  for (const std::int64_t side : {224, 512, 1024, 2048}) {
    measure("super-resolution of " + std::to_string(side), {{"image", noise({1, 1, side, side})}});
  }
}

TEST_F(SpotNetworks, Resnet50) {
  const std::string file = torchvision_file("resnet50");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << "there is no " << file;
  serve(*core::read_file(file));
  measure("resnet50", {{"input", noise({1, 3, 224, 224})}});
}

}  // namespace
}  // namespace commensal::e2e
