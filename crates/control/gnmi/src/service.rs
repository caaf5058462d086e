//! The calls of gNMI.

use crate::Switch;
use crate::generated::g_nmi_server::GNmi;
use crate::leaves::{self, Leaf, steps};
use crate::set;
use crate::subscription::Subscription;
use forebay_protocol::gnmi::get_request::DataType;
use forebay_protocol::gnmi::subscribe_request::Request as Asked;
use forebay_protocol::gnmi::subscribe_response::Response as Told;
use forebay_protocol::gnmi::subscription_list::Mode;
use forebay_protocol::gnmi::{
    CapabilityRequest, CapabilityResponse, Encoding, GetRequest, GetResponse, ModelData, Notification, Path,
    SetRequest, SetResponse, SubscribeRequest, SubscribeResponse, SubscriptionList, Update,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

const VERSION: &str = "0.10.0";

/// How often it is looked for values that are due.
const LOOK: Duration = Duration::from_millis(50);

/// Responses that may wait for a client; one that does not read is waited for.
const RESPONSES_MAX: usize = 64;

type ToClient = mpsc::Sender<Result<SubscribeResponse, Status>>;

/// Serves calls by what is known of the ports.
pub struct GnmiService<S> {
    switch: Arc<S>,
}

impl<S: Switch> GnmiService<S> {
    /// Serves the ports of a switch.
    pub fn new(switch: Arc<S>) -> GnmiService<S> {
        GnmiService { switch }
    }
}

#[tonic::async_trait]
impl<S: Switch> GNmi for GnmiService<S> {
    async fn capabilities(&self, _: Request<CapabilityRequest>) -> Result<Response<CapabilityResponse>, Status> {
        let model = |name: &str| ModelData {
            name: name.to_string(),
            organization: "OpenConfig working group".to_string(),
            version: String::new(),
        };
        let encodings = [Encoding::Proto, Encoding::Json, Encoding::JsonIetf, Encoding::Ascii];
        Ok(Response::new(CapabilityResponse {
            supported_models: vec![model("openconfig-interfaces"), model("openconfig-if-ethernet")],
            supported_encodings: encodings.map(i32::from).to_vec(),
            g_nmi_version: VERSION.to_string(),
            extension: Vec::new(),
        }))
    }

    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        self.switch.may_read(request.extensions())?;
        let request = request.into_inner();
        let encoding = encoding(request.encoding)?;
        let all = leaves_of(&*self.switch);
        let prefix = request.prefix.as_ref();
        let mut notifications = Vec::new();
        for path in &request.path {
            let wanted = steps(prefix, Some(path));
            let meant: Vec<Leaf> = all.iter().filter(|leaf| leaf.is_meant_by(&wanted)).cloned().collect();
            if meant.is_empty() {
                return Err(Status::not_found(format!(
                    "there is no value at {}",
                    written(prefix, path)
                )));
            }
            let of_type = meant.iter().filter(|leaf| is_of_type(leaf, request.r#type()));
            notifications.push(notification(of_type, prefix, encoding, self.switch.epoch_ns()));
        }
        Ok(Response::new(GetResponse {
            notification: notifications,
            ..GetResponse::default()
        }))
    }

    async fn set(&self, request: Request<SetRequest>) -> Result<Response<SetResponse>, Status> {
        self.switch.may_administer(request.extensions())?;
        let request = request.into_inner();
        let (changes, results) = set::read(&request, &self.switch.interfaces().all())?;
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

    type SubscribeStream = ReceiverStream<Result<SubscribeResponse, Status>>;

    async fn subscribe(
        &self,
        request: Request<Streaming<SubscribeRequest>>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        self.switch.may_read(request.extensions())?;
        let (to_client, responses) = mpsc::channel(RESPONSES_MAX);
        let switch = Arc::clone(&self.switch);
        tokio::spawn(async move {
            if let Err(status) = serve(&*switch, request.into_inner(), &to_client).await {
                // The client may have gone already.
                let _ = to_client.send(Err(status)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(responses)))
    }
}

/// Serves a stream until its client goes.
async fn serve(
    switch: &impl Switch,
    mut requests: Streaming<SubscribeRequest>,
    to_client: &ToClient,
) -> Result<(), Status> {
    let first = requests.message().await?.and_then(|request| request.request);
    let Some(Asked::Subscribe(list)) = first else {
        return Err(Status::invalid_argument("a stream begins with what is subscribed to"));
    };
    let encoding = match encoding(list.encoding)? {
        // JSON is also what a client has that says nothing; those (finsy) expect values of their own types, as Stratum
        // sends them, and those that do say JSON read them too.
        Encoding::Json => Encoding::Proto,
        encoding => encoding,
    };
    match list.mode() {
        Mode::Once => tell_all(switch, &list, encoding, to_client).await,
        Mode::Poll => {
            tell_all(switch, &list, encoding, to_client).await?;
            while let Some(request) = requests.message().await? {
                check_poll(&request)?;
                tell_all(switch, &list, encoding, to_client).await?;
            }
            Ok(())
        }
        Mode::Stream => stream(switch, &list, encoding, requests, to_client).await,
    }
}

fn check_poll(request: &SubscribeRequest) -> Result<(), Status> {
    match request.request {
        Some(Asked::Poll(_)) => Ok(()),
        _ => Err(Status::invalid_argument("the stream has its subscription already")),
    }
}

/// Tells every value that is subscribed to, and that this was all.
async fn tell_all(
    switch: &impl Switch,
    list: &SubscriptionList,
    encoding: Encoding,
    to_client: &ToClient,
) -> Result<(), Status> {
    if !list.updates_only {
        tell(switch, list, encoding, &meant_by(list, &leaves_of(switch)), to_client).await?;
    }
    send(to_client, Told::SyncResponse(true)).await
}

/// The values that a list of subscriptions means.
fn meant_by(list: &SubscriptionList, all: &[Leaf]) -> Vec<Leaf> {
    let wanted: Vec<_> = list
        .subscription
        .iter()
        .map(|subscription| steps(list.prefix.as_ref(), subscription.path.as_ref()))
        .collect();
    let is_meant = |leaf: &&Leaf| wanted.iter().any(|steps| leaf.is_meant_by(steps));
    all.iter().filter(is_meant).cloned().collect()
}

/// Tells values as they change or are sampled.
async fn stream(
    switch: &impl Switch,
    list: &SubscriptionList,
    encoding: Encoding,
    mut requests: Streaming<SubscribeRequest>,
    to_client: &ToClient,
) -> Result<(), Status> {
    let begin = leaves_of(switch);
    let prefix = list.prefix.as_ref();
    let begin_ns = switch.switch_ns();
    let subscribed = list.subscription.iter();
    let mut subscriptions: Vec<Subscription> = subscribed
        .map(|wanted| Subscription::new(prefix, wanted, &begin, begin_ns))
        .collect();
    if !list.updates_only {
        tell(switch, list, encoding, &meant_by(list, &begin), to_client).await?;
    }
    send(to_client, Told::SyncResponse(true)).await?;
    let mut looks = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            request = requests.next() => match request {
                Some(Ok(_)) => return Err(Status::invalid_argument("the stream has its subscription already")),
                Some(Err(status)) => return Err(status),
                None => return Ok(()),
            },
            () = to_client.closed() => return Ok(()),
            _ = looks.tick() => {}
        }
        let (all, now_ns) = (leaves_of(switch), switch.switch_ns());
        for subscription in &mut subscriptions {
            let due = subscription.due(&all, now_ns);
            tell(switch, list, encoding, &due, to_client).await?;
        }
    }
}

async fn tell(
    switch: &impl Switch,
    list: &SubscriptionList,
    encoding: Encoding,
    leaves: &[Leaf],
    to_client: &ToClient,
) -> Result<(), Status> {
    if leaves.is_empty() {
        return Ok(());
    }
    let notification = notification(leaves.iter(), list.prefix.as_ref(), encoding, switch.epoch_ns());
    send(to_client, Told::Update(notification)).await
}

async fn send(to_client: &ToClient, told: Told) -> Result<(), Status> {
    let response = SubscribeResponse {
        response: Some(told),
        extension: Vec::new(),
    };
    to_client
        .send(Ok(response))
        .await
        .map_err(|_| Status::cancelled("the client has gone"))
}

/// Values as they are at a time. Paths are whole; of the client's prefix the target is repeated (§2.2.2.1).
fn notification<'a>(
    leaves: impl Iterator<Item = &'a Leaf>,
    prefix: Option<&Path>,
    encoding: Encoding,
    timestamp: i64,
) -> Notification {
    let update = leaves.map(|leaf| Update {
        path: Some(leaf.path()),
        val: Some(leaf.typed_value(encoding)),
        ..Update::default()
    });
    let target = prefix.filter(|prefix| !prefix.target.is_empty());
    Notification {
        timestamp,
        update: update.collect(),
        prefix: target.map(|prefix| Path {
            target: prefix.target.clone(),
            ..Path::default()
        }),
        ..Notification::default()
    }
}

fn encoding(number: i32) -> Result<Encoding, Status> {
    match Encoding::try_from(number) {
        Ok(Encoding::Bytes) | Err(_) => Err(Status::unimplemented("encodings are PROTO, JSON, JSON_IETF and ASCII")),
        Ok(encoding) => Ok(encoding),
    }
}

fn is_of_type(leaf: &Leaf, wanted: DataType) -> bool {
    match wanted {
        DataType::All => true,
        DataType::Config => leaf.names.contains(&"config"),
        DataType::State | DataType::Operational => leaf.names.contains(&"state"),
    }
}

/// A path for a message.
fn written(prefix: Option<&Path>, path: &Path) -> String {
    let steps = steps(prefix, Some(path));
    let step = |step: &forebay_protocol::gnmi::PathElem| {
        let keys = step.key.iter().map(|(name, value)| format!("[{name}={value}]"));
        format!("/{}{}", step.name, keys.collect::<String>())
    };
    steps.iter().map(step).collect()
}

/// Every value of all ports.
fn leaves_of(switch: &impl Switch) -> Vec<Leaf> {
    leaves::all(&switch.interfaces().all())
}
