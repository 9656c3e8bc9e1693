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
    {"ij,jk,kl->il", {{20, 18}, {18, 22}, {22, 30}}},
    {"ij,jk,kl->li", {{20, 18}, {18, 22}, {22, 30}}},
    {"ij,jk,kl->ijkl", {{3, 4}, {4, 5}, {5, 6}}},
    {"bij,bjk,k->bik", {{2, 9, 40}, {2, 40, 21}, {21}}},
    {"i,j,k->ijk", {{7}, {9}, {40}}},
    {"i,ij,j->", {{37}, {37, 41}, {41}}},
    {"ij,ij,kj->ik", {{11, 600}, {11, 600}, {35, 600}}},
    {"ij,jk,kl,lm->im", {{6, 7}, {7, 8}, {8, 9}, {9, 33}}},
    {"...i,...ij,kj->k...", {{3, 7}, {3, 7, 9}, {40, 9}}},
    {"ii,ij,jk->ik", {{8, 8}, {8, 12}, {12, 17}}},
    {"ab,bc,cd,de,ef->af", {{5, 2}, {2, 3}, {3, 2}, {2, 3}, {3, 21}}},
    {"ij,jk,kl->il", {{1, 18}, {18, 22}, {22, 30}}},
    {"ij,jk,kl->il", {{9, 5}, {5, 1}, {1, 30}}},
    {"ij,jk,kl->il", {{140, 3}, {3, 200}, {200, 5}}},  // several blocks of rows and of depth
};

TEST(EqualityEinsum, OfSeveralOperands) {
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
