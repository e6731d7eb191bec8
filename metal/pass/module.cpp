// Gives a lane its position and memory, and describes the finished module to the loader.
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/InstIterator.h>

#include "metal/pass/lockstep.h"

namespace assay::metal::pass {

void Lockstep::describe_variables(const ThreadgroupVariables& placed) {
  for (const auto& [id, number] : variable_numbers_) {
    const auto found = placed.find(id);
    if (found == placed.end()) continue;
    variables_[number].offset = found->second.offset;
    variables_[number].size = found->second.size;
  }
}

void Lockstep::replace_position_queries() {
  const auto queries = calls_of_runtime();
  const ThreadgroupVariables variables = place_variables(queries);
  describe_variables(variables);
  // Position and memory do not change while the lane runs. They are read once, at the top; otherwise the optimiser reads them again
  // after each meeting point.
  llvm::IRBuilder<> top(&entry_->getEntryBlock(), entry_->getEntryBlock().getFirstInsertionPt());
  const auto load = [&](llvm::Type* type, std::uint64_t offset) { return top.CreateLoad(type, lane_member(top, offset)); };
  const auto builtin = [&](std::uint64_t which, std::uint64_t axis) {
    return load(top.getInt32Ty(), offsetof(abi::Lane, builtins) + (which * 3 + axis) * sizeof(std::uint32_t));
  };
  for (auto* call : queries) {
    const auto name = call->getCalledFunction()->getName();
    llvm::Value* value = nullptr;
    if (name == "__assay_max_total_threads") {
      max_total_threads_ = constant_argument(*call, 0);
      continue;
    }
    if (name == "__assay_fence") {
      llvm::IRBuilder<> builder(call);
      if (is_checked_) call_service(builder, abi::kFence, 0, {call->getArgOperand(0)}, builder.getVoidTy());
      continue;
    }
    if (name == "__assay_buffer") {
      auto& alignment = alignments_[constant_argument(*call, 0)];
      alignment = std::max(alignment, buffer_alignment(*call));
      present_buffers_ |= 1u << constant_argument(*call, 0);
      value = load(top.getPtrTy(), offsetof(abi::Lane, buffers) + constant_argument(*call, 0) * sizeof(void*));
    } else if (name == "__assay_threadgroup_argument") {
      present_threadgroup_arguments_ |= 1u << constant_argument(*call, 0);
      value = load(top.getPtrTy(), offsetof(abi::Lane, threadgroup_arguments) + constant_argument(*call, 0) * sizeof(void*));
    } else if (name == "__assay_threadgroup_variable") {
      auto* base = load(top.getPtrTy(), offsetof(abi::Lane, threadgroup_memory));
      value = top.CreateConstInBoundsGEP1_64(top.getInt8Ty(), base, variables.lookup(constant_argument(*call, 0)).offset);
    } else if (name == "__assay_builtin") {
      value = builtin(constant_argument(*call, 0), constant_argument(*call, 1));
    } else if (name == "__assay_choice") {
      value = builtin(abi::kChoice, 0);
    } else if (name == "__assay_lane") {
      value = builtin(abi::kThreadIndexInSimdgroup, 0);
    } else {
      refuse(place_of(*call), "internal: unknown runtime function " + name);
    }
    call->replaceAllUsesWith(value);
  }
  for (auto* call : queries) call->eraseFromParent();
}

llvm::Constant* Lockstep::text(llvm::StringRef value) {
  auto* data = llvm::ConstantDataArray::getString(context_, value);
  return new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, "__assay_text");
}

llvm::Constant* Lockstep::word(std::uint64_t value) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), value); }

llvm::Constant* Lockstep::table(llvm::Type* element, llvm::ArrayRef<llvm::Constant*> values) {
  auto* type = llvm::ArrayType::get(element, values.size());
  return new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::InternalLinkage, llvm::ConstantArray::get(type, values),
                                  "__assay_table");
}

// Long because it has one block per table of abi::Module, and all blocks add to the same list of files.
void Lockstep::emit_module() {
  services();
  llvm::MapVector<llvm::StringRef, std::uint32_t> files;
  llvm::SmallVector<llvm::Constant*> sites;
  auto* loops_type = llvm::ArrayType::get(llvm::Type::getInt32Ty(context_), abi::kMaxLoopDepth);
  auto* number = word(0)->getType();
  auto* site_type = llvm::StructType::get(context_, {number, number, number, number, number, loops_type});
  for (std::size_t site = 0; site < ordered_.size(); ++site) {
    const auto& place = places_[site];
    const auto file = files.insert({place.file, static_cast<std::uint32_t>(files.size())}).first->second;
    llvm::SmallVector<llvm::Constant*> loops;
    for (const auto loop : ordered_[site].loops) loops.push_back(word(loop));
    loops.resize(abi::kMaxLoopDepth, word(0));
    sites.push_back(llvm::ConstantStruct::get(
        site_type, {word(services_of_sites_[site]), word(operations_.lookup(static_cast<std::uint32_t>(site))), word(file),
                    word(place.line), word(ordered_[site].loops.size()), llvm::ConstantArray::get(loops_type, loops)}));
  }
  const auto file_of = [&](const Place& place) {
    return word(files.insert({place.file, static_cast<std::uint32_t>(files.size())}).first->second);
  };
  auto* access_type = llvm::StructType::get(context_, {number, number, number, number, number, number});
  llvm::SmallVector<llvm::Constant*> accesses;
  const auto append = [&](const AccessNote& note, const Place& place) {
    accesses.push_back(llvm::ConstantStruct::get(
        access_type, {file_of(place), word(place.line), word(note.kind), word(note.alignment), word(note.object), word(note.bytes)}));
  };
  if (is_checked_) {
    for (std::size_t site = 0; site < ordered_.size(); ++site) {
      const auto found = site_accesses_.find(static_cast<std::uint32_t>(site));
      append(found == site_accesses_.end() ? AccessNote{0, 1, abi::kAnyObject, 0} : found->second, places_[site]);
    }
  }
  for (const auto& [note, place] : further_accesses_) append(note, place);
  auto* pointer = llvm::PointerType::get(context_, 0);
  auto* variable_type = llvm::StructType::get(context_, {number, number, pointer});
  llvm::SmallVector<llvm::Constant*> variables;
  for (const auto& variable : variables_)
    variables.push_back(llvm::ConstantStruct::get(variable_type, {word(variable.offset), word(variable.size), text(variable.name)}));
  auto* operation_type = llvm::StructType::get(context_, llvm::SmallVector<llvm::Type*>(9, number));
  llvm::SmallVector<llvm::Constant*> operations;
  for (const auto& [operation, place] : arithmetic_) {
    operations.push_back(llvm::ConstantStruct::get(
        operation_type, {file_of(place), word(place.line), word(operation.what), word(operation.type), word(operation.from),
                         word(operation.operands), word(operation.count), word(operation.flops), word(operation.block)}));
  }
  auto* lost_type = llvm::StructType::get(context_, {number, number});
  llvm::SmallVector<llvm::Constant*> lost;
  for (const auto& place : lost_shadows_) lost.push_back(llvm::ConstantStruct::get(lost_type, {file_of(place), word(place.line)}));
  llvm::SmallVector<llvm::Constant*> alignments;
  for (const auto alignment : alignments_) alignments.push_back(word(alignment));
  // The line table of the object names no files: its line numbers are indices into these places.
  llvm::SmallVector<llvm::Constant*> places;
  for (const auto& instruction : llvm::instructions(*entry_)) {
    const Place place = place_of(instruction);
    if (place.line == 0 || !source_places().insert({{place.file, place.line}, places.size() + 1}).second) continue;
    places.push_back(llvm::ConstantStruct::get(lost_type, {file_of(place), word(place.line)}));
  }
  llvm::SmallVector<llvm::Constant*> names;
  for (const auto& file : files) names.push_back(text(file.first));
  llvm::Constant* fields[] = {word(abi::kVersion),
                              word(sites.size()),
                              table(site_type, sites),
                              table(pointer, names),
                              word(names.size()),
                              word(threadgroup_bytes_),
                              word(read_buffers_),
                              word(written_buffers_),
                              word(present_buffers_),
                              word(present_threadgroup_arguments_),
                              word(has_device_atomics_ ? 1 : 0),
                              word(max_total_threads_),
                              word(is_checked_ ? 1 : 0),
                              word(accesses.size()),
                              word(variables.size()),
                              word(operations.size()),
                              word(block_count_),
                              table(access_type, accesses),
                              table(variable_type, variables),
                              table(operation_type, operations),
                              word(shadows_),
                              word(lost.size()),
                              table(lost_type, lost),
                              table(number, alignments),
                              word(places.size()),
                              table(lost_type, places),
                              text(reflection_),
                              services_,
                              entry_,
                              llvm::ConstantPointerNull::get(pointer),  // the last three: see add_vector_kernel()
                              word(0),
                              text("")};
  auto* value = llvm::ConstantStruct::getAnon(context_, fields);
  new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value, "__assay_module");
}

}  // namespace assay::metal::pass
