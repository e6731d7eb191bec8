// Matches the arguments and struct fields of a kernel with its contract, and encodes them.
#include "kernels/binding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <set>

#include "metal/errors.h"

namespace assay::kernels {
namespace {

using metal::AddressSpace;
using metal::BoundArgument;
using metal::ScalarType;

constexpr std::size_t kThreadgroupMemoryLimit = 32 * 1024;  // Metal feature set tables, every Apple GPU family

bool is_integer(ScalarType type) {
  using enum ScalarType;
  return type == int8 || type == uint8 || type == int16 || type == uint16 || type == int32 || type == uint32 || type == int64 ||
         type == uint64;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// An integer value may be assigned to a float field: `--set temperature=1` means 1.0.
metal::FieldValue fitted(const metal::FieldValue& value, ScalarType type) {
  using Kind = metal::FieldValue::Kind;
  const bool floating = type == ScalarType::float32 || type == ScalarType::float16 || type == ScalarType::bfloat16;
  if (!floating || value.kind == Kind::floating) return value;
  return metal::FieldValue::of(value.kind == Kind::unsigned_integer ? static_cast<double>(value.bits)
                                                                    : static_cast<double>(std::bit_cast<std::int64_t>(value.bits)));
}

// A nested struct counts as one field, which no name fills.
bool is_part(const metal::StructField& field) { return field.name.find('.') != std::string::npos; }

}  // namespace

BoundKernel::BoundKernel(const FamilyContract& contract, KernelEntry entry) : contract_(&contract), entry_(std::move(entry)) {
  if (entry_.layout.static_threadgroup_bytes > kThreadgroupMemoryLimit) {
    throw metal::EncodeError(fmt::format("{}:{}: function '{}' declares {} bytes of threadgroup memory; Metal allows {}",
                                         entry_.layout.file, entry_.layout.line, entry_.layout.function,
                                         entry_.layout.static_threadgroup_bytes, kThreadgroupMemoryLimit));
  }
  if (contract_->is_described) return;
  resolve_arguments();
  for (const ArgumentContract& argument : contract_->arguments) {
    if (!has(argument.name)) continue;
    const BoundArgument& found = bound(argument.name);
    check_argument(argument, found);
    if (argument.role == ArgumentRole::parameters && !entry_.describes_launch) check_parameters(found);
  }
}

void BoundKernel::fail(const std::string& message) const {
  throw metal::AbiMismatch(fmt::format("{}:{}: function '{}' of family {}: {}", entry_.layout.file, entry_.layout.line,
                                       entry_.layout.function, contract_->name, message));
}

const BoundArgument& BoundKernel::bound(std::string_view argument) const { return *arguments_.at(std::string(argument)); }

bool BoundKernel::is_set_by_user(const BoundArgument& argument) const {
  return argument.is_const && !argument.layout && argument.element != ScalarType::other && entry_.fields.contains(argument.name);
}

BoundKernel::Candidates BoundKernel::resolve_threadgroup_memory() {
  Candidates others;
  for (const BoundArgument& argument : entry_.layout.arguments) {
    if (argument.space != AddressSpace::threadgroup) {
      others.push_back(&argument);
    } else if (entry_.describes_launch) {
      continue;
    } else if (const auto size = entry_.fields.find(argument.name); size != entry_.fields.end()) {
      const auto bytes = static_cast<std::int64_t>(size->second.bits);
      if (size->second.kind == metal::FieldValue::Kind::floating || bytes < 1 || bytes > std::int64_t{kThreadgroupMemoryLimit})
        fail(fmt::format("the size of threadgroup argument '{}' must be from 1 to {} bytes", argument.name, kThreadgroupMemoryLimit));
      sized_.emplace_back(argument.index, (static_cast<std::size_t>(bytes) + 15) / 16 * 16);
    } else if (threadgroup_ != nullptr) {
      fail(
          fmt::format("two threadgroup arguments, '{}' and '{}', but the family sets the size of only one; give the other its bytes in "
                      "[fields] or with --set {}=BYTES",
                      threadgroup_->name, argument.name, argument.name));
    } else if (!contract_->has_threadgroup_memory) {
      fail(fmt::format("threadgroup argument '{0}', but the family has none; give it its bytes in [fields] or with --set {0}=BYTES",
                       argument.name));
    } else {
      threadgroup_ = &argument;
    }
  }
  return others;
}

bool BoundKernel::take_numbers_of_fields(Candidates& free) {
  const auto field_of = [&](const BoundArgument* argument) {
    const bool is_number =
        argument->is_const && !argument->layout && argument->element != ScalarType::other && argument->element_count == 1;
    return is_number ? contract_->find_field(argument->name) : nullptr;
  };
  std::erase_if(free, [&](const BoundArgument* argument) {
    const FieldContract* field = field_of(argument);
    if (field == nullptr) return false;
    if (is_integer(field->type) ? !is_integer(argument->element) : field->type != argument->element)
      fail(fmt::format("argument '{}' is {}, but the contract has {}", argument->name, argument->type_name, metal::to_string(field->type)));
    field_numbers_.emplace(argument->name, argument);
    notes_.push_back(fmt::format("argument '{}' is the field of that name", argument->name));
    return true;
  });
  if (field_numbers_.empty()) return false;
  std::vector<std::string_view> missing, has;
  for (const FieldContract& wanted : contract_->fields) {
    if (!field_numbers_.contains(wanted.name) && !may_lack(wanted)) missing.push_back(wanted.name);
  }
  for (const auto& [name, argument] : field_numbers_) has.push_back(name);
  if (!missing.empty()) require_fields(missing, "the kernel takes fields as numbers, but", has);
  return true;
}

// Long because the matching rules run one after the other on the same list of free arguments.
void BoundKernel::resolve_arguments() {
  Candidates free = resolve_threadgroup_memory();
  std::vector<const ArgumentContract*> missing;
  for (const ArgumentContract& argument : contract_->arguments) missing.push_back(&argument);

  // Each rule runs before the weaker ones, so that an index is used only if no name matches.
  const auto take_if = [&](const auto& matches, const auto& note) {
    std::erase_if(missing, [&](const ArgumentContract* wanted) {
      const auto found = std::ranges::find_if(free, [&](const BoundArgument* candidate) { return matches(*wanted, *candidate); });
      if (found == free.end()) return false;
      arguments_.emplace(wanted->name, *found);
      if (std::string text = note(*wanted, **found); !text.empty()) notes_.push_back(std::move(text));
      free.erase(found);
      return true;
    });
  };
  const auto silent = [](const ArgumentContract&, const BoundArgument&) { return std::string(); };
  const auto renamed = [&](const ArgumentContract& wanted) { return entry_.bind.find(wanted.name); };

  for (const ArgumentContract& argument : contract_->arguments) {
    const auto other = renamed(argument);
    if (other == entry_.bind.end()) continue;
    if (std::ranges::none_of(free, [&](const BoundArgument* candidate) { return candidate->name == other->second; })) {
      fail(fmt::format("[bind] {} = '{}', but the kernel has no argument of that name", argument.name, other->second));
    }
  }
  take_if(
      [&](const ArgumentContract& wanted, const BoundArgument& candidate) {
        const auto other = renamed(wanted);
        return candidate.name == (other == entry_.bind.end() ? wanted.name : std::string_view(other->second));
      },
      silent);
  take_if([](const ArgumentContract& wanted, const BoundArgument& candidate) { return same_letters(wanted.name, candidate.name); },
          [](const ArgumentContract& wanted, const BoundArgument& candidate) {
            return fmt::format("argument '{}' is used as {}", candidate.name, wanted.name);
          });
  if (entry_.describes_launch) return;
  std::erase_if(free, [&](const BoundArgument* argument) { return is_set_by_user(*argument); });
  const auto is_struct = [](const ArgumentContract* argument) { return argument->role == ArgumentRole::parameters; };
  if (std::ranges::any_of(missing, is_struct) && take_numbers_of_fields(free)) std::erase_if(missing, is_struct);
  take_if([](const ArgumentContract& wanted, const BoundArgument& candidate) { return candidate.index == wanted.index; },
          [](const ArgumentContract& wanted, const BoundArgument& candidate) {
            return fmt::format("argument '{}' is used as {}, by its index {}", candidate.name, wanted.name, wanted.index);
          });

  std::erase_if(missing, [](const ArgumentContract* argument) { return argument->optional; });
  if (!missing.empty()) {
    std::vector<std::string> wanted;
    for (const ArgumentContract* argument : missing) wanted.push_back(fmt::format("{} (buffer {})", argument->name, argument->index));
    std::vector<std::string> has;
    for (const BoundArgument& argument : entry_.layout.arguments) {
      has.push_back(
          fmt::format("{} ({} {})", argument.name, argument.space == AddressSpace::threadgroup ? "threadgroup" : "buffer", argument.index));
    }
    // With one argument left the match is clear; otherwise the author has to map it.
    std::string cure = "every kernel of the family has them; see docs/CONTRACTS.md";
    if (!free.empty()) {
      const bool plain = missing.size() == 1 && free.size() == 1;
      cure = fmt::format("if an argument has another name, map it in variant.toml: [bind] {} = \"{}\"", missing.front()->name,
                         plain ? free.front()->name : std::string_view("NAME"));
    }
    fail(fmt::format("no argument for {}; the kernel has {}: {}", fmt::join(wanted, ", "),
                     has.empty() ? "none" : fmt::format("{}", fmt::join(has, ", ")), cure));
  }
  if (!free.empty()) {
    std::vector<std::string_view> names;
    for (const ArgumentContract& argument : contract_->arguments) names.push_back(argument.name);
    fail(
        fmt::format("argument '{0}' (buffer {1}) is never bound; the arguments of the family are {2}. If it is a number, set it in "
                    "[fields] or with --set {0}=VALUE; a [[dispatch]] in variant.toml can bind any argument (docs/LAUNCH.md)",
                    free.front()->name, free.front()->index, fmt::join(names, ", ")));
  }
}

void BoundKernel::check_argument(const ArgumentContract& argument, const BoundArgument& found) const {
  const auto wrong = [&](std::string_view expected) {
    fail(fmt::format("argument '{}' (buffer {}) must be {} for {}, but is {} {}{}{}", found.name, found.index, expected, argument.name,
                     metal::to_string(found.space), found.is_const ? "const " : "", found.type_name, found.is_reference ? "&" : "*"));
  };
  switch (argument.role) {
    case ArgumentRole::parameters:
      if (!found.is_const || !found.layout) wrong("a struct in constant or const device memory");
      return;
    case ArgumentRole::scalar:
      if (!found.is_const || !is_integer(found.element) || found.element_count != 1)
        wrong("one integer in constant or const device memory");
      return;
    case ArgumentRole::output:
      if (found.space != AddressSpace::device || found.is_const) wrong("a writable device buffer");
      break;
    case ArgumentRole::input:
      break;
  }
  // Pointers to structs, void or single bytes are accepted, because the kernel's view of such a buffer cannot be checked here.
  const bool is_bytes = (found.element == ScalarType::int8 || found.element == ScalarType::uint8) && found.element_count == 1;
  if (found.element == ScalarType::other || is_bytes || found.element == argument.element) return;
  if (argument.element == ScalarType::uint8 && is_integer(found.element)) return;
  wrong(fmt::format("of {}", metal::to_string(argument.element)));
}

void BoundKernel::require_fields(const std::vector<std::string_view>& missing, const std::string& what,
                                 const std::vector<std::string_view>& has) const {
  std::string limit;
  const NeutralValues& neutral = contract_->find_field(missing.front())->neutral;
  if (!neutral.axis.empty())
    limit = fmt::format(", or declare that the kernel is only for {0} = {1}: [limits] {0} = [{1}], or --limit {0}={1} for a single file",
                        neutral.axis, neutral.least);
  fail(
      fmt::format("{} lacks {}; it has {}. Fields are matched by name, in any order; [bind] applies only to arguments. "
                  "Rename or add {}{}",
                  what, fmt::join(missing, ", "), fmt::join(has, ", "), missing.size() == 1 ? "it" : "them", limit));
}

void BoundKernel::check_parameters(const BoundArgument& found) {
  const metal::StructLayout& layout = *found.layout;
  std::vector<std::string_view> known;
  for (const FieldContract& field : contract_->fields) known.push_back(field.name);

  std::vector<std::string_view> missing;
  for (const FieldContract& wanted : contract_->fields) {
    const metal::StructField* field = layout.find(wanted.name);
    if (field == nullptr) {
      if (!may_lack(wanted)) missing.push_back(wanted.name);
      continue;
    }
    const bool integer = is_integer(wanted.type);
    const bool fits = field->count == 1 && (integer ? is_integer(field->type) : field->type == wanted.type);
    if (!fits) {
      fail(fmt::format("field '{}' of struct {} is {}, but the contract has {}", wanted.name, layout.name, field->type_name,
                       metal::to_string(wanted.type)));
    }
  }
  if (!missing.empty()) {
    std::vector<std::string_view> has;
    for (const metal::StructField& field : layout.fields) {
      if (!is_part(field)) has.push_back(field.name);
    }
    require_fields(missing, fmt::format("struct {}", layout.name), has);
  }

  for (const metal::StructField& field : layout.fields) {
    if (is_part(field) || contract_->find_field(field.name) != nullptr) continue;
    if (!entry_.fields.contains(field.name)) {
      fail(fmt::format("field '{}' ({}) of struct {} has no value; set it in [fields] or with --set {}=VALUE. The family sets {}",
                       field.name, field.type_name, layout.name, field.name, fmt::join(known, ", ")));
    }
    check_value(layout, field);
    notes_.push_back(fmt::format("struct {} has the additional field {}", layout.name, field.name));
  }

  std::vector<const metal::StructField*> by_offset;
  for (const metal::StructField& field : layout.fields) {
    if (contract_->find_field(field.name) != nullptr) by_offset.push_back(&field);
  }
  std::ranges::sort(by_offset, {}, &metal::StructField::offset);
  const auto same_name = [](const metal::StructField* field, std::string_view name) { return field->name == name; };
  std::erase_if(known, [&](std::string_view name) { return layout.find(name) == nullptr; });
  if (!std::ranges::equal(by_offset, known, same_name)) {
    notes_.push_back(fmt::format("struct {} has its fields in a different order than the contract", layout.name));
  }
  compare_layout(layout);
}

// Fills the field alone, so that a value that does not fit is reported before any case runs.
void BoundKernel::check_value(const metal::StructLayout& layout, const metal::StructField& field) const {
  metal::StructLayout alone = layout;
  alone.fields = {field};
  try {
    static_cast<void>(metal::pack_struct(alone, {{field.name, fitted(entry_.fields.find(field.name)->second, field.type)}}, {}));
  } catch (const metal::AbiMismatch& mismatch) {
    fail(fmt::format("a value of [fields] or --set cannot be used: {}", mismatch.what()));
  }
}

void BoundKernel::compare_layout(const metal::StructLayout& layout) {
  std::size_t offset = 0;
  for (const FieldContract& wanted : contract_->fields) {
    const metal::StructField* field = layout.find(wanted.name);
    if (field == nullptr) continue;
    const std::size_t size = metal::size_of(wanted.type);
    offset = (offset + size - 1) / size * size;
    if (field->offset != offset || field->size != size) {
      layout_differences_.push_back(
          fmt::format("{}: {} bytes at {}; the contract's has {} bytes at {}", wanted.name, field->size, field->offset, size, offset));
    }
    offset += size;
  }
}

bool BoundKernel::may_lack(const FieldContract& field) const {
  const AxisLimit* limit = entry_.limit_of(field.neutral.axis);
  return field.optional || (limit != nullptr && field.neutral.contain(limit->values));
}

std::string_view BoundKernel::contract_name(const BoundArgument& argument) const {
  const auto found = std::ranges::find_if(arguments_, [&](const auto& matched) { return matched.second == &argument; });
  return found == arguments_.end() ? std::string_view() : std::string_view(found->first);
}

bool BoundKernel::has_field(std::string_view field) const {
  if (field_numbers_.contains(field)) return true;
  const auto parameters = std::ranges::find(contract_->arguments, ArgumentRole::parameters, &ArgumentContract::role);
  return parameters != contract_->arguments.end() && has(parameters->name) &&
         bound(parameters->name).layout->find(std::string(field)) != nullptr;
}

void BoundKernel::set_threadgroup_memory(metal::ComputeEncoder& encoder, std::size_t bytes) const {
  std::size_t dynamic = threadgroup_ == nullptr ? 0 : bytes;
  for (const auto& [index, size] : sized_) dynamic += size;
  if (entry_.layout.static_threadgroup_bytes + dynamic > kThreadgroupMemoryLimit) {
    throw metal::EncodeError(
        fmt::format("{}:{}: function '{}' needs {} bytes of threadgroup memory ({} declared in the kernel, {} set by the host); "
                    "Metal allows {}",
                    entry_.layout.file, entry_.layout.line, entry_.layout.function, entry_.layout.static_threadgroup_bytes + dynamic,
                    entry_.layout.static_threadgroup_bytes, dynamic, kThreadgroupMemoryLimit));
  }
  if (threadgroup_ != nullptr) encoder.set_threadgroup_memory_length(threadgroup_->index, bytes);
  for (const auto& [index, size] : sized_) encoder.set_threadgroup_memory_length(index, size);
}

}  // namespace assay::kernels
