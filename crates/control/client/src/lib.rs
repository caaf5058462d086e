//! A client of P4Runtime over gRPC whose calls wait for their answers: what `forebay ctl` speaks with.
//!
//! * Reads need no stream, so a client that only reads does not affect other controllers.
//! * A client that writes, sends packets or receives messages must become primary first ([`Client::become_primary`]).
//!   Without an election id, it never displaces another client: it becomes primary only if there is no primary.

#![forbid(unsafe_code)]

mod error;
mod stream;

#[allow(missing_docs, clippy::all, reason = "generated")]
mod generated {
    tonic::include_proto!("p4.v1");
}

pub use error::{CallError, SHOWN_MAX};
pub use generated::p4_runtime_client::P4RuntimeClient;

use forebay_protocol::Address;
use forebay_protocol::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, Entity, ForwardingPipelineConfig, GetForwardingPipelineConfigRequest,
    PacketOut, ReadRequest, SetForwardingPipelineConfigRequest, Uint128, Update, WriteRequest,
};
use forebay_protocol::{STATISTICS, StateReport};
use std::time::Duration;
use stream::Stream;
use tokio::runtime::{Runtime, RuntimeFlavor};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

/// Bytes of headers that an answer may have: the details of an error, in which each update of a batch has its own, are
/// a header.
const HEADERS_MAX: u32 = 4 << 20;

/// How long a switch may take to accept a connection or to answer a claim.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection may be silent before it is looked whether the other host is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How long a switch may be silent within a call, unless [`Client::set_patience`] says otherwise.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// How long a switch may take for a new program, in multiples of what it may take otherwise: it compiles it first, and
/// programs that others have pushed before that.
const PUSH_TIMES: u32 = 10;

/// The server to connect to, and the client's identity.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Where it is.
    pub address: Address,
    /// The number of the device.
    pub device_id: u64,
    /// The role; empty for the one that may do everything.
    pub role: String,
    /// The election id; `None` to become primary only if there is no primary.
    pub election_id: Option<u128>,
    /// Certificates, if the connection is to be encrypted.
    pub tls: Option<ClientTls>,
}

/// Certificates of a client, as PEM texts.
#[derive(Clone, Default)]
pub struct ClientTls {
    /// The authority that the server's certificate must come from.
    pub authority: Vec<u8>,
    /// The client's own certificate and key, for servers that require them.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name in the server's certificate, if it is not that of the address.
    pub server_name: Option<String>,
}

impl std::fmt::Debug for ClientTls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ClientTls")
    }
}

/// A connection to a switch. Dropping it ends its claim to be primary.
pub struct Client {
    runtime: Runtime,
    service: P4RuntimeClient<Channel>,
    options: ClientOptions,
    stream: Option<Stream>,
    /// How long the switch may be silent within a call.
    patience: Duration,
}

impl Client {
    /// Connects. A thread takes what the switch sends between calls.
    ///
    /// # Errors
    /// If the address is invalid or does not answer, or the certificates do not match.
    pub fn connect(options: ClientOptions) -> Result<Client, CallError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("grpc");
        Client::connect_in(&mut builder, options)
    }

    /// Connects without a thread, for a client that calls many times a second: its calls wait for no other thread of
    /// this process. Between calls nothing is received: a switch takes a client that is silent for a minute for dead.
    ///
    /// # Errors
    /// As those of [`Client::connect`].
    pub fn connect_without_thread(options: ClientOptions) -> Result<Client, CallError> {
        Client::connect_in(&mut tokio::runtime::Builder::new_current_thread(), options)
    }

    fn connect_in(builder: &mut tokio::runtime::Builder, options: ClientOptions) -> Result<Client, CallError> {
        let runtime = builder
            .enable_all()
            .build()
            .map_err(|error| CallError::local(format!("gRPC cannot be started: {error}")))?;
        let endpoint = endpoint(&options)?;
        let unreachable = |error| CallError::unreachable(&options.address, &error);
        let channel = runtime.block_on(endpoint.connect()).map_err(unreachable)?;
        let service = P4RuntimeClient::new(channel)
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(usize::MAX);
        Ok(Client {
            runtime,
            service,
            options,
            stream: None,
            patience: SILENCE_MAX,
        })
    }

    /// Sets how long the switch may be silent within a call: then the call is given up, with an error that is no
    /// refusal. A call waits for the answer, a read for each part of it; a new program may take ten times as long.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// The version of P4Runtime that the switch speaks.
    ///
    /// # Errors
    /// When the switch refuses or is gone.
    pub fn capabilities(&mut self) -> Result<String, CallError> {
        Ok(self.capabilities_answer()?.p4runtime_api_version)
    }

    /// Whether the state of the switch is saved for a restart; `None` if the switch does not report it.
    ///
    /// # Errors
    /// When the switch refuses or is gone.
    pub fn state(&mut self) -> Result<Option<StateReport>, CallError> {
        Ok(StateReport::of(&self.capabilities_answer()?))
    }

    /// Counters of the data plane as JSON; `None` if the switch does not report them.
    ///
    /// # Errors
    /// When the switch refuses or is gone.
    pub fn statistics(&mut self) -> Result<Option<String>, CallError> {
        let mut request = self.capabilities_request();
        request
            .metadata_mut()
            .insert(STATISTICS, tonic::metadata::MetadataValue::from_static("1"));
        let report = StateReport::of(&self.capabilities_of(request)?);
        Ok(report.map(|report| report.statistics).filter(|text| !text.is_empty()))
    }

    fn capabilities_answer(&mut self) -> Result<CapabilitiesResponse, CallError> {
        let request = self.capabilities_request();
        self.capabilities_of(request)
    }

    fn capabilities_of(
        &mut self,
        request: tonic::Request<CapabilitiesRequest>,
    ) -> Result<CapabilitiesResponse, CallError> {
        let called = self.service.capabilities(request);
        let answer = self.runtime.block_on(within(self.patience, called))??;
        Ok(answer.into_inner())
    }

    fn capabilities_request(&self) -> tonic::Request<CapabilitiesRequest> {
        tonic::Request::new(CapabilitiesRequest {
            device_id: self.options.device_id,
        })
    }

    /// Entities as they are.
    ///
    /// # Errors
    /// When the switch refuses or is gone.
    pub fn read(&mut self, entities: Vec<Entity>) -> Result<Vec<Entity>, CallError> {
        let request = ReadRequest {
            device_id: self.options.device_id,
            role: self.options.role.clone(),
            entities,
        };
        let patience = self.patience;
        self.runtime.block_on(async {
            let mut answers = within(patience, self.service.read(request)).await??.into_inner();
            let mut found = Vec::new();
            while let Some(answer) = within(patience, answers.message()).await?? {
                found.extend(answer.entities);
            }
            Ok(found)
        })
    }

    /// Changes entities as one batch.
    ///
    /// # Errors
    /// When this client cannot be primary, or the switch refuses an update; the error says which.
    pub fn write(&mut self, updates: Vec<Update>, atomicity: Atomicity) -> Result<(), CallError> {
        let election_id = self.become_primary()?;
        let count = updates.len();
        let request = WriteRequest {
            device_id: self.options.device_id,
            role: self.options.role.clone(),
            election_id: Some(election_id),
            updates,
            atomicity: atomicity.into(),
            ..WriteRequest::default()
        };
        let called = self.service.write(request);
        let written = self.runtime.block_on(within(self.patience, called))?;
        self.unless_demoted(
            written
                .map(|_| ())
                .map_err(|status| CallError::from(status).of_batch(count)),
        )
    }

    /// The program that runs.
    ///
    /// # Errors
    /// When there is none, or the switch is gone.
    pub fn pipeline(&mut self, wanted: ResponseType) -> Result<ForwardingPipelineConfig, CallError> {
        let request = GetForwardingPipelineConfigRequest {
            device_id: self.options.device_id,
            response_type: wanted.into(),
        };
        let called = self.service.get_forwarding_pipeline_config(request);
        let answer = self.runtime.block_on(within(self.patience, called))??;
        Ok(answer.into_inner().config.unwrap_or_default())
    }

    /// Runs another program.
    ///
    /// # Errors
    /// When this client cannot be primary, or the switch refuses the program.
    pub fn set_pipeline(&mut self, action: Action, config: ForwardingPipelineConfig) -> Result<(), CallError> {
        let election_id = self.become_primary()?;
        let request = SetForwardingPipelineConfigRequest {
            device_id: self.options.device_id,
            role: self.options.role.clone(),
            election_id: Some(election_id),
            action: action.into(),
            config: Some(config),
            ..SetForwardingPipelineConfigRequest::default()
        };
        let called = self.service.set_forwarding_pipeline_config(request);
        let patience = self.patience.saturating_mul(PUSH_TIMES);
        let set = self.runtime.block_on(within(patience, called))?;
        self.unless_demoted(set.map(|_| ()).map_err(CallError::from))
    }

    /// Makes sure that this client is primary; returns its election id.
    ///
    /// # Errors
    /// When another one is, or the switch is gone.
    pub fn become_primary(&mut self) -> Result<Uint128, CallError> {
        if let Some(stream) = &self.stream {
            return Ok(stream.election_id());
        }
        let patience = self.patience.min(PATIENCE);
        let opened = self
            .runtime
            .block_on(Stream::open(&mut self.service, &self.options, patience));
        let stream = opened?;
        let election_id = stream.election_id();
        self.stream = Some(stream);
        Ok(election_id)
    }

    /// The next packet, digest or notification; none when nothing comes within the time.
    ///
    /// # Errors
    /// When this client cannot be primary, or the stream has ended.
    pub fn next_message(&mut self, timeout: Duration) -> Result<Option<Response>, CallError> {
        self.become_primary()?;
        let Some(stream) = &mut self.stream else {
            return Ok(None);
        };
        // Where a thread receives, what has come is there already.
        let has_thread = self.runtime.handle().runtime_flavor() == RuntimeFlavor::MultiThread;
        let next = if timeout.is_zero() && has_thread {
            stream.next_now()
        } else {
            self.runtime.block_on(stream.next(timeout))
        };
        if next.is_err() {
            self.stream = None;
        }
        next
    }

    /// Sends a packet or an acknowledgement.
    ///
    /// # Errors
    /// When this client cannot be primary, or the stream has ended.
    pub fn send(&mut self, request: Request) -> Result<(), CallError> {
        self.become_primary()?;
        match &self.stream {
            Some(stream) => {
                let sent = stream.send(request);
                self.runtime.block_on(within(self.patience, sent))?
            }
            None => Ok(()),
        }
    }

    /// Sends a packet, and waits until the switch has taken it.
    ///
    /// # Errors
    /// When this client cannot be primary, the switch refuses the packet, or the stream has ended.
    pub fn send_packet(&mut self, packet: PacketOut) -> Result<(), CallError> {
        self.become_primary()?;
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let sent = self.runtime.block_on(stream.send_packet(packet, &self.options));
        if sent.is_err() {
            self.stream = None;
        }
        match sent? {
            None => Ok(()),
            Some(refusal) => Err(refusal),
        }
    }

    /// A client that is not primary any more may become it again later.
    fn unless_demoted<T>(&mut self, result: Result<T, CallError>) -> Result<T, CallError> {
        if result.as_ref().is_err_and(CallError::is_permission_denied) {
            self.stream = None;
        }
        result
    }
}

/// Waits for a call, but not for ever: the host of a switch that has vanished says nothing.
async fn within<T>(patience: Duration, call: impl Future<Output = T>) -> Result<T, CallError> {
    let answered = tokio::time::timeout(patience, call).await;
    answered.map_err(|_| CallError::unanswered(patience))
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            self.runtime.block_on(stream.close());
        }
    }
}

fn endpoint(options: &ClientOptions) -> Result<Endpoint, CallError> {
    let uri = options
        .address
        .uri(if options.tls.is_some() { "https" } else { "http" });
    let wrong = |error: tonic::transport::Error| CallError::unreachable(&options.address, &error);
    let endpoint = Endpoint::from_shared(uri).map_err(wrong)?;
    let endpoint = endpoint
        .connect_timeout(PATIENCE)
        .tcp_keepalive(Some(KEEPALIVE))
        .tcp_keepalive_interval(Some(KEEPALIVE / 3))
        .tcp_keepalive_retries(Some(3))
        .tcp_nodelay(true)
        .http2_max_header_list_size(HEADERS_MAX);
    match &options.tls {
        None => Ok(endpoint),
        Some(tls) => endpoint
            .tls_config(tls_config(tls))
            .map_err(|error| CallError::of_certificates(&error)),
    }
}

fn tls_config(tls: &ClientTls) -> ClientTlsConfig {
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.authority));
    if let Some((certificate, key)) = &tls.identity {
        config = config.identity(Identity::from_pem(certificate, key));
    }
    match &tls.server_name {
        None => config,
        Some(name) => config.domain_name(name),
    }
}
