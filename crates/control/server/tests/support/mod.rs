//! A server over a device, and a disk that may be full.

use forebay_p4runtime::{Device, Event, Keeper, Now, Settings};
use forebay_pipeline::Pipeline;
use forebay_protocol::p4::v1::Uint128;
use forebay_server::{CpuPort, Environment, Options, Running, link, start};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const PROGRAM: &str = include_str!("../../../../../tests/clients/entities.p4");
pub const ELECTION: Uint128 = Uint128 { high: 0, low: 1 };

pub struct Bed {
    pub server: Running,
    pub port: CpuPort,
    pub installed: Arc<Mutex<Vec<Arc<Pipeline>>>>,
}

pub fn bed() -> Bed {
    bed_with(None)
}

pub fn bed_with(keeper: Option<Box<dyn Keeper>>) -> Bed {
    let (port, _, link) = link().unwrap();
    let device = Device::new(Settings {
        device_id: 1,
        cpu_port: Some(510),
        keeps_state: keeper.is_some(),
        ..Settings::default()
    });
    let installed = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&installed);
    let began = Instant::now();
    let environment = Environment {
        now: Box::new(move || Now {
            switch_ns: began.elapsed().as_nanos() as u64,
            epoch_ns: 0,
        }),
        install: Box::new(move |pipeline| list.lock().unwrap().push(pipeline)),
        wait_installed: Box::new(|| ()),
        confine: Box::new(|| Ok(())),
        keeper,
        ports: Vec::new(),
        enable_port: Box::new(|_, _| ()),
        learned: None,
    };
    let options = Options {
        address: Some("127.0.0.1:0".parse().unwrap()),
        tls: None,
        keep_period: Duration::from_secs(60),
        limits: forebay_server::Limits::default(),
        access: forebay_server::Access::default(),
    };
    let server = start(&options, device, link, environment).unwrap();
    Bed {
        server,
        port,
        installed,
    }
}

/// A disk that is full while this is true, and the messages about it.
#[derive(Clone, Default)]
pub struct Full {
    pub is_full: Arc<AtomicBool>,
    pub is_behind: Arc<AtomicBool>,
    pub events: Arc<Mutex<Vec<String>>>,
}

impl Full {
    fn kept(&self) -> Result<(), String> {
        let is_full = self.is_full.load(Ordering::SeqCst);
        self.is_behind.fetch_or(is_full, Ordering::SeqCst);
        if is_full {
            Err("no space left".to_string())
        } else {
            Ok(())
        }
    }
}

impl Keeper for Full {
    fn keep(&mut self, _batch: &[u8]) -> Result<(), String> {
        assert!(self.takes_batches(), "a batch follows a gap");
        self.kept()
    }

    fn keep_all(&mut self, _state: &[u8]) -> Result<(), String> {
        self.kept()?;
        self.is_behind.store(false, Ordering::SeqCst);
        Ok(())
    }

    fn takes_batches(&self) -> bool {
        !self.is_behind.load(Ordering::SeqCst)
    }

    fn tell(&mut self, event: &Event) {
        self.events.lock().unwrap().push(event.to_string());
    }
}
