//! The calls of gNMI.

use crate::Switch;
use crate::generated::g_nmi_server::GNmi;
use crate::leaves::{self, Leaf, Model, is_in_schema, is_of_a_model, steps, written};
use crate::set;
use crate::subscription::{Due, Subscription};
use forebay_protocol::gnmi::get_request::DataType;
use forebay_protocol::gnmi::subscribe_request::Request as Asked;
use forebay_protocol::gnmi::subscribe_response::Response as Told;
use forebay_protocol::gnmi::subscription_list::Mode;
use forebay_protocol::gnmi::{
    CapabilityRequest, CapabilityResponse, Encoding, GetRequest, GetResponse, ModelData, Notification, Path, PathElem,
    SetRequest, SetResponse, SubscribeRequest, SubscribeResponse, SubscriptionList, Update,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

const VERSION: &str = "0.10.0";

/// How often it is looked for changes.
const LOOK: Duration = Duration::from_millis(50);

/// Values in the answer to a Get or of a stream's subscriptions, and paths in a request: what one call may cost others.
const VALUES_MAX: usize = 65_536;
const PATHS_MAX: usize = 1024;

/// Bytes of memory that a value of an answer takes, about.
const VALUE_BYTES: usize = 1024;

/// Responses that may wait for a client; one that does not read is waited for.
const RESPONSES_MAX: usize = 4;

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
        let encoding = encoding(request.encoding)?;
        let wanted_type = DataType::try_from(request.r#type)
            .map_err(|_| Status::invalid_argument(format!("there is no type {} of values", request.r#type)))?;
        let mut all = leaves_of(&*self.switch);
        keep_models(&mut all, &request.use_models)?;
        let prefix = request.prefix.as_ref();
        let mut notifications = Vec::new();
        let mut values = 0;
        for path in &request.path {
            let wanted = known(prefix, Some(path))?;
            let meant: Vec<Leaf> = all.iter().filter(|leaf| leaf.is_meant_by(&wanted)).cloned().collect();
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
            notifications.push(notification(of_type, prefix, encoding, self.switch.epoch_ns()));
        }
        let mut answer = Response::new(GetResponse {
            notification: notifications,
            ..GetResponse::default()
        });
        self.switch
            .note_answer(&call, answer.extensions_mut(), values * VALUE_BYTES)?;
        Ok(answer)
    }

    async fn set(&self, request: Request<SetRequest>) -> Result<Response<SetResponse>, Status> {
        self.switch.may_administer(request.extensions())?;
        let request = request.into_inner();
        check_paths(request.delete.len() + request.replace.len() + request.update.len())?;
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
    let mode = Mode::try_from(list.mode)
        .map_err(|_| Status::invalid_argument(format!("there is no mode {} of subscribing", list.mode)))?;
    let list = Subscribed::new(list)?;
    match mode {
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

/// What a stream has subscribed to, checked.
struct Subscribed {
    list: SubscriptionList,
    /// For each subscription.
    steps: Vec<Vec<PathElem>>,
}

impl Subscribed {
    fn new(list: SubscriptionList) -> Result<Subscribed, Status> {
        if list.subscription.is_empty() {
            return Err(Status::invalid_argument("nothing is subscribed to"));
        }
        check_paths(list.subscription.len())?;
        // Paths of other models are refused at once, instead of being accepted and never reported.
        keep_models(&mut Vec::new(), &list.use_models)?;
        let wanted = list.subscription.iter();
        let steps = wanted.map(|subscription| known(list.prefix.as_ref(), subscription.path.as_ref()));
        Ok(Subscribed {
            steps: steps.collect::<Result<_, _>>()?,
            list,
        })
    }

    /// Every value of the models that are wanted.
    fn leaves(&self, switch: &impl Switch) -> Result<Vec<Leaf>, Status> {
        self.kept(leaves_of(switch))
    }

    /// The values that are of these models.
    fn kept(&self, mut all: Vec<Leaf>) -> Result<Vec<Leaf>, Status> {
        keep_models(&mut all, &self.list.use_models)?;
        Ok(all)
    }

    /// The values that are subscribed to.
    fn meant(&self, all: &[Leaf]) -> Vec<Leaf> {
        let is_meant = |leaf: &&Leaf| self.steps.iter().any(|steps| leaf.is_meant_by(steps));
        all.iter().filter(is_meant).cloned().collect()
    }
}

fn check_paths(count: usize) -> Result<(), Status> {
    match count {
        ..=PATHS_MAX => Ok(()),
        _ => Err(Status::resource_exhausted(format!(
            "a request has at most {PATHS_MAX} paths, not {count}"
        ))),
    }
}

/// The steps of a path of the schema.
///
/// # Errors
/// `UNIMPLEMENTED` when there is no such thing here (§3.3.4, §3.5.2.4); others when it is no path. With the path of no
/// model ONOS asks whether a switch serves gNMI: one that says `UNIMPLEMENTED` does not.
fn known(prefix: Option<&Path>, path: Option<&Path>) -> Result<Vec<PathElem>, Status> {
    let steps = steps(prefix, path)?;
    if is_in_schema(&steps) {
        return Ok(steps);
    }
    let path = written(&steps);
    if is_of_a_model(&steps) {
        return Err(Status::unimplemented(format!("there is no {path} here")));
    }
    Err(Status::invalid_argument(format!("no model of OpenConfig has {path}")))
}

/// Whether a path may mean several values by a wildcard.
fn has_wildcard(steps: &[PathElem]) -> bool {
    let is_wild = |step: &PathElem| step.name == "*" || step.name == "..." || step.key.values().any(|key| key == "*");
    steps.iter().any(is_wild)
}

/// Leaves out what is not of the models that a client uses (§2.6); without any, all are.
fn keep_models(leaves: &mut Vec<Leaf>, used: &[ModelData]) -> Result<(), Status> {
    let find = |wanted: &ModelData| Model::ALL.into_iter().find(|model| model.name() == wanted.name);
    let mut models = Vec::new();
    for wanted in used {
        let unknown = || Status::unimplemented(format!("there is no model `{}` here", wanted.name));
        models.push(find(wanted).ok_or_else(unknown)?);
    }
    leaves.retain(|leaf| models.is_empty() || models.contains(&leaf.model));
    Ok(())
}

/// Tells every value that is subscribed to, and that this was all.
async fn tell_all(
    switch: &impl Switch,
    subscribed: &Subscribed,
    encoding: Encoding,
    to_client: &ToClient,
) -> Result<(), Status> {
    if !subscribed.list.updates_only {
        let meant = subscribed.meant(&subscribed.leaves(switch)?);
        tell(switch, subscribed, encoding, updates(meant), to_client).await?;
    }
    send(to_client, Told::SyncResponse(true)).await
}

/// Tells values as they change or are sampled, until the client goes. A client that says that it sends no more still
/// receives.
async fn stream(
    switch: &impl Switch,
    subscribed: &Subscribed,
    encoding: Encoding,
    mut requests: Streaming<SubscribeRequest>,
    to_client: &ToClient,
) -> Result<(), Status> {
    let interfaces = switch.interfaces().all();
    let begin = subscribed.kept(leaves::all(&interfaces))?;
    let list = &subscribed.list;
    let begin_ns = switch.switch_ns();
    let mut subscriptions = Vec::new();
    let mut values = 0;
    for wanted in &list.subscription {
        let subscription = Subscription::new(list.prefix.as_ref(), wanted, (&interfaces, &begin), begin_ns)?;
        values += subscription.values();
        if values > VALUES_MAX {
            return Err(Status::resource_exhausted(format!(
                "the subscriptions of a stream have at most {VALUES_MAX} values"
            )));
        }
        subscriptions.push(subscription);
    }
    if !list.updates_only {
        tell(
            switch,
            subscribed,
            encoding,
            updates(subscribed.meant(&begin)),
            to_client,
        )
        .await?;
    }
    send(to_client, Told::SyncResponse(true)).await?;
    let mut is_sending = true;
    loop {
        let next_ns = subscriptions
            .iter()
            .map(Subscription::sample_ns)
            .min()
            .unwrap_or(u64::MAX);
        let wait = LOOK.min(Duration::from_nanos(next_ns.saturating_sub(switch.switch_ns())));
        tokio::select! {
            request = requests.next(), if is_sending => match request {
                Some(Ok(_)) => return Err(Status::invalid_argument("the stream has its subscription already")),
                Some(Err(status)) => return Err(status),
                None => is_sending = false,
            },
            () = to_client.closed() => return Ok(()),
            () = tokio::time::sleep(wait) => {}
        }
        let (all, now_ns) = (subscribed.leaves(switch)?, switch.switch_ns());
        for subscription in &mut subscriptions {
            let due = subscription.due(&all, now_ns);
            tell(switch, subscribed, encoding, due, to_client).await?;
        }
    }
}

async fn tell(
    switch: &impl Switch,
    subscribed: &Subscribed,
    encoding: Encoding,
    Due { updates, deletes }: Due,
    to_client: &ToClient,
) -> Result<(), Status> {
    if updates.is_empty() && deletes.is_empty() {
        return Ok(());
    }
    let notification = Notification {
        delete: deletes,
        ..notification(
            updates.iter(),
            subscribed.list.prefix.as_ref(),
            encoding,
            switch.epoch_ns(),
        )
    };
    send(to_client, Told::Update(notification)).await
}

fn updates(updates: Vec<Leaf>) -> Due {
    Due {
        updates,
        ..Due::default()
    }
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

/// Every value of all ports.
fn leaves_of(switch: &impl Switch) -> Vec<Leaf> {
    leaves::all(&switch.interfaces().all())
}
