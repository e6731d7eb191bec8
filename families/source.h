// The source of a case's inputs.
#pragma once

#include <filesystem>
#include <span>

#include "fixtures/generators.h"
#include "fixtures/tensor.h"

namespace assay::families {

// A generator, or the tensors of a fixture file, which are those that FileRules::inputs lists.
struct Source {
  const fixtures::Fixture* generator = nullptr;
  std::filesystem::path file;  // the file of the tensors, for messages
  std::span<const fixtures::Tensor> tensors;

  [[nodiscard]] bool is_file() const { return generator == nullptr; }
};

}  // namespace assay::families
