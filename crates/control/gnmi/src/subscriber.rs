//! A client's stream: what it has subscribed to, and what it is told.
//!
//! A client that does not read is waited for. Nothing is made for it before it has taken what was made before, so that
//! its stream takes the memory of one response, about that of its values; and it then hears how things are by then.
//! How many values the streams of one connection may have together is limited.

use crate::interfaces::Interface;
use crate::leaves::{self, Leaf, VALUES_MAX};
use crate::messages::{check_paths, encoding, keep_models, known, notification};
use crate::subscription::{Due, Subscription, due, meant_places};
use crate::{Switch, values_of, work_on};
use forebay_protocol::gnmi::subscribe_request::Request as Asked;
use forebay_protocol::gnmi::subscribe_response::Response as Told;
use forebay_protocol::gnmi::subscription_list::Mode;
use forebay_protocol::gnmi::{Encoding, Notification, PathElem, SubscribeRequest, SubscribeResponse, SubscriptionList};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

type Queued = Result<SubscribeResponse, Status>;

/// The way to a client.
pub(crate) struct ToClient {
    responses: mpsc::Sender<Queued>,
    values: Arc<Values>,
}

/// What a client reads.
pub(crate) struct Responses {
    responses: mpsc::Receiver<Queued>,
    /// They count as long as a response may wait.
    _values: Arc<Values>,
}

/// The values of a stream among those of all streams of its connection.
struct Values {
    of_connection: Arc<AtomicUsize>,
    own: AtomicUsize,
}

impl Values {
    /// Counts values of this stream until it has ended.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` when the streams of its connection would have too many.
    fn add(&self, count: usize) -> Result<(), Status> {
        let all = self.of_connection.fetch_add(count, Ordering::Relaxed) + count;
        self.own.fetch_add(count, Ordering::Relaxed);
        if all <= VALUES_MAX {
            return Ok(());
        }
        self.of_connection.fetch_sub(count, Ordering::Relaxed);
        self.own.fetch_sub(count, Ordering::Relaxed);
        Err(Status::resource_exhausted(format!(
            "the streams of a connection are subscribed to at most {VALUES_MAX} values together: end others, or open \
             another connection"
        )))
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        let own = self.own.load(Ordering::Relaxed);
        self.of_connection.fetch_sub(own, Ordering::Relaxed);
    }
}

impl Responses {
    /// Both ends of a stream; `of_connection` is how many values the streams of its connection are subscribed to.
    pub(crate) fn channel(of_connection: Arc<AtomicUsize>) -> (ToClient, Responses) {
        let (sender, receiver) = mpsc::channel(1);
        let values = Arc::new(Values {
            of_connection,
            own: AtomicUsize::new(0),
        });
        let to_client = ToClient {
            responses: sender,
            values: Arc::clone(&values),
        };
        let responses = Responses {
            responses: receiver,
            _values: values,
        };
        (to_client, responses)
    }
}

impl Stream for Responses {
    type Item = Queued;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Queued>> {
        self.responses.poll_recv(context)
    }
}

impl ToClient {
    /// Room for a response, when the client has taken the one before.
    async fn room(&self) -> Result<mpsc::Permit<'_, Queued>, Status> {
        let room = self.responses.reserve().await;
        room.map_err(|_| Status::cancelled("the client has gone"))
    }

    /// Says why the stream ends. The client may have gone already.
    pub(crate) async fn end_with(&self, status: Status) {
        let _ = self.responses.send(Err(status)).await;
    }
}

/// Serves a stream until its client goes.
///
/// # Errors
/// The status with which the stream ends.
pub(crate) async fn serve<S: Switch>(
    switch: (&S, &S::Caller),
    mut requests: impl Stream<Item = Result<SubscribeRequest, Status>> + Unpin,
    to_client: &ToClient,
) -> Result<(), Status> {
    let first = requests.next().await.transpose()?.and_then(|request| request.request);
    let Some(Asked::Subscribe(list)) = first else {
        return Err(Status::invalid_argument("a stream begins with what is subscribed to"));
    };
    let mode = Mode::try_from(list.mode)
        .map_err(|_| Status::invalid_argument(format!("there is no mode {} of subscribing", list.mode)))?;
    let subscriber = Subscriber::new(switch, list, to_client)?;
    match mode {
        Mode::Once => subscriber.tell_first().await,
        Mode::Poll => {
            subscriber.tell_first().await?;
            while let Some(request) = requests.next().await.transpose()? {
                check_poll(&request)?;
                subscriber.tell_all().await?;
            }
            Ok(())
        }
        Mode::Stream => subscriber.stream(requests).await,
    }
}

fn check_poll(request: &SubscribeRequest) -> Result<(), Status> {
    match request.request {
        Some(Asked::Poll(_)) => Ok(()),
        _ => Err(Status::invalid_argument("the stream has its subscription already")),
    }
}

/// A client with what it has subscribed to, checked.
struct Subscriber<'a, S: Switch> {
    switch: &'a S,
    caller: &'a S::Caller,
    to_client: &'a ToClient,
    encoding: Encoding,
    list: SubscriptionList,
    /// For each subscription.
    steps: Vec<Vec<PathElem>>,
}

impl<S: Switch> Subscriber<'_, S> {
    fn new<'a>(
        (switch, caller): (&'a S, &'a S::Caller),
        list: SubscriptionList,
        to_client: &'a ToClient,
    ) -> Result<Subscriber<'a, S>, Status> {
        let encoding = match encoding(list.encoding)? {
            // JSON is also what a client has that says nothing; those (finsy) expect values of their own types, as
            // Stratum sends them, and those that do say JSON read them too.
            Encoding::Json => Encoding::Proto,
            encoding => encoding,
        };
        if list.subscription.is_empty() {
            return Err(Status::invalid_argument("nothing is subscribed to"));
        }
        check_paths(list.subscription.len())?;
        // Paths of other models are refused at once, instead of being accepted and never reported.
        keep_models(&mut Vec::new(), &list.use_models)?;
        let wanted = list.subscription.iter();
        let steps = wanted.map(|subscription| known(list.prefix.as_ref(), subscription.path.as_ref()));
        Ok(Subscriber {
            switch,
            caller,
            to_client,
            encoding,
            steps: steps.collect::<Result<_, _>>()?,
            list,
        })
    }

    /// The values at these places of the models that are wanted.
    fn at(&self, interfaces: &[Interface], places: &[usize]) -> Result<Vec<Leaf>, Status> {
        let mut found = leaves::at_places(interfaces, places);
        keep_models(&mut found, &self.list.use_models)?;
        Ok(found)
    }

    /// The places of the values that are subscribed to, in order.
    fn meant(&self, interfaces: &[Interface]) -> Vec<usize> {
        let mut is_meant = vec![false; leaves::count(interfaces.len())];
        for steps in &self.steps {
            for place in leaves::places(interfaces, steps) {
                is_meant[place] = true;
            }
        }
        (0..is_meant.len()).filter(|place| is_meant[*place]).collect()
    }

    /// The values that are subscribed to, as they are now.
    fn present(&self) -> Result<Vec<Leaf>, Status> {
        let interfaces = self.switch.interfaces().all();
        self.at(&interfaces, &self.meant(&interfaces))
    }

    /// Does work on the values of this number of paths, aside if that takes long.
    async fn work_on<R: Send>(&self, paths: usize, work: impl FnOnce() -> R + Send) -> R {
        work_on((self.switch, self.caller), values_of(self.switch, paths), work).await
    }

    /// Tells every value for the first time, and that this was all.
    async fn tell_first(&self) -> Result<(), Status> {
        let present = self.work_on(self.steps.len(), || self.present()).await?;
        self.to_client.values.add(present.len())?;
        self.tell_all().await
    }

    /// Tells every value that is subscribed to, and that this was all.
    async fn tell_all(&self) -> Result<(), Status> {
        if !self.list.updates_only {
            let room = self.to_client.room().await?;
            let tell = || -> Result<Option<Notification>, Status> {
                let updates = self.present()?;
                Ok((!updates.is_empty()).then(|| self.notification(&updates)))
            };
            if let Some(notification) = self.work_on(self.steps.len(), tell).await? {
                room.send(Ok(told(Told::Update(notification))));
            }
        }
        self.send_sync_response().await
    }

    async fn send_sync_response(&self) -> Result<(), Status> {
        self.to_client.room().await?.send(Ok(told(Told::SyncResponse(true))));
        Ok(())
    }

    /// Tells values as they change or are sampled, until the client goes. A client that says that it sends no more
    /// still receives.
    async fn stream(
        &self,
        mut requests: impl Stream<Item = Result<SubscribeRequest, Status>> + Unpin,
    ) -> Result<(), Status> {
        let (mut subscriptions, first) = self.work_on(self.steps.len(), || self.begin()).await?;
        let places = meant_places(&subscriptions);
        if let Some(first) = first {
            self.to_client.room().await?.send(Ok(told(Told::Update(first))));
        }
        self.send_sync_response().await?;
        let mut is_sending = true;
        loop {
            tokio::select! {
                request = requests.next(), if is_sending => match request {
                    Some(Ok(_)) => return Err(Status::invalid_argument("the stream has its subscription already")),
                    Some(Err(status)) => return Err(status),
                    None => is_sending = false,
                },
                () = self.to_client.responses.closed() => return Ok(()),
                () = tokio::time::sleep(self.pause(&subscriptions)) => {}
            }
            let room = self.to_client.room().await?;
            let look = || self.look(&mut subscriptions, &places);
            let due = work_on((self.switch, self.caller), places.len(), look).await?;
            if let Some(notification) = due {
                room.send(Ok(told(Told::Update(notification))));
            }
        }
    }

    /// The subscriptions of a stream, and a notification of what is there as they begin.
    fn begin(&self) -> Result<(Vec<Subscription>, Option<Notification>), Status> {
        let interfaces = self.switch.interfaces().all();
        let meant = self.at(&interfaces, &self.meant(&interfaces))?;
        let now_ns = self.switch.switch_ns();
        let mut subscriptions = Vec::new();
        for wanted in &self.list.subscription {
            let subscription = Subscription::new(self.list.prefix.as_ref(), wanted, (&interfaces, &meant), now_ns)?;
            self.to_client.values.add(subscription.values())?;
            subscriptions.push(subscription);
        }
        let is_to_tell = !self.list.updates_only && !meant.is_empty();
        Ok((subscriptions, is_to_tell.then(|| self.notification(&meant))))
    }

    /// The time until the next look.
    fn pause(&self, subscriptions: &[Subscription]) -> Duration {
        let now_ns = self.switch.switch_ns();
        let next_ns = subscriptions
            .iter()
            .map(|subscription| subscription.next_look_ns(now_ns));
        Duration::from_nanos(next_ns.min().unwrap_or(u64::MAX).saturating_sub(now_ns))
    }

    /// What is to be told now, if anything is, of the values at these places.
    fn look(&self, subscriptions: &mut [Subscription], places: &[usize]) -> Result<Option<Notification>, Status> {
        let interfaces = self.switch.interfaces().all();
        let meant = self.at(&interfaces, places)?;
        let Due { updates, deletes } = due(subscriptions, &meant, self.switch.switch_ns());
        if updates.is_empty() && deletes.is_empty() {
            return Ok(None);
        }
        let deletes = deletes.into_iter();
        Ok(Some(Notification {
            delete: deletes
                .filter_map(|place| leaves::path_of(&interfaces, place))
                .collect(),
            ..self.notification(&updates)
        }))
    }

    fn notification(&self, updates: &[Leaf]) -> Notification {
        notification(
            updates.iter(),
            self.list.prefix.as_ref(),
            self.encoding,
            self.switch.epoch_ns(),
        )
    }
}

fn told(told: Told) -> SubscribeResponse {
    SubscribeResponse {
        response: Some(told),
        ..SubscribeResponse::default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::interfaces::{Interfaces, PortInfo};
    use crate::leaves::tests::path;
    use crate::{Done, Work};
    use forebay_protocol::gnmi::typed_value::Value;
    use forebay_protocol::gnmi::{Subscription as Wanted, SubscriptionMode};
    use tonic::{Code, Extensions};

    const MOMENT: Duration = Duration::from_millis(150);

    /// A switch without anything around it.
    pub(crate) struct Ports {
        interfaces: Interfaces,
        /// Pieces of work that were done aside.
        pub(crate) asides: AtomicUsize,
    }

    impl Ports {
        /// Ports named `eth1` and so on.
        pub(crate) fn new(count: u32) -> Ports {
            let info = |number| PortInfo {
                number,
                name: format!("eth{number}"),
                ..PortInfo::default()
            };
            Ports {
                interfaces: Interfaces::new((1..=count).map(info).collect(), 0),
                asides: AtomicUsize::new(0),
            }
        }
    }

    impl Switch for Ports {
        type Caller = ();

        fn caller(&self, _: &Extensions) {}

        fn aside<'a>(&'a self, (): &'a (), work: Work<'a>) -> Done<'a> {
            self.asides.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move { work() })
        }

        fn interfaces(&self) -> &Interfaces {
            &self.interfaces
        }

        fn enable_port(&self, port: u32, is_enabled: bool) {
            self.interfaces.enable(port, is_enabled, 0);
        }

        fn epoch_ns(&self) -> i64 {
            0
        }

        fn switch_ns(&self) -> u64 {
            0
        }

        fn may_read(&self, _: &Extensions) -> Result<(), Status> {
            Ok(())
        }

        fn may_answer(&self, _: &Extensions) -> Result<(), Status> {
            Ok(())
        }

        fn note_answer(&self, _: &Extensions, _: &mut Extensions, _: usize) {}

        fn subscribed_values(&self, _: &Extensions) -> Arc<AtomicUsize> {
            Arc::default()
        }

        fn may_administer(&self, _: &Extensions) -> Result<(), Status> {
            Ok(())
        }
    }

    /// The requests of a client that wants to know when ports go down and come up.
    fn requests() -> impl Stream<Item = Result<SubscribeRequest, Status>> + Unpin {
        let wanted = Wanted {
            path: Some(path("interfaces/interface[name=*]/state/oper-status")),
            mode: SubscriptionMode::OnChange.into(),
            ..Wanted::default()
        };
        let list = SubscriptionList {
            subscription: vec![wanted],
            ..SubscriptionList::default()
        };
        let request = SubscribeRequest {
            request: Some(Asked::Subscribe(list)),
            ..SubscribeRequest::default()
        };
        tokio_stream::iter([Ok(request)])
    }

    /// The value of a response's only update; none when it says that all was told.
    fn value(response: Queued) -> Option<Value> {
        match response.expect("the stream goes on").response {
            Some(Told::Update(mut notification)) => {
                assert_eq!(notification.update.len(), 1);
                notification.update.remove(0).val.and_then(|val| val.value)
            }
            _ => None,
        }
    }

    #[tokio::test]
    async fn who_does_not_read_is_told_later_how_things_are_then() {
        let switch = Ports::new(1);
        let of_connection = Arc::<AtomicUsize>::default();
        let (to_client, mut responses) = Responses::channel(Arc::clone(&of_connection));
        let client = async {
            let status = |status: &str| Some(Value::StringVal(status.to_string()));
            assert_eq!(responses.next().await.map(value), Some(status("UP")));
            assert_eq!(responses.next().await.map(value), Some(None));
            assert_eq!(of_connection.load(Ordering::Relaxed), 1);
            for is_enabled in [false, true, false, true] {
                switch.enable_port(1, is_enabled);
                tokio::time::sleep(MOMENT).await;
            }
            assert_eq!(responses.next().await.map(value), Some(status("DOWN")));
            assert_eq!(responses.next().await.map(value), Some(status("UP")));
            let more = tokio::time::timeout(MOMENT, responses.next()).await;
            assert!(more.is_err(), "what came and went between is not told");
        };
        tokio::select! {
            ended = serve((&switch, &()), requests(), &to_client) => panic!("it ended: {ended:?}"),
            () = client => {}
        }
        drop((to_client, responses));
        assert_eq!(of_connection.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn the_streams_of_a_connection_have_so_many_values_together() {
        let of_connection = Arc::<AtomicUsize>::default();
        let (first, to_read) = Responses::channel(Arc::clone(&of_connection));
        let (second, _) = Responses::channel(of_connection);
        first.values.add(VALUES_MAX - 1).unwrap();
        assert_eq!(
            second.values.add(2).map_err(|status| status.code()),
            Err(Code::ResourceExhausted)
        );
        assert!(second.values.add(1).is_ok(), "nothing of what was refused counts");
        drop(first);
        assert!(second.values.add(1).is_err(), "responses may wait still");
        drop(to_read);
        assert!(second.values.add(VALUES_MAX - 1).is_ok());
    }
}
