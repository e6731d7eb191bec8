// The names that the expressions of an attention kernel's launch may use.
#pragma once

#include <map>
#include <string>

#include "families/attention/layout.h"
#include "kernels/launch.h"

namespace assay::families::attention {

//   b h g lq lk dk dv            batches, heads, key/value heads, queries, keys, widths of keys and values
//   type k_type v_type out_type  'float', 'half', 'bfloat', 'q8_0', ...      mask_type   'float', 'half', 'bfloat'
//   mask                         'none', 'causal', ...        cache, layout  likewise
//   window offset at_end softcap scale sinks max_bias kv_batches
//   capacity ring_start page_size pages block_count
//   blocks nsg                   the launch's own choices
class CaseNames final : public kernels::Names {
 public:
  CaseNames(const Shape& shape, std::int64_t max_bias);
  [[nodiscard]] std::optional<kernels::Value> value(std::string_view name) const override;
  [[nodiscard]] const kernels::NamedTensor* tensor(std::string_view name) const override;
  [[nodiscard]] std::vector<std::string> all() const override;

 private:
  std::map<std::string, kernels::Value, std::less<>> values_;
  Layouts layouts_;
};

}  // namespace assay::families::attention
