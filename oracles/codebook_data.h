// The tables behind oracles/codebook.h.
#pragma once

#include <array>
#include <cstdint>

namespace assay::oracles::data {

extern const std::array<float, 16> kCodebook4;
extern const std::array<float, 32> kCodebook5;
extern const std::array<float, 64> kCodebook6;
extern const std::array<float, 256> kCodebook8;
extern const std::array<std::uint8_t, 32> kSigns256;
extern const std::array<std::uint8_t, 64> kSigns512;

}  // namespace assay::oracles::data
