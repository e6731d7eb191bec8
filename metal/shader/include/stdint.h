// A marker header: it brings only macros; types and functions come with the prelude.
#pragma once
#include <assay_macros.h>
