// How the simulator runs a SIMD-group.
#pragma once

#include <string_view>

namespace assay::metal {

// `vector`: as one thread of control, with vectors for what differs between lanes, where the kernel has such a form; else as `fibers`.
// `fibers`: each lane on its own stack. The results, the hazards and the counters are the same.
enum class Engine { vector, fibers };
[[nodiscard]] std::string_view to_string(Engine engine);
// "vector" or "fibers"; throws std::invalid_argument for anything else.
[[nodiscard]] Engine parse_engine(std::string_view text);

}  // namespace assay::metal
