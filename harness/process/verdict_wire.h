// A verdict as bytes: how it travels from the process that executed a case to the one that reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"
#include "harness/findings/verdict.h"

namespace assay::harness {

constexpr std::uint64_t largest(Status) { return static_cast<std::uint64_t>(Status::skipped); }

// Everything but `about`, which the receiver knows better than a process that may have damaged its own memory. The form is
// that of one build on one machine; nothing keeps it.
[[nodiscard]] std::vector<std::byte> encode_verdict(const Verdict& verdict);

// The verdict on `about`. Expects anything of `bytes`: throws base::DamagedArchive for a message that is too short or too long, for a
// value that its type does not have, and for a pass that its own figures contradict. Allocates no more than a small multiple of
// what the message is long.
[[nodiscard]] Verdict decode_verdict(std::span<const std::byte> bytes, const Case& about);

}  // namespace assay::harness
