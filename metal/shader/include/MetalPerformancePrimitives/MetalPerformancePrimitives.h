#error \
    "assay: <MetalPerformancePrimitives/MetalPerformancePrimitives.h> is not supported: Metal Performance Primitives are out of scope of this simulator"
