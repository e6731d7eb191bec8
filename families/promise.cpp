// Finds the promise that a kernel broke.
#include "families/promise.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "families/registry.h"

namespace assay::families {

const Promise* find_promise(std::string_view id) {
  for (const Family& family : all_families()) {
    const auto found = std::ranges::find(family.promises, id, &Promise::id);
    if (found != family.promises.end()) return &*found;
  }
  return nullptr;
}

const Promise& promise_of(const BrokenPromise& broken) {
  const Promise* promise = find_promise(broken.promise);
  if (promise == nullptr) throw std::invalid_argument(fmt::format("the unknown promise '{}'", broken.promise));
  std::size_t matching = 0;
  for (const PromiseField& field : promise->fields) {
    const auto value = broken.values.find(field.name);
    if (value == broken.values.end() && field.is_optional) continue;
    if (value == broken.values.end() || value->second.index() != static_cast<std::size_t>(field.type))
      throw std::invalid_argument(fmt::format("no '{}' of its type in '{}'", field.name, broken.promise));
    ++matching;
  }
  if (matching != broken.values.size()) throw std::invalid_argument(fmt::format("values that do not belong to '{}'", broken.promise));
  return *promise;
}

}  // namespace assay::families
