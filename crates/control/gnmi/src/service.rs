//! The calls of gNMI.

use crate::generated::g_nmi_server::GNmi;
use crate::leaves::{self, Model, VALUES_MAX, written};
use crate::messages::{self, check_paths, encoding, keep_models, known};
use crate::set;
use crate::subscriber::{self, Responses};
use crate::{Switch, values_of, work_on};
use forebay_protocol::gnmi::get_request::DataType;
use forebay_protocol::gnmi::{
    CapabilityRequest, CapabilityResponse, Encoding, GetRequest, GetResponse, ModelData, PathElem, SetRequest,
    SetResponse, SubscribeRequest, SubscribeResponse,
};
use std::pin::Pin;
use std::sync::Arc;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

const VERSION: &str = "0.10.0";

/// Bytes of memory that a value of an answer takes, about.
const VALUE_BYTES: usize = 1024;

/// Serves calls by what is known of the ports.
pub struct GnmiService<S> {
    switch: Arc<S>,
}

impl<S: Switch> GnmiService<S> {
    /// Serves the ports of a switch.
    pub fn new(switch: Arc<S>) -> GnmiService<S> {
        GnmiService { switch }
    }

    /// The answer to a request, and how many values it has.
    fn read(&self, request: &GetRequest) -> Result<(GetResponse, usize), Status> {
        let encoding = encoding(request.encoding)?;
        let wanted_type = DataType::try_from(request.r#type)
            .map_err(|_| Status::invalid_argument(format!("there is no type {} of values", request.r#type)))?;
        let interfaces = self.switch.interfaces().all();
        // Models that are not here are refused also without paths.
        keep_models(&mut Vec::new(), &request.use_models)?;
        let prefix = request.prefix.as_ref();
        let mut notification = Vec::new();
        let mut values = 0;
        for path in &request.path {
            let wanted = known(prefix, Some(path))?;
            let mut meant = leaves::at_places(&interfaces, &leaves::places(&interfaces, &wanted));
            keep_models(&mut meant, &request.use_models)?;
            // A wildcard may stand for nothing, as in a switch without ports.
            if meant.is_empty() && !has_wildcard(&wanted) {
                return Err(Status::not_found(format!("there is no value at {}", written(&wanted))));
            }
            values += meant.len();
            if values > VALUES_MAX {
                return Err(Status::resource_exhausted(format!(
                    "an answer has at most {VALUES_MAX} values: ask for less at once"
                )));
            }
            let of_type = meant.iter().filter(|leaf| leaf.is_of_type(wanted_type));
            notification.push(messages::notification(
                of_type,
                prefix,
                encoding,
                self.switch.epoch_ns(),
            ));
        }
        let answer = GetResponse {
            notification,
            ..GetResponse::default()
        };
        Ok((answer, values))
    }
}

#[tonic::async_trait]
impl<S: Switch> GNmi for GnmiService<S> {
    async fn capabilities(&self, _: Request<CapabilityRequest>) -> Result<Response<CapabilityResponse>, Status> {
        let model = |model: Model| ModelData {
            name: model.name().to_string(),
            organization: "OpenConfig working group".to_string(),
            version: model.version().to_string(),
        };
        let encodings = [Encoding::Proto, Encoding::Json, Encoding::JsonIetf, Encoding::Ascii];
        Ok(Response::new(CapabilityResponse {
            supported_models: Model::ALL.map(model).to_vec(),
            supported_encodings: encodings.map(i32::from).to_vec(),
            g_nmi_version: VERSION.to_string(),
            extension: Vec::new(),
        }))
    }

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        self.switch.may_read(request.extensions())?;
        let (_, call, request) = request.into_parts();
        check_paths(request.path.len())?;
        self.switch.may_answer(&call)?;
        let caller = self.switch.caller(&call);
        let values = values_of(&*self.switch, request.path.len());
        let read = work_on((&*self.switch, &caller), values, || self.read(&request)).await;
        let (answer, values) = read?;
        // Other calls of the client may have been answered meanwhile.
        self.switch.may_answer(&call)?;
        let mut answer = Response::new(answer);
        self.switch
            .note_answer(&call, answer.extensions_mut(), values * VALUE_BYTES);
        Ok(answer)
    }

    async fn set(&self, request: Request<SetRequest>) -> Result<Response<SetResponse>, Status> {
        self.switch.may_administer(request.extensions())?;
        let (_, call, request) = request.into_parts();
        let paths = request.delete.len() + request.replace.len() + request.update.len();
        check_paths(paths)?;
        let caller = self.switch.caller(&call);
        let values = values_of(&*self.switch, paths);
        let read = || set::read(&request, &self.switch.interfaces().all());
        let (changes, results) = work_on((&*self.switch, &caller), values, read).await?;
        for change in changes {
            self.switch.enable_port(change.number, change.is_enabled);
        }
        Ok(Response::new(SetResponse {
            prefix: request.prefix,
            response: results,
            timestamp: self.switch.epoch_ns(),
            ..SetResponse::default()
        }))
    }

    type SubscribeStream = Pin<Box<dyn Stream<Item = Result<SubscribeResponse, Status>> + Send>>;

    async fn subscribe(
        &self,
        request: Request<Streaming<SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        self.switch.may_read(request.extensions())?;
        let of_connection = self.switch.subscribed_values(request.extensions());
        let caller = self.switch.caller(request.extensions());
        let (to_client, responses) = Responses::channel(of_connection);
        let switch = Arc::clone(&self.switch);
        tokio::spawn(async move {
            if let Err(status) = subscriber::serve((&*switch, &caller), request.into_inner(), &to_client).await {
                to_client.end_with(status).await;
            }
        });
        let responses: Self::SubscribeStream = Box::pin(responses);
        Ok(Response::new(responses))
    }
}

/// Whether a path may mean several values by a wildcard.
fn has_wildcard(steps: &[PathElem]) -> bool {
    let is_wild = |step: &PathElem| step.name == "*" || step.name == "..." || step.key.values().any(|key| key == "*");
    steps.iter().any(is_wild)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaves::tests::path;
    use crate::subscriber::tests::Ports;
    use std::sync::atomic::Ordering;

    #[tokio::test]
    async fn requests_for_thousands_of_values_are_answered_aside() {
        let switch = Arc::new(Ports::new(64));
        let service = GnmiService::new(Arc::clone(&switch));
        let get = |paths: usize| {
            let request = GetRequest {
                path: vec![path("interfaces/interface[name=eth7]/state/id"); paths],
                ..GetRequest::default()
            };
            service.get(Request::new(request))
        };
        for (paths, asides) in [(1, 0), (3, 1)] {
            let answer = get(paths).await.expect("there are such values").into_inner();
            assert!(
                answer
                    .notification
                    .iter()
                    .all(|notification| notification.update.len() == 1)
            );
            assert_eq!(
                (answer.notification.len(), switch.asides.load(Ordering::Relaxed)),
                (paths, asides)
            );
        }
    }
}
