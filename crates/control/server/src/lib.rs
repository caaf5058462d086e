//! P4Runtime and gNMI over gRPC: the server.
//!
//! ```text
//!   controllers ◄─ gRPC ─► Service ─┐            ┌─► packets out ─► CpuPort ─► switch
//!                                   ├─ Shared ───┤
//!   switch ─► Link: packets, digests┘  (Device)  └─► programs ────► install
//! ```
//!
//! * [`start`] listens and serves in threads of its own; [`Running`] ends that when it is dropped.
//! * [`link()`] makes what joins a switch and the server: a port for packets, and a way for digests. The switch never
//!   waits for either: what has no room is dropped and counted.
//! * gNMI (`forebay-gnmi`) tells of ports and disables them, on the same address; beside both stand health checks
//!   (`grpc.health.v1`) and reflection, by which tools such as grpcurl find the calls.
//! * `forebay-client` is the other end; [`Local`] is one within the process, for other interfaces to the same state.
//! * Everything that P4Runtime means is in `forebay_p4runtime::Device`, behind one lock that the data plane never
//!   takes.

mod access;
mod answers;
mod call_counts;
mod calls;
mod certificate;
mod codec;
mod config_answer;
mod connections;
mod header_room;
mod inflate;
mod limits;
mod link;
mod listen;
mod local;
mod long_calls;
mod outbox;
mod pieces;
mod ports;
mod push;
mod service;
mod shared;
mod status;
mod tls;

#[allow(missing_docs, clippy::all, reason = "generated")]
mod generated {
    tonic::include_proto!("p4.v1");
}

pub use access::{Access, Grant, Right, Subject};
pub use call_counts::{CallReport, Calls};
pub use forebay_gnmi::{PortInfo, PortStatus};
pub use forebay_protocol::{Address, AddressError, DEFAULT_PORT};
pub use limits::Limits;
pub use link::{CpuPort, DigestSender, Link, link};
pub use local::{Local, LocalPort};
pub use shared::{Environment, Learned};
pub use tls::Tls;

use call_counts::CallCounts;
use calls::CallLimits;
use forebay_gnmi::{GNmiServer, GnmiService};
use forebay_p4runtime::{Device, KeepingStatus};
use forebay_packet::PortState;
use forebay_ports::SocketFile;
use forebay_ports::{TimeSlice, set_time_slice};
use forebay_protocol::{of_certificates, why_not_listening};
use generated::p4_runtime_server::P4RuntimeServer;
use listen::Listening;
use long_calls::LongCalls;
use ports::Ports;
use service::Service;
use shared::Shared;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tonic::service::Routes;

/// The most threads that serve.
const THREADS_MAX: usize = 4;

/// Bytes that a connection may send before any of them is read, for one call and for all.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 512 << 10;

/// Bytes of a call's headers.
const HEADER_BYTES_MAX: u32 = 16 << 10;

/// Where and how to listen.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address; port 0 for any that is free. None to serve callers of this process alone ([`Running::local`]).
    pub address: Option<Address>,
    /// Certificates, if the connection is to be encrypted.
    pub tls: Option<Tls>,
    /// How often all of the state is kept anew, for what packets have changed.
    pub keep_period: Duration,
    /// What is spent on controllers at most.
    pub limits: Limits,
    /// Access control.
    pub access: Access,
}

/// Why the server could not be started.
#[derive(Debug)]
pub struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// A server that listens. Dropping it ends all connections.
pub struct Running {
    address: Option<Address>,
    shared: Arc<Shared>,
    counts: Arc<CallCounts>,
    _file: Option<SocketFile>,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
}

impl Running {
    /// Where it listens, if it does.
    pub fn address(&self) -> Option<&Address> {
        self.address.as_ref()
    }

    /// The switch for callers of this process.
    pub fn local(&self) -> Local {
        Local::new(Arc::clone(&self.shared))
    }

    /// Keeps all of the state, as it is now.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub fn keep_all(&self) -> Result<(), String> {
        self.shared.keep_all()
    }

    /// How it stands with what is kept. It does not wait for calls.
    pub fn keeping(&self) -> KeepingStatus {
        self.shared.keeping()
    }

    /// A function that returns the same, for repeated calls.
    pub fn watch_keeping(&self) -> impl Fn() -> KeepingStatus + Send + Sync + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.keeping()
    }

    /// Sets the function that returns counters of the data plane as JSON, for clients that request them. It may block.
    pub fn give_statistics(&self, statistics: impl Fn() -> String + Send + Sync + 'static) {
        self.shared.set_statistics(Arc::new(statistics));
    }

    /// A function that returns the calls of controllers so far.
    pub fn watch_calls(&self) -> impl Fn() -> CallReport + Send + Sync + use<> {
        let (counts, shared) = (Arc::clone(&self.counts), Arc::clone(&self.shared));
        move || counts.report(shared.messages_dropped())
    }

    /// Messages that had no room on their way to a controller that does not read, and packets whose program was
    /// replaced on their way.
    pub fn messages_dropped(&self) -> u64 {
        self.shared.messages_dropped()
    }

    /// Tells how a port is: controllers' groups and replicas depend on whether it is up, gNMI shows all of it.
    pub fn port_seen(&self, port: u32, status: PortStatus) {
        let is_up = status.state == PortState::Up;
        self.shared.call(|device, _| device.port_changed(port, is_up));
        self.shared.port_seen(port, status);
    }

    /// Tells what a port is, for gNMI, when that may have changed.
    pub fn port_described(&self, info: PortInfo) {
        self.shared.port_described(info);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The server may have ended already.
            let _ = stop.send(());
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Listens, and serves the device.
///
/// # Errors
/// When the address cannot be listened on, the certificates cannot be used, or threads cannot be started.
pub fn start(
    options: &Options,
    device: Device,
    link: Link,
    mut environment: Environment,
) -> Result<Running, StartError> {
    let failed = |what: &str, error: &dyn fmt::Display| StartError(format!("{what}: {error}"));
    let listen = |address| {
        Listening::on(address)
            .map_err(|error| failed(&format!("cannot listen on {address}"), &why_not_listening(&error)))
    };
    let listening = options.address.as_ref().map(listen).transpose()?;
    let address = listening.as_ref().map(|listening| listening.address().clone());
    let confine = std::mem::replace(&mut environment.confine, Box::new(|| Ok(())));
    confine().map_err(StartError)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .thread_name("grpc")
        .on_thread_start(|| {
            // Without it, answers merely come later where workers need all processors.
            let _ = set_time_slice(TimeSlice::Short);
        })
        .enable_all()
        .build()
        .map_err(|error| failed("cannot start threads for gRPC", &error))?;
    let (shared, inputs) = Shared::new(device, link, environment, options.limits);
    let counts = Arc::new(CallCounts::default());
    let (file, stop) = match listening {
        Some(listening) => {
            let (file, stop) = serve(options, &runtime, &shared, &counts, listening)?;
            (file, Some(stop))
        }
        None => (None, None),
    };
    runtime.spawn(inputs.pump(Arc::clone(&shared)));
    runtime.spawn(Arc::clone(&shared).keep_time());
    runtime.spawn(Arc::clone(&shared).keep_fresh(options.keep_period));
    Ok(Running {
        address,
        shared,
        counts,
        _file: file,
        stop,
        runtime: Some(runtime),
    })
}

/// Serves clients until a message is sent through the returned sender, or it is dropped.
fn serve(
    options: &Options,
    runtime: &Runtime,
    shared: &Arc<Shared>,
    counts: &Arc<CallCounts>,
    listening: Listening,
) -> Result<(Option<SocketFile>, oneshot::Sender<()>), StartError> {
    let (service, management) = services(options, shared);
    let limits = &options.limits;
    let mut builder = tonic::transport::Server::builder()
        .max_concurrent_streams(limits.calls_per_connection)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_max_header_list_size(HEADER_BYTES_MAX)
        .http2_keepalive_interval(Some(limits.keepalive))
        .http2_keepalive_timeout(Some(limits.keepalive))
        .layer(CallLimits::new(limits, Arc::clone(counts)));
    if let Some(tls) = &options.tls {
        let config = tls.config().timeout(limits.handshake_time);
        builder = builder
            .tls_config(config)
            .map_err(|error| StartError(format!("the certificates cannot be used: {}", of_certificates(&error))))?;
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let (incoming, file) = {
        let _inside = runtime.enter();
        let accepted = listening.accept();
        let (incoming, file) = accepted.map_err(|error| StartError(format!("cannot listen: {error}")))?;
        (connections::limited(incoming, options.limits), file)
    };
    runtime.spawn(async move {
        let routes = about_itself(Routes::new(service).add_service(management)).await;
        let served = builder
            .add_routes(routes)
            .serve_with_incoming_shutdown(incoming, async {
                // Ends also when the sender is dropped.
                let _ = stopped.await;
            });
        served.await
    });
    Ok((file, stop))
}

/// P4Runtime and gNMI. Calls that take long are one at a time for both.
fn services(options: &Options, shared: &Arc<Shared>) -> (P4RuntimeServer<Service>, GNmiServer<GnmiService<Ports>>) {
    let access = Arc::new(options.access.clone());
    let long_calls = LongCalls::default();
    let service = Service::new(
        Arc::clone(shared),
        options.limits,
        Arc::clone(&access),
        long_calls.clone(),
    );
    let service = P4RuntimeServer::new(service)
        .max_decoding_message_size(options.limits.message_bytes)
        .max_encoding_message_size(usize::MAX);
    let ports = Ports::new(Arc::clone(shared), access, long_calls);
    let management = GNmiServer::new(GnmiService::new(Arc::new(ports)))
        .max_decoding_message_size(options.limits.message_bytes)
        .max_encoding_message_size(usize::MAX);
    (service, management)
}

/// Threads that serve: half as many as there are processors. Two of them would pass the parts of one call to each
/// other, and wait for a processor each time where the data plane needs all but one. What takes long hands the other
/// calls to a further thread (`block_in_place`), so one is enough.
fn threads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    (processors / 2).clamp(1, THREADS_MAX)
}

/// Adds what tools ask of any server of gRPC: whether it serves, and which calls it has.
async fn about_itself(routes: Routes) -> Routes {
    let (health, checks) = tonic_health::server::health_reporter();
    health.set_serving::<P4RuntimeServer<Service>>().await;
    health.set_serving::<GNmiServer<GnmiService<Ports>>>().await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(forebay_protocol::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let known = "the build has made the descriptors";
    routes
        .add_service(checks)
        .add_service(reflection().build_v1().expect(known))
        .add_service(reflection().build_v1alpha().expect(known))
}
