// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/receipt/opening.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <commensal/verify/receipt/tensor_codec.hpp>

namespace commensal::receipt {
namespace {

// Larger than a noun may be, so it has a frame of its own: version, then the fields.
constexpr std::uint8_t kVersion = 1;

}  // namespace

core::Bytes encode(const Opening& opening) {
  protocol::Writer writer;
  writer.u8(kVersion);
  writer.field("job", opening.job);
  writer.field("model", opening.model);
  writer.field("commitment", opening.commitment);
  writer.field("input_salt", opening.input_salt);
  writer.field("output_salt", opening.output_salt);
  write_tensors(writer, opening.inputs);
  write_tensors(writer, opening.outputs);
  return std::move(writer).take();
}

core::Result<Opening> decode_opening(core::ByteView bytes) {
  protocol::Reader reader(bytes, "opening");
  Opening opening;
  if (reader.u8() != kVersion) {
    reader.refuse(core::ErrorCode::kInvalidArgument, "unknown version");
  }
  reader.field("job", opening.job);
  reader.field("model", opening.model);
  reader.field("commitment", opening.commitment);
  reader.field("input_salt", opening.input_salt);
  reader.field("output_salt", opening.output_salt);
  opening.inputs = read_tensors(reader);
  opening.outputs = read_tensors(reader);
  COMMENSAL_TRY(reader.finish());
  return opening;
}

core::Result<void> check_opening(const Opening& opening, const protocol::ReceiptBody& body) {
  const auto refuse = [](std::string_view what) {
    return core::fail(core::ErrorCode::kDataLoss, "the opening does not open the receipt: {}",
                      what);
  };
  if (protocol::job_id(opening.job) != body.job_id) return refuse("it is of another job");
  if (opening.commitment != body.commitment) return refuse("it has another commitment");
  if (protocol::commit_input(state_root(opening.inputs), opening.input_salt) !=
      opening.job.input_commitment) {
    return refuse("its inputs are not those that the job was made with");
  }
  if (protocol::commit_step(body.job_id, body.step, state_root(opening.outputs),
                            opening.output_salt) != body.commitment) {
    return refuse(fmt::format("its outputs are not those that step {} committed to", body.step));
  }
  return {};
}

}  // namespace commensal::receipt
