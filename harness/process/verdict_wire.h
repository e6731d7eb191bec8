// A verdict as bytes, sent from the process that executed a case to the one that reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "harness/findings/verdict.h"

namespace assay::harness {

constexpr std::uint64_t largest(Status) { return static_cast<std::uint64_t>(Status::not_required); }

// Encodes everything but `test_case`: the receiver has its own copy, while the sender's memory may be damaged. Only processes of the same
// build on the same machine read this format; it is never stored.
[[nodiscard]] std::vector<std::byte> encode_verdict(const Verdict& verdict);

// The verdict on `test_case`. Expects arbitrary `bytes`: throws base::DamagedArchive for a message that is too short or too
// long, for a value outside of its type, and for a pass that contradicts its own figures. Allocates at most a small multiple
// of the message's length.
[[nodiscard]] Verdict decode_verdict(std::span<const std::byte> bytes, const Case& test_case);

}  // namespace assay::harness
