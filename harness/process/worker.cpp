// Starts worker processes, sends them cases and receives verdicts.
#include "harness/process/worker.h"

#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <utility>
#include <variant>

#include "harness/execute/gpu_process.h"
#include "harness/execute/kernel_host.h"
#include "harness/process/verdict_wire.h"
#include "metal/errors.h"
#include "metal/execute/schedule.h"

namespace assay::harness {
namespace {

// A verdict takes some kilobytes. A message a thousand times as long can only come from a damaged process.
constexpr std::uint64_t kLongestVerdict = std::uint64_t{16} << 20;

Verdict execute_and_catch(const Case& test_case, const CaseFunction& execute) {
  try {
    return execute(test_case);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    Verdict verdict;
    verdict.test_case = test_case;
    verdict.is_internal = true;
    verdict.faults = {fault::InternalFailure{error.what()}};
    return verdict;
  }
}

// Each case asks for arrays of megabytes and frees them. By default the C library takes them from the system and gives them back, and to
// fault their pages in again costs a twentieth of a gate.
void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that it accepts
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

// A request is the index of a case.
base::Server start(std::span<const Case> cases, const CaseFunction& execute, const Worker::UsedGpu& gpu) {
  // Workers ignore Ctrl-C, because the supervisor decides what it means. They keep the fault handlers, because the
  // simulator needs them.
  const base::ChildSetup setup{
      .name = "worker process", .interrupts = base::Interrupts::ignored, .keeps_fault_handlers = true, .passed_on = gpu.channel};
  const base::Service service{.answer =
                                  [&](std::span<const std::byte> request) {
                                    std::uint64_t index = 0;
                                    std::memcpy(&index, request.data(), sizeof index);
                                    return encode_verdict(execute_and_catch(cases[index], execute));
                                  },
                              .begin =
                                  [&] {
                                    keep_freed_memory();
                                    if (gpu.channel >= 0) GpuProcess::inherit(base::Descriptor(base::kPassedOn), gpu.number);
                                  }};
  try {
    return {setup, kLongestVerdict, service};
  } catch (const base::ProcessRefused& refused) {
    throw metal::EnvironmentError(fmt::format("{}; run fewer cases at a time", refused.what()));
  }
}

}  // namespace

Worker::Worker(std::span<const Case> cases, const CaseFunction& execute, const UsedGpu& gpu)
    : cases_(cases), server_(start(cases, execute, gpu)) {}

void Worker::assign(std::size_t index) {
  index_ = index;
  ++assigned_;
  at_work_ = true;
  const std::uint64_t request = index;
  server_.ask(std::as_bytes(std::span(&request, 1)));
}

std::optional<Verdict> Worker::receive() {
  const std::optional<base::Reply> reply = server_.receive();
  if (!reply) return std::nullopt;
  at_work_ = false;
  return verdict_of(*reply);
}

Verdict Worker::verdict_of(const base::Reply& reply) {
  if (reply.kind != base::Reply::Kind::answer) {
    was_killed_ = reply.ending.kind == base::Ending::Kind::killed && reply.ending.number == SIGKILL;
    return crashed(fault_of(reply, server_));
  }
  try {
    Verdict verdict = decode_verdict(reply.bytes, cases_[index_]);
    was_killed_ = std::ranges::any_of(verdict.faults, [](const Fault& fault) {
      const auto* killed = std::get_if<fault::Killed>(&fault.details);
      return killed != nullptr && killed->signal == SIGKILL;
    });
    return verdict;
  } catch (const base::DamagedArchive& damaged) {
    server_.process().kill();
    return crashed(fault::MalformedVerdict{damaged.what(), server_.last_words()});
  }
}

Verdict Worker::crashed(Fault how) const {
  Verdict verdict;
  verdict.test_case = cases_[index_];
  verdict.status = Status::crashed;
  verdict.schedules = metal::Schedule{}.to_string();
  verdict.faults = {std::move(how)};
  return verdict;
}

}  // namespace assay::harness
