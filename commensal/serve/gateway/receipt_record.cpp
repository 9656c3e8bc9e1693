// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <commensal/serve/gateway/receipt_record.hpp>
#include <commensal/serve/gateway/record.hpp>

namespace commensal::gateway {

namespace {

constexpr std::array<std::string_view, 5> kAuditNames = {"not drawn", "drawn", "matched",
                                                         "mismatched", "replaced"};

template <class T>
void write_optional(protocol::Writer& writer, const std::optional<T>& value) {
  writer.u8(value ? 1 : 0);
  if (value) protocol::write(writer, *value);
}

template <class T>
void read_optional(protocol::Reader& reader, std::optional<T>& value) {
  value.reset();
  if (reader.u8() != 0) protocol::read(reader, value.emplace());
}

}  // namespace

std::span<const std::string_view> enum_names(AuditState) { return kAuditNames; }
std::string_view name_of(AuditState state) { return protocol::name_of(state); }

core::Bytes encode(const ReceiptRecord& record, std::uint64_t opening_bytes) {
  protocol::Writer writer;
  writer.u8(kRecordVersion);
  writer.u64(record.number);
  protocol::write(writer, record.receipt);
  writer.text(record.account);
  writer.text(record.model);
  writer.u32(record.version);
  writer.raw(record.model_content);
  writer.u64(static_cast<std::uint64_t>(record.delivered_ms));
  protocol::write(writer, record.audit);
  write_optional(writer, record.verdict);
  write_optional(writer, record.replaced_by);
  writer.u64(opening_bytes);
  return std::move(writer).take();
}

core::Result<StoredReceipt> decode_receipt_record(core::ByteView value) {
  const auto read = [](protocol::Reader& reader, StoredReceipt& stored) {
    ReceiptRecord& record = stored.record;
    record.number = reader.u64();
    protocol::read(reader, record.receipt);
    record.account = reader.text();
    record.model = reader.text();
    record.version = reader.u32();
    protocol::read(reader, record.model_content);
    record.delivered_ms = static_cast<std::int64_t>(reader.u64());
    protocol::read(reader, record.audit);
    read_optional(reader, record.verdict);
    read_optional(reader, record.replaced_by);
    stored.opening_bytes = reader.u64();
  };
  return decode_record<StoredReceipt>(value, "receipt record", read);
}

}  // namespace commensal::gateway
