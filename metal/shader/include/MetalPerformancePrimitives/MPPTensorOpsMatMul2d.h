#error \
    "assay: <MetalPerformancePrimitives/MPPTensorOpsMatMul2d.h> is not supported: Metal Performance Primitives are out of scope of this simulator"
