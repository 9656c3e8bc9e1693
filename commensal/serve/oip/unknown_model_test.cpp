// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/oip/unknown_model.hpp>

namespace commensal::oip {
namespace {

using core::Error;
using core::ErrorCode;

TEST(UnknownModel, IsSaidAsTritonSaysIt) {
  const auto said = [](const Error& error, std::string_view model, std::string_view version = "") {
    return in_tritons_words(error, model, version).message;
  };
  const Error unknown{ErrorCode::kNotFound, "unknown model 'a/b'"};
  EXPECT_EQ(said(unknown, "a/b"), "Request for unknown model: 'a/b' is not found");
  EXPECT_EQ(said(unknown, "a/b", "9"), "Request for unknown model: 'a/b' version 9 is not found");
  EXPECT_EQ(said(unknown, "b"),
            "Request for unknown model: 'b' is not found: names are OWNER/MODEL, or an alias");
  EXPECT_LT(said(unknown, std::string(10'000, 'x'), std::string(10'000, '9')).size(), 300u);
  for (const Error& other : {Error{ErrorCode::kNotFound, "unknown alias 'x'"},
                             Error{ErrorCode::kInternal, "unknown model 'a/b'"}})
    EXPECT_EQ(said(other, "a/b"), other.message);
}

}  // namespace
}  // namespace commensal::oip
