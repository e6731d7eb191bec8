// A verdict as bytes: how it travels from the process that executed a case to the one that reports it.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "harness/run/verdict.h"

namespace assay::harness {

// Bytes that are no verdict; what() says where and why.
class MalformedVerdict : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Everything but `about`, which the receiver knows better than a process that may have damaged its own memory. The form is
// that of one build on one machine; nothing keeps it.
[[nodiscard]] std::vector<std::byte> encode_verdict(const Verdict& verdict);

// The verdict on `about`. Expects anything of `bytes`: throws MalformedVerdict for a message that is too short or too long, for a
// value that its type does not have, and for a pass that its own figures contradict. Allocates no more than a small multiple of
// what the message is long.
[[nodiscard]] Verdict decode_verdict(std::span<const std::byte> bytes, const Case& about);

// Faults alone, for those who pass on no more of a verdict. The same holds of them.
[[nodiscard]] std::vector<std::byte> encode_faults(const std::vector<Fault>& faults);
[[nodiscard]] std::vector<Fault> decode_faults(std::span<const std::byte> bytes);

}  // namespace assay::harness
