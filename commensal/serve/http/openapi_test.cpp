// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/http/openapi.hpp>
#include <nlohmann/json.hpp>

namespace commensal::http {
namespace {

using Json = nlohmann::json;

/// All that begins with "#/" leads somewhere.
void expect_references(const Json& all, const Json& part) {
  if (part.is_object() && part.contains("$ref")) {
    const std::string path = part["$ref"].get<std::string>().substr(1);
    EXPECT_TRUE(all.contains(Json::json_pointer(path))) << path;
  }
  for (const Json& inner : part) {
    if (inner.is_structured()) expect_references(all, inner);
  }
}

// A route that nobody has described, or a description without a route, would end the program.
TEST(OpenApi, DescribesEveryRoute) {
  const Json all = Json::parse(openapi_document());
  EXPECT_EQ(all["openapi"], "3.1.0");
  std::size_t operations = 0, routes = 0;
  for (const Json& path : all["paths"]) operations += path.size();
  for (const auto table : all_routes()) routes += table.size();
  EXPECT_EQ(operations, routes);
  const Json& infer = all["paths"]["/v2/models/{model}/infer"]["post"];
  EXPECT_EQ(infer["parameters"][0]["name"], "model");
  EXPECT_EQ(infer["security"], Json::parse(R"([{"token":[]}])"));
  EXPECT_FALSE(all["paths"]["/v2"]["get"].contains("security"));
  expect_references(all, all);
}

}  // namespace
}  // namespace commensal::http
