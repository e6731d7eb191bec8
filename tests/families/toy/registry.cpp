// The families of assay and one more.
#define ASSAY_FURTHER_FAMILIES(ROW) ROW(toy_family)
#include "families/registry.cpp"
