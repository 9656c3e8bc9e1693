// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/structure/ops.hpp>
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {
namespace {

constexpr int kMany = limits::kNodeInputsMax;

}  // namespace

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu columns
std::vector<Row> movement_rows() {
  return {
      {"CenterCropPad", 18, 0, 2, 2, 1, Kind::kMovement, ref::center_crop_pad()},
      {"Compress", 9, 0, 2, 2, 1, Kind::kMovement, ref::compress()},
      {"Concat", 1, 0, 1, kMany, 1, Kind::kMovement, ref::concat(), {cpu::concat}},
      {"Constant", 1, 0, 0, 0, 1, Kind::kConstant, ref::constant()},
      {"ConstantOfShape", 9, 0, 1, 1, 1, Kind::kConstant, ref::constant_of_shape()},
      {"DepthToSpace", 1, 0, 1, 1, 1, Kind::kMovement, ref::depth_to_space()},
      {"Dropout", 1, 11, 1, 1, 2, Kind::kElementwise, ref::dropout(), {cpu::dropout}},
      {"Dropout", 12, 0, 1, 3, 2, Kind::kElementwise, ref::dropout(), {cpu::dropout}},
      {"Expand", 8, 0, 2, 2, 1, Kind::kMovement, ref::expand(), {cpu::expand}},
      {"EyeLike", 9, 0, 1, 1, 1, Kind::kConstant, ref::eye_like()},
      {"Flatten", 1, 0, 1, 1, 1, Kind::kMovement, ref::flatten()},
      {"Gather", 1, 0, 2, 2, 1, Kind::kMovement, ref::gather(), {cpu::gather}},
      {"GatherElements", 11, 0, 2, 2, 1, Kind::kMovement, ref::gather_elements()},
      {"GatherND", 11, 0, 2, 2, 1, Kind::kMovement, ref::gather_nd()},
      {"Identity",
       1,
       0,
       1,
       1,
       1,
       Kind::kMovement,
       ref::identity(),
       {},
       {},
       {},
       structure::identity},
      {"Pad", 1, 10, 1, 1, 1, Kind::kMovement, ref::pad(), {cpu::pad}},
      {"Pad", 11, 17, 2, 3, 1, Kind::kMovement, ref::pad(), {cpu::pad}},
      {"Pad", 18, 0, 2, 4, 1, Kind::kMovement, ref::pad(), {cpu::pad}},
      {"Range", 11, 0, 3, 3, 1, Kind::kElementwise, ref::range()},
      {"Reshape", 1, 4, 1, 1, 1, Kind::kMovement, ref::reshape()},
      {"Reshape", 5, 0, 2, 2, 1, Kind::kMovement, ref::reshape()},
      {"Shape", 1, 0, 1, 1, 1, Kind::kConstant, ref::shape()},
      {"Size", 1, 0, 1, 1, 1, Kind::kConstant, ref::size()},
      {"Slice", 1, 9, 1, 1, 1, Kind::kMovement, ref::slice(), {cpu::slice}},
      {"Slice", 10, 0, 3, 5, 1, Kind::kMovement, ref::slice(), {cpu::slice}},
      {"SpaceToDepth", 1, 0, 1, 1, 1, Kind::kMovement, ref::space_to_depth()},
      {"Split", 1, 1, 1, 2, kMany, Kind::kMovement, ref::split(), {cpu::split}},
      {"Split", 2, 12, 1, 1, kMany, Kind::kMovement, ref::split(), {cpu::split}},
      {"Split", 13, 0, 1, 2, kMany, Kind::kMovement, ref::split(), {cpu::split}},
      {"Squeeze", 1, 12, 1, 1, 1, Kind::kMovement, ref::squeeze()},
      {"Squeeze", 13, 0, 1, 2, 1, Kind::kMovement, ref::squeeze()},
      {"Tile", 1, 5, 3, 3, 1, Kind::kMovement, ref::tile()},
      {"Tile", 6, 0, 2, 2, 1, Kind::kMovement, ref::tile()},
      {"Transpose", 1, 0, 1, 1, 1, Kind::kMovement, ref::transpose(), {cpu::transpose}},
      {"Trilu", 14, 0, 1, 2, 1, Kind::kMovement, ref::trilu()},
      {"Unsqueeze", 1, 12, 1, 1, 1, Kind::kMovement, ref::unsqueeze()},
      {"Unsqueeze", 13, 0, 2, 2, 1, Kind::kMovement, ref::unsqueeze()},
  };
}

}  // namespace commensal::kernels
