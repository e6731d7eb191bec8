// Everything that stands before a translated kernel: Metal's library, then what the translation itself refers to.
#pragma once

#include "prelude.h"

#include "entry.h"
