//! The methods of a decorator that only pass a call on.

/// Implements methods of [`Port`](crate::Port) by calling the same method of a field, inside `impl Port for ...`. A
/// decorator names all methods that it does not change, so that a new method of the trait is not forgotten in one of
/// them.
///
/// ```
/// use forebay_packet::{Port, delegate_port};
///
/// /// A port with another name.
/// struct Named<P> { name: String, port: P }
///
/// impl<P: Port> Port for Named<P> {
///     fn name(&self) -> &str {
///         &self.name
///     }
///
///     delegate_port!(port: receive, send, counters, state, why_down, readiness, room, is_timer, reads_ids, begin_last_round, flush);
/// }
/// ```
#[macro_export]
macro_rules! delegate_port {
    ($field:ident: $($method:ident),+ $(,)?) => {
        $( $crate::delegate_port!(@ $field $method); )+
    };
    (@ $field:ident name) => {
        fn name(&self) -> &str {
            self.$field.name()
        }
    };
    (@ $field:ident receive) => {
        fn receive(
            &mut self,
            burst: &mut $crate::Burst,
            max: usize,
            now_ns: u64,
        ) -> Result<usize, $crate::PortError> {
            self.$field.receive(burst, max, now_ns)
        }
    };
    (@ $field:ident send) => {
        fn send(&mut self, burst: &mut $crate::Burst, now_ns: u64) -> Result<usize, $crate::PortError> {
            self.$field.send(burst, now_ns)
        }
    };
    (@ $field:ident counters) => {
        fn counters(&self) -> $crate::PortCounters {
            self.$field.counters()
        }
    };
    (@ $field:ident state) => {
        fn state(&self) -> $crate::PortState {
            self.$field.state()
        }
    };
    (@ $field:ident why_down) => {
        fn why_down(&self) -> Option<String> {
            self.$field.why_down()
        }
    };
    (@ $field:ident readiness) => {
        fn readiness(&self) -> $crate::Readiness {
            self.$field.readiness()
        }
    };
    (@ $field:ident room) => {
        fn room(&self) -> usize {
            self.$field.room()
        }
    };
    (@ $field:ident is_timer) => {
        fn is_timer(&self) -> bool {
            self.$field.is_timer()
        }
    };
    (@ $field:ident reads_ids) => {
        fn reads_ids(&self) -> bool {
            self.$field.reads_ids()
        }
    };
    (@ $field:ident begin_last_round) => {
        fn begin_last_round(&mut self) -> bool {
            self.$field.begin_last_round()
        }
    };
    (@ $field:ident flush) => {
        fn flush(&mut self) -> Result<(), $crate::PortError> {
            self.$field.flush()
        }
    };
}
