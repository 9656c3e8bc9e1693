// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/grad/testing/case.hpp>

/// Recipes for all operators that have a gradient, by what the operators do.
namespace commensal::grad::testing {

class Recipes {
 public:
  void add(Recipe recipe, int seeds = 5) {
    recipe.seeds = seeds;
    all_.push_back(std::move(recipe));
  }
  const std::vector<Recipe>& all() const { return all_; }

 private:
  std::vector<Recipe> all_;
};

void add_elementwise(Recipes& all);
void add_layers(Recipes& all);
void add_movement(Recipes& all);
void add_spelled_out(Recipes& all);
void add_recurrent(Recipes& all);
void add_rarer(Recipes& all);

inline std::vector<Recipe> all_recipes() {
  Recipes made;
  add_elementwise(made);
  add_layers(made);
  add_movement(made);
  add_spelled_out(made);
  add_recurrent(made);
  add_rarer(made);
  return made.all();
}

}  // namespace commensal::grad::testing
