//! The ports of the switch as gNMI sees them, with the rights of P4Runtime's clients.

use crate::access::{Access, Right};
use crate::answers::Unreceived;
use crate::calls;
use crate::long_calls::{LongCall, LongCalls};
use crate::shared::Shared;
use forebay_gnmi::{Done, Interfaces, Switch, Work};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tonic::{Extensions, Status};

/// See the [module](self).
pub(crate) struct Ports {
    shared: Arc<Shared>,
    access: Arc<Access>,
    long_calls: LongCalls,
}

impl Ports {
    pub(crate) fn new(shared: Arc<Shared>, access: Arc<Access>, long_calls: LongCalls) -> Ports {
        Ports {
            shared,
            access,
            long_calls,
        }
    }
}

impl Switch for Ports {
    type Caller = LongCall;

    fn caller(&self, call: &Extensions) -> LongCall {
        self.long_calls.of_call(call)
    }

    fn aside<'a>(&'a self, caller: &'a LongCall, work: Work<'a>) -> Done<'a> {
        Box::pin(async move {
            let _turn = caller.clone().turn().await;
            tokio::task::block_in_place(work);
        })
    }

    fn interfaces(&self) -> &Interfaces {
        self.shared.interfaces()
    }

    fn enable_port(&self, port: u32, is_enabled: bool) {
        self.shared.enable_port(port, is_enabled);
    }

    fn epoch_ns(&self) -> i64 {
        self.shared.epoch_ns()
    }

    fn switch_ns(&self) -> u64 {
        self.shared.switch_ns()
    }

    fn may_read(&self, call: &Extensions) -> Result<(), Status> {
        self.access.of_call(call).check(Right::Read)
    }

    fn may_answer(&self, call: &Extensions) -> Result<(), Status> {
        // What is given up for it takes long to free.
        tokio::task::block_in_place(|| Unreceived::of_call(call).check(self.shared.limits()))
    }

    fn note_answer(&self, call: &Extensions, answer: &mut Extensions, bytes: usize) {
        Unreceived::of_call(call).attach(bytes, answer);
    }

    fn subscribed_values(&self, call: &Extensions) -> Arc<AtomicUsize> {
        let peer = calls::peer(call);
        peer.map(|peer| Arc::clone(&peer.activity.subscribed_values))
            .unwrap_or_default()
    }

    fn may_administer(&self, call: &Extensions) -> Result<(), Status> {
        self.access.of_call(call).check(Right::Admin)
    }
}
