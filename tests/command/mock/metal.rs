// A stand-in for the crate metal: the calls of an encoder that docs/RECORDERS.md makes, with the types that they have there. Each call
// prints a line.
use std::ffi::c_void;
use std::ops::Deref;

pub type NSUInteger = u64;

pub struct MTLSize {
    pub width: NSUInteger,
    pub height: NSUInteger,
    pub depth: NSUInteger,
}
impl MTLSize {
    pub fn new(width: NSUInteger, height: NSUInteger, depth: NSUInteger) -> Self {
        MTLSize { width, height, depth }
    }
}

pub struct ResourceRef;
pub struct BufferRef {
    length: NSUInteger,
    resource: ResourceRef,
}
pub struct Buffer(BufferRef);
impl Buffer {
    pub fn of(length: NSUInteger) -> Self {
        Buffer(BufferRef { length, resource: ResourceRef })
    }
}
impl Deref for Buffer {
    type Target = BufferRef;
    fn deref(&self) -> &BufferRef {
        &self.0
    }
}
impl Deref for BufferRef {
    type Target = ResourceRef;
    fn deref(&self) -> &ResourceRef {
        &self.resource
    }
}

pub struct ComputePipelineStateRef;
pub struct ComputePipelineState(pub ComputePipelineStateRef);
impl Deref for ComputePipelineState {
    type Target = ComputePipelineStateRef;
    fn deref(&self) -> &ComputePipelineStateRef {
        &self.0
    }
}

pub struct ComputeCommandEncoderRef;
impl ComputeCommandEncoderRef {
    pub fn set_compute_pipeline_state(&self, _state: &ComputePipelineStateRef) {
        println!("pipeline");
    }
    pub fn set_buffer(&self, index: NSUInteger, buffer: Option<&BufferRef>, offset: NSUInteger) {
        println!("buffer of {} at {offset} to {index}", buffer.unwrap().length);
    }
    pub fn set_bytes(&self, index: NSUInteger, length: NSUInteger, bytes: *const c_void) {
        println!("{length} bytes, first {}, to {index}", unsafe { *bytes.cast::<u8>() });
    }
    pub fn set_threadgroup_memory_length(&self, index: NSUInteger, length: NSUInteger) {
        println!("memory {length} to {index}");
    }
    pub fn memory_barrier_with_resources(&self, resources: &[&ResourceRef]) {
        println!("barrier {}", resources.len());
    }
    pub fn dispatch_thread_groups(&self, groups: MTLSize, threads: MTLSize) {
        println!(
            "{} {} {} of {} {} {}",
            groups.width, groups.height, groups.depth, threads.width, threads.height, threads.depth
        );
    }
}
