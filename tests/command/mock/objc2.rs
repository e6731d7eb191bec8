// A stand-in for the crate objc2: what docs/RECORDERS.md uses of it.
pub mod rc {
    pub struct Retained<T: ?Sized>(Box<T>);
    impl<T> Retained<T> {
        pub fn of(value: T) -> Self {
            Retained(Box::new(value))
        }
    }
    impl<T: ?Sized> std::ops::Deref for Retained<T> {
        type Target = T;
        fn deref(&self) -> &T {
            &self.0
        }
    }
}

pub mod runtime {
    pub struct ProtocolObject<P: ?Sized> {
        pub number: usize,
        protocol: std::marker::PhantomData<P>,
    }
    impl<P: ?Sized> ProtocolObject<P> {
        pub fn of(number: usize) -> Self {
            ProtocolObject { number, protocol: std::marker::PhantomData }
        }
    }
}
