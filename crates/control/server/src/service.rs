//! The calls of gRPC.

use crate::access::{Access, Permissions, Right};
use crate::answers::{Answer, GivenUp, Unreceived};
use crate::calls;
use crate::codec::ReadAnswer;
use crate::config_answer;
use crate::generated::p4_runtime_server::P4Runtime;
use crate::header_room::HeaderRoom;
use crate::limits::Limits;
use crate::long_calls::LongCalls;
use crate::outbox::{Outbox, Responses};
use crate::push::Pushes;
use crate::shared::Shared;
use crate::status::{of_error, of_rejection};
use forebay_p4runtime::{Device, Now, Rejection, StreamId};
use forebay_protocol::STATISTICS;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::stream_message_request::Update;
use forebay_protocol::p4::v1::write_request::Atomicity;
use forebay_protocol::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse,
    ReadRequest, SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse, StreamMessageRequest,
    WriteRequest, WriteResponse,
};
use std::sync::Arc;
use std::time::Duration;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

/// Others are served by a further thread while a batch of more updates than this is written: it takes longer than half
/// a millisecond. To hand them over for a shorter one costs more than it helps.
const SMALL_BATCH: usize = 64;

/// How often, and how many times at most, a claim looks whether its election id is free.
const TAKEN_ID_LOOK: Duration = Duration::from_millis(10);
const TAKEN_ID_LOOKS: usize = 30;

/// Serves calls by a device.
pub(crate) struct Service {
    shared: Arc<Shared>,
    pushes: Pushes,
    long_calls: LongCalls,
    access: Arc<Access>,
}

impl Service {
    pub(crate) fn new(shared: Arc<Shared>, limits: Limits, access: Arc<Access>, long_calls: LongCalls) -> Service {
        Service {
            shared,
            pushes: Pushes::new(limits),
            long_calls,
            access,
        }
    }
}

#[tonic::async_trait]
impl P4Runtime for Service {
    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        let permissions = self.access.of_call(request.extensions());
        let room = HeaderRoom::of_call(request.extensions());
        let long_call = self.long_calls.of_call(request.extensions());
        let request = request.into_inner();
        permissions.check_role(Right::Write, Some(&request.role))?;
        let write = |request: &WriteRequest| self.shared.change(|device, now| device.write(request, now));
        // What is kept waits for a disk, what packets see at once for a copy of tables.
        let is_short = request.updates.len() <= SMALL_BATCH
            && request.atomicity() != Atomicity::DataplaneAtomic
            && !self.shared.keeping().keeps_state;
        let changed = if is_short {
            write(&request)
        } else {
            let _turn = long_call.turn().await;
            // With what it takes to free the message.
            tokio::task::block_in_place(move || write(&request))
        };
        let (written, kept) = changed.map_err(|refused| of_error(&refused))?;
        let written = match kept {
            Ok(()) => written,
            Err(error) => Err(Rejection::not_kept(written.err(), error)),
        };
        written.map_err(|rejection| of_rejection(&rejection, room))?;
        Ok(Response::new(WriteResponse {}))
    }

    type ReadStream = Answer;

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        self.access.of_call(request.extensions()).check(Right::Read)?;
        let room = HeaderRoom::of_call(request.extensions());
        let unreceived = Unreceived::of_call(request.extensions());
        let _turn = self.long_calls.of_call(request.extensions()).turn().await;
        let request = request.into_inner();
        let mut given_up = GivenUp::default();
        // One read at a time is here, so that each sees what those before it have left.
        let read = |device: &mut Device, now: Now| -> Result<Answer, Status> {
            unreceived.check_under_lock(self.shared.limits(), &mut given_up)?;
            let mut messages = Vec::new();
            let read = device.read(&request, now, &mut |message| {
                messages.push(Ok(ReadAnswer::of(&message)))
            });
            if let Err(rejection) = read {
                messages.push(Err(of_rejection(&rejection, room)));
            }
            Ok(unreceived.answer(messages))
        };
        let answer = tokio::task::block_in_place(|| self.shared.call(read));
        tokio::task::block_in_place(|| drop(given_up));
        answer.map(Response::new)
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        let permissions = self.access.of_call(request.extensions());
        let request = Arc::new(request.into_inner());
        permissions.check_role(Right::Push, Some(&request.role))?;
        let begin = || self.shared.call(|device, _| device.begin_push(&request));
        begin().map_err(|error| of_error(&error))?;
        let turn = self.pushes.turn().await?;
        // While it waited, others have pushed.
        let (turn, program) = match begin().map_err(|error| of_error(&error))? {
            None => (turn, None),
            Some(options) => {
                let (turn, program) = self.pushes.load(turn, Arc::clone(&request), options).await?;
                (turn, Some(program))
            }
        };
        let finish = |device: &mut Device, now| device.finish_push(&request, program, now);
        let finish = || match request.action() {
            Action::Verify => Ok((self.shared.call(finish), Ok(()))),
            _ => self.shared.change(finish),
        };
        let changed = tokio::task::block_in_place(finish);
        drop(turn);
        let (set, kept) = changed.map_err(|refused| of_error(&refused))?;
        set.and(kept).map_err(|error| of_error(&error))?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        self.access.of_call(request.extensions()).check(Right::Read)?;
        let unreceived = Unreceived::of_call(request.extensions());
        let request = request.into_inner();
        let mut given_up = GivenUp::default();
        let get = |device: &mut Device, _: Now| {
            unreceived.check_under_lock(self.shared.limits(), &mut given_up)?;
            device.pipeline_config_parts(&request).map_err(|error| of_error(&error))
        };
        // A P4Info may be long.
        let parts = tokio::task::block_in_place(|| {
            let (response, program) = self.shared.call(get)?;
            Ok::<_, Status>(config_answer::parts(&response, program))
        });
        tokio::task::block_in_place(|| drop(given_up));
        let mut answer = Response::new(GetForwardingPipelineConfigResponse::default());
        unreceived.attach_parts(parts?, answer.extensions_mut());
        Ok(answer)
    }

    type StreamChannelStream = Responses;

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let permissions = self.access.of_call(request.extensions());
        permissions.check(Right::Read)?;
        let peer = calls::peer(request.extensions());
        let of_connection = peer.map(|peer| Arc::clone(&peer.activity.messages_waiting));
        let (stream, responses, outbox) = self.shared.open_stream(of_connection.unwrap_or_default());
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            serve_stream(&shared, stream, request.into_inner(), &outbox, &permissions).await;
            shared.close_stream(stream);
        });
        Ok(Response::new(responses))
    }

    async fn capabilities(
        &self,
        request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        let wants_statistics = request.metadata().contains_key(STATISTICS);
        if wants_statistics {
            self.access.of_call(request.extensions()).check(Right::Read)?;
        }
        let request = request.into_inner();
        let capabilities = self.shared.call(|device, _| device.capabilities(request));
        let mut capabilities = capabilities.map_err(|error| of_error(&error))?;
        let mut report = self.shared.state_report();
        if wants_statistics {
            report.statistics = self.shared.statistics().await;
        }
        capabilities.experimental = Some(report.to_any());
        Ok(Response::new(capabilities))
    }
}

/// Takes a controller's messages until it goes, or sends something that ends the stream.
async fn serve_stream(
    shared: &Shared,
    stream: StreamId,
    requests: impl Stream<Item = Result<StreamMessageRequest, Status>>,
    outbox: &Outbox,
    permissions: &Permissions,
) {
    let mut requests = std::pin::pin!(requests);
    loop {
        let next = tokio_stream::StreamExt::next(&mut requests);
        let message = tokio::select! {
            message = next => message,
            () = outbox.ended() => return,
        };
        let message = match message {
            None => return,
            // What cannot be decoded ends the stream with the reason.
            Some(Err(status)) => return outbox.end_with(status),
            Some(Ok(message)) => message,
        };
        if let Err(status) = may_send(permissions, &message) {
            return outbox.end_with(status);
        }
        await_election_id(shared, stream, &message).await;
        let taken = shared.call(|device, _| device.stream_message(stream, message));
        if let Err(error) = taken {
            return outbox.end_with(of_error(&error));
        }
    }
}

/// Waits a moment while a claim has the election id of another stream: a controller that opens a stream right after it
/// has ended one is not refused for the old one, whose end another task has yet to see.
async fn await_election_id(shared: &Shared, stream: StreamId, message: &StreamMessageRequest) {
    for _ in 0..TAKEN_ID_LOOKS {
        if !shared.call(|device, _| device.claims_taken_id(stream, message)) {
            return;
        }
        tokio::time::sleep(TAKEN_ID_LOOK).await;
    }
}

/// Whether the operator allows a message: claims of roles, and whatever goes to packets.
fn may_send(permissions: &Permissions, message: &StreamMessageRequest) -> Result<(), Status> {
    match &message.update {
        Some(Update::Arbitration(claim)) => permissions.check_claim(claim),
        Some(Update::Packet(_)) => permissions.check(Right::Write),
        _ => Ok(()),
    }
}
