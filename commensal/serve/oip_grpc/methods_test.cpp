// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/oip_grpc/methods.hpp>

namespace commensal::oip_grpc {
namespace {

using gateway::Scope;

// What is for everybody asks for no scope; what costs or changes something asks for its own.
TEST(Methods, EachHasItsScope) {
  EXPECT_EQ(all_methods().size(), 20u);
  for (const Method& method : all_methods()) {
    const bool is_for_accounts = method.auth == oip::Auth::kAccount;
    EXPECT_EQ(method.scope != Scope::kAny, is_for_accounts) << method.name;
    const bool changes_models = method.name.starts_with("RepositoryModel");
    EXPECT_EQ(method.scope == Scope::kModels, changes_models) << method.name;
  }
  EXPECT_EQ(find_method("/inference.GRPCInferenceService/ModelInfer")->scope, Scope::kInfer);
}

}  // namespace
}  // namespace commensal::oip_grpc
