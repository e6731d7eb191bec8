// Chooses the functions of the runtime according to the policy for which a kernel was compiled.
#include "metal/execute/connect.h"

#include <algorithm>

#include "metal/execute/checked_services.h"
#include "metal/execute/services.h"
#include "metal/execute/shadowed_services.h"

namespace assay::metal::execute {

void connect(const abi::Module& module) {
  static const Services plain = plain_services();
  static const Services of_checked = checked(plain);
  static const Services of_shadowed = shadowed(plain);
  const Services& services = module.is_checked != 0 ? of_checked : module.shadows != abi::kNoShadows ? of_shadowed : plain;
  std::ranges::transform(services, module.services, [](Service service) { return reinterpret_cast<void*>(service); });
}

}  // namespace assay::metal::execute
