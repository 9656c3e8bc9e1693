// SPDX-License-Identifier: Apache-2.0
// The rows of sublinear audits on a small network: their names, and that dense frauds are caught.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/lab/verify_bench/subject.hpp>
#include <cstdlib>

namespace commensal::lab {
namespace {

TEST(SublinearRows, CatchDenseFraudsAndAccuseNobody) {
  const char* folder = std::getenv("COMMENSAL_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "COMMENSAL_MODELS is not set";
  const char* name = std::getenv("COMMENSAL_SUBLINEAR_MODEL");
  const auto subject =
      Subject::load(core::Path(folder) / (name == nullptr ? "squeezenet.onnx" : name));
  if (!subject) GTEST_SKIP() << subject.error().message;
  const char* audits = std::getenv("COMMENSAL_SUBLINEAR_AUDITS");
  const int count = audits == nullptr ? 8 : std::atoi(audits);
  const auto rows = sublinear_rows(*subject, audits == nullptr ? 3 : 25, count, 1, 1.0);
  ASSERT_TRUE(rows) << rows.error().message;
  const auto row = [&](std::string_view wanted) {
    return *std::ranges::find(*rows, wanted, &Row::name);
  };
  EXPECT_EQ(row("sublinear_catch_dense").value, 1);
  EXPECT_FALSE(row("sublinear_catch_dense").at_most);
  EXPECT_GT(row("sublinear_audit_share").value, 0);
  EXPECT_LT(row("sublinear_catch_sparse_small").value, 1);
  std::printf("%s", rows_text(*rows).c_str());
}

}  // namespace
}  // namespace commensal::lab
