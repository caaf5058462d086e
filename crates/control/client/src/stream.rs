//! The stream of a client: its claim to be primary, and what the switch sends to it.

use super::{CallError, ClientOptions, within};
use crate::generated::p4_runtime_client::P4RuntimeClient;
use forebay_protocol::p4::v1::stream_error::Details;
use forebay_protocol::p4::v1::stream_message_request::Update as Request;
use forebay_protocol::p4::v1::stream_message_response::Update as Response;
use forebay_protocol::p4::v1::{
    MasterArbitrationUpdate, PacketOut, Role, StreamMessageRequest, StreamMessageResponse, Uint128,
};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Messages that may wait for a client that does not look; later ones are lost.
const MESSAGES_MAX: usize = 4096;

/// How long a switch may take to answer the claim that follows a packet.
const ANSWER: Duration = Duration::from_secs(1);

/// How long a switch may take to end a stream.
const STREAM_ENDS: Duration = Duration::from_secs(1);

/// Codes of the status in an arbitration message (§5.4).
const PRIMARY: i32 = Code::Ok as i32;
const NO_PRIMARY: i32 = Code::NotFound as i32;

/// An open stream whose client is primary.
pub(crate) struct Stream {
    requests: mpsc::Sender<StreamMessageRequest>,
    messages: mpsc::Receiver<Result<Response, Status>>,
    /// What has come before the answer to a packet; it is taken first.
    earlier: VecDeque<Response>,
    election: u128,
    /// How long the switch may take to answer a claim.
    patience: Duration,
}

impl Stream {
    /// Opens a stream and becomes primary.
    pub(crate) async fn open(
        service: &mut P4RuntimeClient<Channel>,
        options: &ClientOptions,
        patience: Duration,
    ) -> Result<Stream, CallError> {
        let (requests, to_switch) = mpsc::channel(16);
        let (to_client, messages) = mpsc::channel(MESSAGES_MAX);
        // The switch may answer only after the first message, so that is on its way before.
        let claim = claim(options, options.election_id);
        requests.try_send(claim).map_err(|_| CallError::stream_ended())?;
        let opened = service.stream_channel(ReceiverStream::new(to_switch));
        let incoming = within(patience, opened).await??.into_inner();
        tokio::spawn(forward(incoming, to_client));
        let mut stream = Stream {
            requests,
            messages,
            earlier: VecDeque::new(),
            election: options.election_id.unwrap_or(0),
            patience,
        };
        stream.arbitrate(options).await?;
        Ok(stream)
    }

    pub(crate) fn election_id(&self) -> Uint128 {
        uint128(self.election)
    }

    async fn arbitrate(&mut self, options: &ClientOptions) -> Result<(), CallError> {
        let answer = self.answer().await?;
        let highest = answer
            .election_id
            .map_or(0, |id| u128::from(id.high) << 64 | u128::from(id.low));
        match (code(&answer), options.election_id) {
            (PRIMARY, Some(_)) => Ok(()),
            (NO_PRIMARY, None) => {
                self.election = highest.max(1);
                self.send_message(claim(options, Some(self.election))).await?;
                let answer = self.answer().await?;
                match code(&answer) {
                    PRIMARY => Ok(()),
                    _ => Err(taken(options, highest)),
                }
            }
            _ => Err(taken(options, highest)),
        }
    }

    /// The answer to a claim.
    async fn answer(&mut self) -> Result<MasterArbitrationUpdate, CallError> {
        loop {
            match within(self.patience, self.messages.recv()).await? {
                Some(Ok(Response::Arbitration(answer))) => return Ok(answer),
                Some(Ok(_)) => {}
                Some(Err(status)) => return Err(status.into()),
                None => return Err(CallError::stream_ended()),
            }
        }
    }

    /// The next message that is not about arbitration; none when nothing comes within the time.
    pub(crate) async fn next(&mut self, timeout: Duration) -> Result<Option<Response>, CallError> {
        if let Some(message) = self.earlier.pop_front() {
            return Ok(Some(message));
        }
        let next = tokio::time::timeout(timeout, self.messages.recv()).await;
        next.map_or(Ok(None), taken_from_stream)
    }

    /// The next message that has come already. Even a time-out of 0 would take a millisecond, which is how exact timers
    /// are.
    pub(crate) fn next_now(&mut self) -> Result<Option<Response>, CallError> {
        if let Some(message) = self.earlier.pop_front() {
            return Ok(Some(message));
        }
        match self.messages.try_recv() {
            Err(mpsc::error::TryRecvError::Empty) => Ok(None),
            next => taken_from_stream(next.ok()),
        }
    }

    pub(crate) async fn send(&self, request: Request) -> Result<(), CallError> {
        let message = StreamMessageRequest { update: Some(request) };
        self.send_message(message).await
    }

    /// Sends a packet; returns why the switch refuses it, if it does. A switch says nothing of a packet that it takes, so
    /// the claim is repeated after the packet, and its answer comes after a refusal. If the switch
    /// does not answer, this returns all the same.
    pub(crate) async fn send_packet(
        &mut self,
        packet: PacketOut,
        options: &ClientOptions,
    ) -> Result<Option<CallError>, CallError> {
        self.send(Request::Packet(packet)).await?;
        self.send_message(claim(options, Some(self.election))).await?;
        let mut refusal = None;
        while let Ok(next) = tokio::time::timeout(ANSWER, self.messages.recv()).await {
            match taken_from_stream(next)? {
                None => break,
                Some(Response::Error(error)) if matches!(error.details, Some(Details::PacketOut(_))) => {
                    let code = Code::from_i32(error.canonical_code);
                    refusal = Some(CallError::refused(code, error.message));
                }
                Some(message) if self.earlier.len() < MESSAGES_MAX => self.earlier.push_back(message),
                Some(_) => {}
            }
        }
        Ok(refusal)
    }

    /// Ends the stream, and waits until the switch has taken everything and knows that this client is gone.
    pub(crate) async fn close(self) {
        let Stream {
            requests, mut messages, ..
        } = self;
        drop(requests);
        let ended = async { while messages.recv().await.is_some() {} };
        // A switch that does not answer is not waited for.
        let _ = tokio::time::timeout(STREAM_ENDS, ended).await;
    }

    async fn send_message(&self, message: StreamMessageRequest) -> Result<(), CallError> {
        self.requests.send(message).await.map_err(|_| CallError::stream_ended())
    }
}

/// What an arbitration message says: [`PRIMARY`], [`NO_PRIMARY`], or that another client is primary.
fn code(answer: &MasterArbitrationUpdate) -> i32 {
    answer.status.as_ref().map_or(PRIMARY, |status| status.code)
}

/// What has come from the stream, if it is not about arbitration. A client that another one has replaced gets nothing
/// any more.
fn taken_from_stream(next: Option<Result<Response, Status>>) -> Result<Option<Response>, CallError> {
    match next {
        Some(Ok(Response::Arbitration(answer))) if code(&answer) == PRIMARY => Ok(None),
        Some(Ok(Response::Arbitration(_))) => Err(CallError::refused(
            Code::PermissionDenied,
            "another controller has become primary: it gets packets, digests and notifications now".to_string(),
        )),
        Some(Ok(message)) => Ok(Some(message)),
        Some(Err(status)) => Err(status.into()),
        None => Err(CallError::stream_ended()),
    }
}

/// Takes what the switch sends, so that the connection never stalls.
async fn forward(
    mut incoming: tonic::Streaming<StreamMessageResponse>,
    to_client: mpsc::Sender<Result<Response, Status>>,
) {
    loop {
        match incoming.message().await {
            Ok(Some(message)) => {
                let Some(update) = message.update else { continue };
                hand_over(update, &to_client).await;
            }
            Ok(None) => return,
            Err(status) => {
                // The client may be gone.
                let _ = to_client.send(Err(status)).await;
                return;
            }
        }
    }
}

/// A client that does not look loses messages, but not those about who is primary: it would wait for others for ever.
async fn hand_over(update: Response, to_client: &mpsc::Sender<Result<Response, Status>>) {
    // Either way the client may be gone.
    match update {
        Response::Arbitration(_) => drop(to_client.send(Ok(update)).await),
        _ => drop(to_client.try_send(Ok(update))),
    }
}

fn claim(options: &ClientOptions, election: Option<u128>) -> StreamMessageRequest {
    let role = (!options.role.is_empty()).then(|| Role {
        name: options.role.clone(),
        ..Role::default()
    });
    let claim = MasterArbitrationUpdate {
        device_id: options.device_id,
        role,
        election_id: election.map(uint128),
        status: None,
    };
    StreamMessageRequest {
        update: Some(Request::Arbitration(claim)),
    }
}

fn uint128(number: u128) -> Uint128 {
    Uint128 {
        high: (number >> 64) as u64,
        low: number as u64,
    }
}

/// Another client is primary.
fn taken(options: &ClientOptions, highest: u128) -> CallError {
    let role = match options.role.as_str() {
        "" => String::new(),
        role => format!(" of role `{role}`"),
    };
    CallError::refused(
        Code::PermissionDenied,
        format!(
            "another controller is primary{role} of device {}, with election id {highest}: it alone writes and gets \
             packets and digests; `--election-id {}` takes its place, reading needs no claim",
            options.device_id,
            highest.saturating_add(1)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_protocol::google::rpc;
    use forebay_protocol::p4::v1::{DigestList, PacketOutError, StreamError};

    #[tokio::test]
    async fn a_packet_that_the_switch_refuses_is_an_error() {
        let (requests, _to_switch) = mpsc::channel(16);
        let (to_client, messages) = mpsc::channel(16);
        let mut stream = Stream {
            requests,
            messages,
            earlier: VecDeque::new(),
            election: 1,
            patience: STREAM_ENDS,
        };
        let options = ClientOptions {
            address: forebay_protocol::Address::loopback(9559),
            device_id: 1,
            role: String::new(),
            election_id: None,
            tls: None,
        };
        let digest = Response::Digest(DigestList::default());
        let refusal = Response::Error(StreamError {
            canonical_code: Code::InvalidArgument as i32,
            details: Some(Details::PacketOut(PacketOutError::default())),
            ..StreamError::default()
        });
        let answer = Response::Arbitration(MasterArbitrationUpdate::default());
        for message in [digest.clone(), refusal, answer.clone(), answer] {
            to_client.send(Ok(message)).await.unwrap();
        }
        let refusal = CallError::refused(Code::InvalidArgument, String::new());
        let sent = stream.send_packet(PacketOut::default(), &options).await;
        assert_eq!(sent, Ok(Some(refusal)));
        let sent = stream.send_packet(PacketOut::default(), &options).await;
        assert_eq!(sent, Ok(None));
        assert_eq!(stream.next_now(), Ok(Some(digest)), "nothing is lost");
    }

    #[tokio::test]
    async fn what_says_who_is_primary_is_not_lost() {
        let (to_client, mut messages) = mpsc::channel(1);
        let other = || Response::Digest(DigestList::default());
        hand_over(other(), &to_client).await;
        hand_over(other(), &to_client).await;
        let told = Response::Arbitration(MasterArbitrationUpdate::default());
        tokio::join!(hand_over(told.clone(), &to_client), async {
            assert_eq!(messages.recv().await.unwrap().unwrap(), other());
            assert_eq!(messages.recv().await.unwrap().unwrap(), told);
        });
    }

    #[test]
    fn a_client_that_is_replaced_is_told_so() {
        let told = |code: Code| {
            let answer = MasterArbitrationUpdate {
                status: Some(rpc::Status {
                    code: code as i32,
                    ..rpc::Status::default()
                }),
                ..MasterArbitrationUpdate::default()
            };
            taken_from_stream(Some(Ok(Response::Arbitration(answer))))
        };
        assert_eq!(told(Code::Ok), Ok(None));
        assert!(told(Code::AlreadyExists).unwrap_err().is_permission_denied());
    }
}
