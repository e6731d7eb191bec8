// Files that no fixture may be, made with the HDF5 library itself.
#pragma once

#include <hdf5.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace assay::tests {

// An open file with /format and /inputs, for a test to spoil.
struct RawFile {
  hid_t file = H5I_INVALID_HID;
  hid_t format = H5I_INVALID_HID;
  hid_t inputs = H5I_INVALID_HID;

  // Scalar attribute of /format.
  void attribute(const std::string& name, hid_t type, const void* value) const {
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(format, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, value);
    H5Aclose(attribute);
    H5Sclose(space);
  }
  // A dataset in /inputs, written with `values` if there are any. `creation` is the caller's.
  hid_t dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, const void* values,
                hid_t creation = H5P_DEFAULT) const {
    const hid_t space = shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t dataset = H5Dcreate2(inputs, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (values != nullptr) H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Sclose(space);
    H5Dclose(dataset);
    return dataset;
  }
};

// Writes a file as applications do by default (the old format, without checksums, `latest` false) and lets `spoil` at it.
inline void write_raw(const std::filesystem::path& path, const std::function<void(const RawFile&)>& spoil, bool latest = false) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  RawFile raw;
  raw.file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  raw.format = H5Gcreate2(raw.file, "format", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  raw.inputs = H5Gcreate2(raw.file, "inputs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  spoil(raw);
  H5Gclose(raw.inputs);
  H5Gclose(raw.format);
  H5Fclose(raw.file);
  H5Pclose(access);
}

}  // namespace assay::tests
