// Everything that is included before a translated kernel for an NVIDIA GPU: what every target sees, and then this target's runtime.
//
// Functions named __assay_nvptx_ take the place of the calls that runtime.h and entry.h declare. The pass (pass/nvptx/) exchanges them once
// it knows which lanes meet at each call, and adds those lanes as the first argument.
#pragma once

#include "../kernel.h"

#include "launch.h"
#include "library.h"
#include "memory.h"
#include "simd.h"
