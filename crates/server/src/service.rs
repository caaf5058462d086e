//! The calls of gRPC.

use crate::generated::p4_runtime_server::P4Runtime;
use crate::shared::{Shared, ToStream};
use crate::status::{of_error, of_rejection};
use forebay_control::{Device, Rejection, StreamId};
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_protocol::p4::v1::{
    CapabilitiesRequest, CapabilitiesResponse, GetForwardingPipelineConfigRequest, GetForwardingPipelineConfigResponse,
    ReadRequest, ReadResponse, SetForwardingPipelineConfigRequest, SetForwardingPipelineConfigResponse,
    StreamMessageRequest, StreamMessageResponse, WriteRequest, WriteResponse,
};
use std::sync::Arc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// Batches of more updates than this get a thread of their own, so that others are served meanwhile.
const SMALL_BATCH: usize = 16;

/// Serves calls by a device.
pub(crate) struct Service {
    shared: Arc<Shared>,
}

impl Service {
    pub(crate) fn new(shared: Arc<Shared>) -> Service {
        Service { shared }
    }
}

#[tonic::async_trait]
impl P4Runtime for Service {
    async fn write(&self, request: Request<WriteRequest>) -> Result<Response<WriteResponse>, Status> {
        let request = request.into_inner();
        let write = || self.shared.change(|device, now| device.write(&request, now));
        let is_short = request.updates.len() <= SMALL_BATCH && self.shared.keeping().fault.is_none();
        let changed = match is_short {
            true => write(),
            false => tokio::task::block_in_place(write),
        };
        let (written, kept) = changed.map_err(|refused| of_error(&refused))?;
        let written = match kept {
            Ok(()) => written,
            Err(error) => Err(Rejection::not_kept(written.err(), error, request.updates.len())),
        };
        written.map_err(|rejection| of_rejection(&rejection))?;
        Ok(Response::new(WriteResponse {}))
    }

    type ReadStream = tokio_stream::Iter<std::vec::IntoIter<Result<ReadResponse, Status>>>;

    async fn read(&self, request: Request<ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        let mut messages = Vec::new();
        let read = || {
            self.shared
                .call(|device, now| device.read(&request, now, &mut |message| messages.push(Ok(message))))
        };
        if let Err(rejection) = tokio::task::block_in_place(read) {
            messages.push(Err(of_rejection(&rejection)));
        }
        Ok(Response::new(tokio_stream::iter(messages)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let set = |device: &mut Device, now| device.set_pipeline_config(&request, now);
        let set = || match request.action() {
            Action::Verify => Ok((self.shared.call(set), Ok(()))),
            _ => self.shared.change(set),
        };
        let changed = tokio::task::block_in_place(set);
        let (set, kept) = changed.map_err(|refused| of_error(&refused))?;
        set.and(kept).map_err(|error| of_error(&error))?;
        Ok(Response::new(SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<GetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        let config = self.shared.call(|device, _| device.pipeline_config(&request));
        config.map(Response::new).map_err(|error| of_error(&error))
    }

    type StreamChannelStream = ReceiverStream<Result<StreamMessageResponse, Status>>;

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (stream, responses, sender) = self.shared.open_stream();
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            serve_stream(&shared, stream, request.into_inner(), &sender).await;
            shared.close_stream(stream);
        });
        Ok(Response::new(ReceiverStream::new(responses)))
    }

    async fn capabilities(
        &self,
        request: Request<CapabilitiesRequest>,
    ) -> Result<Response<CapabilitiesResponse>, Status> {
        let request = request.into_inner();
        let capabilities = self.shared.call(|device, _| device.capabilities(request));
        let mut capabilities = capabilities.map_err(|error| of_error(&error))?;
        capabilities.experimental = Some(self.shared.state_report().to_any());
        Ok(Response::new(capabilities))
    }
}

/// Takes a controller's messages until it goes, or sends something that ends the stream.
async fn serve_stream(
    shared: &Shared,
    stream: StreamId,
    requests: impl Stream<Item = Result<StreamMessageRequest, Status>>,
    sender: &ToStream,
) {
    let mut requests = std::pin::pin!(requests);
    loop {
        let next = tokio_stream::StreamExt::next(&mut requests);
        let message = tokio::select! {
            message = next => message,
            () = sender.messages.closed() => return,
            () = sender.end.notified() => return,
        };
        let Some(Ok(message)) = message else { return };
        let taken = shared.call(|device, now| device.stream_message(stream, message, now));
        if let Err(error) = taken {
            // The controller may have gone already.
            let _ = sender.messages.send(Err(of_error(&error))).await;
            return;
        }
    }
}
