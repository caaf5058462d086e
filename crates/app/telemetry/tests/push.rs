//! Batches on their way to databases: ones of ours that fail as told, and real ones where they are installed.

use forebay_telemetry::{Authorities, Exporter, Family, PushCounts, Pusher, Source, Target};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A request: its first line, its headers, its body.
type Request = (String, Vec<String>, String);

fn read_request(stream: &mut impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_string()),
        }
    }
    let length = lines.iter().find_map(|line| line.strip_prefix("content-length: "))?;
    let mut body = vec![0; length.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    let first = lines.remove(0);
    Some((first, lines, String::from_utf8(body).ok()?))
}

/// A database that answers with these status lines in turn, and then with 204.
fn database(answers: &'static [&'static str]) -> (SocketAddr, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut answers = answers.iter();
        for stream in listener.incoming().flatten() {
            let Some(request) = read_request(&mut &stream) else {
                continue;
            };
            let answer = answers.next().unwrap_or(&"204 No Content");
            let body = if answer.starts_with("204") { "" } else { "the reason" };
            let text = format!("HTTP/1.1 {answer}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = (&stream).write_all(text.as_bytes());
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (address, receiver)
}

/// An exporter that pushes to a target, with its log.
fn pushing(target: Target) -> (Exporter, Arc<Pusher>, Arc<Mutex<Vec<String>>>) {
    pushing_to(target, None)
}

fn pushing_to(target: Target, authorities: Option<Authorities>) -> (Exporter, Arc<Pusher>, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&said);
    let tell = move |text: &str| log.lock().expect("no panic").push(text.to_string());
    let pusher = Pusher::new(target, authorities, Box::new(tell));
    let mut exporter = Exporter::new(Duration::from_secs(3600), "test");
    exporter.push(Arc::clone(&pusher));
    exporter.start(source()).expect("a thread");
    (exporter, pusher, said)
}

fn source() -> Source {
    Arc::new(|| {
        let mut packets = Family::counter("forebay_port_sent_packets_total", "Packets.");
        packets.add(&[("port", &1), ("name", &"eth 0")], 7u64);
        vec![packets]
    })
}

#[test]
fn a_batch_is_tried_again_until_it_is_taken() {
    let (address, requests) = database(&["503 Service Unavailable", "429 Too Many Requests"]);
    let target = Target::influx(&format!("http://u:p@{address}?db=p4"), None).expect("a target");
    let (_exporter, pusher, said) = pushing(target);
    wait_for("the batch is taken", || pusher.counts().sent_batches == 1);
    let counts = pusher.counts();
    assert_eq!((counts.failures, counts.lost_batches, counts.problem), (2, 0, None));
    let said = said.lock().expect("no panic");
    assert_eq!(said.len(), 3, "both reasons and the end are told: {said:?}");
    assert!(said[0].contains("503 Service Unavailable: the reason"), "{said:?}");
    assert!(said[1].contains("429 Too Many Requests"), "{said:?}");
    let requests: Vec<Request> = requests.try_iter().collect();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| *request == requests[0]));
    let (first, headers, body) = &requests[0];
    assert_eq!(first, "POST /write?db=p4&precision=ns HTTP/1.1");
    assert!(
        headers.contains(&"authorization: Basic dTpw".to_string()),
        "{headers:?}"
    );
    assert!(
        body.contains("forebay_port_sent_packets_total,instance=test,port=1,name=eth\\ 0 value=7i "),
        "{body}"
    );
}

#[test]
fn what_a_database_refuses_is_lost_at_once() {
    let (address, requests) = database(&["400 Bad Request"]);
    let target = Target::influx(&format!("http://{address}?org=o&bucket=b"), Some("secret")).expect("a target");
    let (_exporter, pusher, _) = pushing(target);
    wait_for("the batch is lost", || pusher.counts().lost_batches == 1);
    let PushCounts {
        lost_rows, failures, ..
    } = pusher.counts();
    assert_eq!(failures, 1);
    assert!(lost_rows > 1, "{lost_rows}");
    let (first, headers, _) = requests.recv_timeout(PATIENCE).expect("a request");
    assert_eq!(first, "POST /api/v2/write?org=o&bucket=b&precision=ns HTTP/1.1");
    assert!(
        headers.contains(&"authorization: Token secret".to_string()),
        "{headers:?}"
    );
}

#[test]
fn a_database_that_is_away_costs_what_waits_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let target = Target::otlp(&format!("http://{address}")).expect("a target");
    let (_exporter, pusher, said) = pushing(target);
    wait_for("the batch is lost after five attempts", || {
        pusher.counts().lost_batches == 1
    });
    assert_eq!(pusher.counts().failures, 5);
    assert_eq!(said.lock().expect("no panic").len(), 1);
}

#[test]
fn otlp_is_json() {
    let (address, requests) = database(&["200 OK"]);
    let target = Target::otlp(&format!("http://{address}")).expect("a target");
    let (mut exporter, pusher, _) = pushing(target);
    wait_for("the batch is taken", || pusher.counts().sent_batches == 1);
    let (first, headers, body) = requests.recv_timeout(PATIENCE).expect("a request");
    assert_eq!(first, "POST /v1/metrics HTTP/1.1");
    assert!(
        headers.contains(&"content-type: application/json".to_string()),
        "{headers:?}"
    );
    let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let metrics = &body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let named = |metric: &&serde_json::Value| metric["name"] == "forebay_port_sent_packets_total";
    let metric = metrics
        .as_array()
        .expect("metrics")
        .iter()
        .find(named)
        .expect("the metric");
    assert_eq!(metric["sum"]["dataPoints"][0]["asInt"], "7");
    exporter.finish(&source());
    assert_eq!(pusher.counts().sent_batches, 2, "the last values are pushed at the end");
}

/// A process that is ended with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Says that something is not tested, since a program is not installed: a failure where everything should be, as in
/// continuous integration.
fn left_out(program: &str) {
    assert!(
        std::env::var_os("FOREBAY_STRICT").is_none(),
        "{program} is not installed"
    );
    eprintln!("{program} is not installed: what is shown with it is left out");
}

/// Starts a database; none where it is not installed.
fn start(program: &str, arguments: &[&str], environment: &[(&str, String)], address: SocketAddr) -> Option<Process> {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let Ok(child) = command.spawn() else {
        left_out(program);
        return None;
    };
    let process = Process(child);
    wait_for("the database listens", || TcpStream::connect(address).is_ok());
    Some(process)
}

fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

/// The body of an answer to a request without a body.
fn http(address: SocketAddr, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let text = format!("{method} {path} HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(text.as_bytes()).expect("sent");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
        .split_once("\r\n\r\n")
        .map(|(_, body)| body.to_string())
        .unwrap_or_default()
}

fn influxd(folder: &Path, address: SocketAddr) -> Option<Process> {
    let at = |name: &str| folder.join(name).display().to_string();
    let environment = [
        ("INFLUXDB_META_DIR", at("meta")),
        ("INFLUXDB_DATA_DIR", at("data")),
        ("INFLUXDB_DATA_WAL_DIR", at("wal")),
        ("INFLUXDB_BIND_ADDRESS", free().to_string()),
        ("INFLUXDB_HTTP_BIND_ADDRESS", address.to_string()),
        ("INFLUXDB_REPORTING_DISABLED", "true".to_string()),
    ];
    start("influxd", &[], &environment, address)
}

#[test]
fn influxdb_answers_queries_about_what_was_pushed_and_may_die_meanwhile() {
    let (folder, address) = (tempfile::tempdir().expect("a folder"), free());
    let Some(database) = influxd(folder.path(), address) else {
        return;
    };
    http(address, "POST", "/query?q=CREATE%20DATABASE%20p4");
    let target = Target::influx(&format!("http://{address}?db=p4"), None).expect("a target");
    let (mut exporter, pusher, said) = pushing(target);
    wait_for("the batch is taken", || pusher.counts().sent_batches == 1);
    let query =
        "/query?db=p4&q=SELECT%20last(value)%20FROM%20forebay_port_sent_packets_total%20GROUP%20BY%20%22name%22";
    let answer: serde_json::Value = serde_json::from_str(&http(address, "GET", query)).expect("JSON");
    let series = &answer["results"][0]["series"][0];
    assert_eq!(
        (&series["tags"]["name"], &series["values"][0][1]),
        (&"eth 0".into(), &7.into()),
        "{answer}"
    );

    drop(database);
    exporter.finish(&source());
    wait_for("an attempt fails", || pusher.counts().failures > 0);
    let _database = influxd(folder.path(), address).expect("it was there before");
    wait_for("the batch that waited is taken", || pusher.counts().sent_batches == 2);
    assert_eq!(pusher.counts().lost_batches, 0);
    let said = said.lock().expect("no panic");
    assert!(
        said.last().is_some_and(|last| last.contains("takes data again")),
        "{said:?}"
    );
}

#[test]
fn victoria_metrics_takes_lines_too() {
    let (folder, address) = (tempfile::tempdir().expect("a folder"), free());
    let storage = format!("-storageDataPath={}", folder.path().display());
    let listen = format!("-httpListenAddr={address}");
    let arguments = [
        &*storage,
        &*listen,
        "-influxSkipSingleField",
        "-search.latencyOffset=0s",
    ];
    let Some(_database) = start("victoria-metrics", &arguments, &[], address) else {
        return;
    };
    let target = Target::influx(&format!("http://{address}?db=p4"), None).expect("a target");
    let (_exporter, pusher, _) = pushing(target);
    wait_for("the batch is taken", || pusher.counts().sent_batches == 1);
    wait_for("the value is found", || {
        let answer = http(address, "GET", "/api/v1/query?query=forebay_port_sent_packets_total");
        answer.contains("\"name\":\"eth 0\"") && answer.contains("\"7\"]")
    });
}

/// A certificate for `localhost` of its own authority, and its key; none where openssl is not installed.
fn certificate(folder: &Path) -> Option<(Vec<u8>, Vec<u8>)> {
    let (key, certificate) = (folder.join("key.pem"), folder.join("certificate.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=CA:FALSE",
        ])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        left_out("openssl");
        return None;
    }
    Some((std::fs::read(certificate).ok()?, std::fs::read(key).ok()?))
}

/// A database with TLS that accepts everything.
fn secure_database(certificate: &[u8], key: &[u8]) -> (u16, Receiver<Request>) {
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto::ring};
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(certificate).flatten().collect();
    let key = PrivateKeyDer::from_pem_slice(key).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .expect("a certificate");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream);
            let Some(request) = read_request(&mut stream) else {
                continue;
            };
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
            if sender.send(request).is_err() {
                return;
            }
        }
    });
    (port, receiver)
}

#[test]
fn https_takes_certificates_of_the_authorities_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some((certificate_pem, key)) = certificate(folder.path()) else {
        return;
    };
    let (port, requests) = secure_database(&certificate_pem, &key);
    let target = |host: &str| Target::influx(&format!("https://{host}:{port}?db=p4"), None).expect("a target");
    let authorities = || Authorities::of_pem(&certificate_pem).expect("an authority");
    let (_exporter, pusher, _) = pushing_to(target("localhost"), Some(authorities()));
    wait_for("the batch is taken", || pusher.counts().sent_batches == 1);
    assert!(
        requests
            .recv_timeout(PATIENCE)
            .expect("a request")
            .0
            .starts_with("POST /write?db=p4")
    );

    let other = tempfile::tempdir().expect("a folder");
    let (stranger, _) = certificate(other.path()).expect("it was made before");
    for (host, authorities) in [
        ("localhost", Authorities::of_pem(&stranger).expect("an authority")),
        ("127.0.0.1", authorities()),
    ] {
        let (_exporter, pusher, said) = pushing_to(target(host), Some(authorities));
        wait_for("an attempt fails", || pusher.counts().failures > 0);
        let said = said.lock().expect("no panic").concat();
        assert!(said.contains("certificate"), "{said}");
        assert!(requests.try_recv().is_err(), "nothing is sent");
    }
}
