// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;

struct EinsumCase {
  const char* equation;
  std::vector<Shape> inputs;
};

const EinsumCase kEquations[] = {
    {"ij,jk->ik", {{2, 4}, {4, 4}}},
    {"ij,jk->ik", {{130, 33}, {33, 200}}},
    {"ij,jk->ki", {{20, 18}, {18, 22}}},
    {"ij,jk->ijk", {{9, 4}, {4, 25}}},
    {"bij,bjk->bik", {{2, 9, 40}, {2, 40, 21}}},
    {"i,j->ij", {{7}, {40}}},
    {"ij,kj->ik", {{11, 600}, {35, 600}}},
    {"...ij,kj->k...", {{3, 7, 9}, {40, 9}}},
    {"ii,ij->ij", {{8, 8}, {8, 12}}},
    {"ij,jk->ik", {{9, 5}, {1, 30}}},
    {"ij,jk->ik", {{140, 600}, {600, 205}}},  // several blocks of rows, of columns and of depth
    {"ijl,jkl->ik", {{9, 5, 3}, {5, 30, 3}}},
};

TEST(EqualityEinsum, OfTwoOperands) {
  for (const EinsumCase& c : kEquations) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      SCOPED_TRACE(c.equation);
      Case test{.name = "Einsum", .attributes = {}, .inputs = {}, .constants = {}, .serves = true};
      test.attributes.set("equation", std::string(c.equation));
      for (const Shape& shape : c.inputs) {
        test.inputs.push_back(random_tensor(shape, test.inputs.size() + 1, values));
      }
      expect_equal_to_ref(test);
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
