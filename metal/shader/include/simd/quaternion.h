#pragma once
#include <assay_macros.h>
