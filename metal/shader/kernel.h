// Everything that is included before a translated kernel: Metal's library, then what the translation itself refers to.
#pragma once

// OpenCL has no bit-fields; Metal does.
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable

#include "prelude.h"

#include "entry.h"

// Macros of this dialect that are ordinary names in Metal. The user's own macros are already expanded here.
#undef CL_VERSION_1_0
#undef CL_VERSION_1_1
#undef CL_VERSION_1_2
#undef CL_VERSION_2_0
#undef CL_VERSION_3_0
#undef cl_amd_media_ops
#undef cl_amd_media_ops2
#undef cl_clang_storage_class_specifiers
#undef cl_intel_device_side_avc_motion_estimation
#undef cl_intel_subgroups
#undef cl_intel_subgroups_short
#undef cl_khr_3d_image_writes
#undef cl_khr_byte_addressable_store
#undef cl_khr_depth_images
#undef cl_khr_fp16
#undef cl_khr_fp64
#undef cl_khr_gl_msaa_sharing
#undef cl_khr_global_int32_base_atomics
#undef cl_khr_global_int32_extended_atomics
#undef cl_khr_int64_base_atomics
#undef cl_khr_int64_extended_atomics
#undef cl_khr_local_int32_base_atomics
#undef cl_khr_local_int32_extended_atomics
#undef cl_khr_mipmap_image
#undef cl_khr_mipmap_image_writes
#undef cl_khr_srgb_image_writes
#undef cl_khr_subgroups
#undef cles_khr_int64

// The pass uses it to distinguish our headers from the user's.
extern "C" {
extern __constant const char __assay_shader_file[];
__constant const char __assay_shader_file[] = __FILE__;
}
