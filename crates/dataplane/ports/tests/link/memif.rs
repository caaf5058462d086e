//! memif between ports of this process.

use crate::frames::{exchange, poll_until, port, receive, send, wait_down, wait_up};
use forebay_packet::{Burst, Port, PortState, Readiness};
use forebay_ports::{OpenError, OpenOptions, Poller, PortSpec, open, open_shares};

const NANOSECONDS: u64 = 1_000_000_000;

fn path(folder: &tempfile::TempDir) -> String {
    folder.path().join("memif.sock").display().to_string()
}

#[test]
fn every_frame_comes_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    for options in ["", ",ring=64", ",ring=128,buffer=128", ",queues=2", ",queues=4"] {
        let mut server = port(&format!("memif:{path},queues=2"));
        let mut client = port(&format!("memif:{path},role=client{options}"));
        wait_up(&mut [&mut *server, &mut *client]);
        let longest = if options.contains("buffer") { 300 } else { 1514 };
        exchange(&mut *server, &mut *client, 20_000, longest);
        for port in [&server, &client] {
            assert_eq!(port.counters().total_drops(), 0, "{}", port.counters());
        }
    }
}

#[test]
fn frames_may_be_longer_than_buffers() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let mut server = port(&format!("memif:{path}"));
    let mut client = port(&format!("memif:{path},role=client"));
    wait_up(&mut [&mut *server, &mut *client]);
    exchange(&mut *server, &mut *client, 320, 60_000);
}

#[test]
fn what_does_not_fit_is_dropped_under_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let mut server = port(&format!("memif:{path}"));
    let mut client = port(&format!("memif:{path},role=client,ring=16"));
    let mut burst = Burst::new(64);
    let fill = |burst: &mut Burst| (0..40).for_each(|_| burst.allocate().expect("room").set_data(&[7; 60]));
    fill(&mut burst);
    assert_eq!(server.send(&mut burst, 0), Ok(0), "nobody is connected");
    assert_eq!(server.counters().to_string().matches("40 link-down").count(), 1);
    wait_up(&mut [&mut *server, &mut *client]);
    for sender in [&mut server, &mut client] {
        fill(&mut burst);
        assert_eq!(sender.send(&mut burst, 0), Ok(16));
        assert!(
            sender.counters().to_string().contains("24 queue-full"),
            "{}",
            sender.counters()
        );
        burst.allocate().expect("room").set_data(&[7; 10]);
        assert_eq!(sender.send(&mut burst, 0), Ok(0));
        assert!(sender.counters().to_string().contains("1 too-short"));
    }
}

#[test]
fn either_end_may_go_and_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let server_text = format!("memif:{path}");
    let client_text = format!("memif:{path},role=client");
    let mut server = port(&server_text);
    let mut client = port(&client_text);
    for round in 0..10 {
        wait_up(&mut [&mut *server, &mut *client]);
        exchange(&mut *server, &mut *client, 64, 1514);
        // What is on its way is lost, and nothing else.
        send(&mut *server, 0, 100);
        if round % 2 == 0 {
            drop(client);
            wait_down(&mut *server);
            client = port(&client_text);
        } else {
            drop(server);
            wait_down(&mut *client);
            server = port(&server_text);
        }
    }
}

#[test]
fn a_client_says_why_it_has_no_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    for kind in ["memif:PATH,role=client", "vhost:PATH,mode=client"] {
        let mut client = port(&kind.replace("PATH", &path));
        assert_eq!(client.why_down().as_deref(), Some("no peer has connected yet"));
        let expected = format!("there is no socket {path} yet");
        poll_until(&mut [&mut *client], "the cause is not told", |ports| {
            ports[0].why_down().as_ref() == Some(&expected)
        });
    }
}

#[test]
fn a_socket_serves_several_interfaces() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let mut first = port(&format!("memif:{path},id=0"));
    let mut second = port(&format!("memif:{path},id=7,secret=right"));
    let mut to_first = port(&format!("memif:{path},id=0,role=client"));
    let mut to_second = port(&format!("memif:{path},id=7,role=client,secret=right"));
    let mut with_wrong_secret = port(&format!("memif:{path},id=7,role=client,secret=wrong"));
    with_wrong_secret.receive(&mut Burst::new(1), 1, 0).expect("in order");
    wait_up(&mut [&mut *first, &mut *second, &mut *to_first, &mut *to_second]);
    exchange(&mut *first, &mut *to_first, 64, 200);
    exchange(&mut *second, &mut *to_second, 64, 200);
    let says_so = |ports: &[&mut dyn Port]| {
        ports[0]
            .why_down()
            .is_some_and(|why| why.ends_with("the secret is wrong"))
    };
    poll_until(&mut [&mut *with_wrong_secret], "the wrong secret is not told", says_so);
    assert_eq!(with_wrong_secret.state(), PortState::Down);
    assert_eq!(second.why_down(), None);
    let spec = PortSpec::parse(&format!("0@memif:{path},id=7")).expect("right");
    let Err(error) = open(&spec, &OpenOptions::default()) else {
        panic!("the number is taken")
    };
    assert!(matches!(error, OpenError::Busy { .. }), "{error}");
    // One goes; the socket stays for the other.
    drop(first);
    wait_down(&mut *to_first);
    exchange(&mut *second, &mut *to_second, 64, 200);
}

#[test]
fn a_socket_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let _other = std::os::unix::net::UnixListener::bind(&path).expect("the path is free");
    let spec = PortSpec::parse(&format!("0@memif:{path}")).expect("right");
    let Err(error) = open(&spec, &OpenOptions::default()) else {
        panic!("the path is taken")
    };
    assert!(error.to_string().contains("another process listens"), "{error}");
}

#[test]
fn files_that_are_not_sockets_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    std::fs::write(&path, "content").expect("it can be written");
    for kind in ["memif", "vhost"] {
        let spec = PortSpec::parse(&format!("0@{kind}:{path}")).expect("right");
        let Err(error) = open(&spec, &OpenOptions::default()) else {
            panic!("{kind}: a file is in the way")
        };
        assert!(error.to_string().contains("exists and is not a socket"), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "content");
}

#[test]
fn a_port_that_waits_is_woken() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let mut server = port(&format!("memif:{path}"));
    let mut client = port(&format!("memif:{path},role=client"));
    wait_up(&mut [&mut *server, &mut *client]);
    let mut poller = Poller::new();
    for round in 0..3 {
        let (waiting, sending) = if round % 2 == 0 {
            (&mut server, &mut client)
        } else {
            (&mut client, &mut server)
        };
        assert_eq!(receive(&mut **waiting, 0, 100), 0);
        // It looks some more times before it really waits.
        let mut looks = 0;
        while waiting.readiness() == Readiness::Now {
            receive(&mut **waiting, 0, 100);
            looks += 1;
            assert!(looks < 1000);
        }
        assert!(
            !poller
                .wait([waiting.readiness()], 0, NANOSECONDS / 100)
                .expect("can wait")
        );
        send(&mut **sending, 0, 100);
        assert!(
            poller
                .wait([waiting.readiness()], 0, 10 * NANOSECONDS)
                .expect("can wait")
        );
        assert_eq!(receive(&mut **waiting, 0, 100), crate::frames::WINDOW);
    }
}

#[test]
fn shares_receive_by_queues_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = path(&folder);
    let spec = |text: &str| PortSpec::parse(&format!("0@memif:{path},queues=2{text}")).expect("right");
    let open_two = |text| {
        let opened = open_shares(&spec(text), 2, &OpenOptions::default()).expect("a free path");
        let ports: Vec<Box<dyn Port>> = opened.into_iter().map(|opened| opened.port).collect();
        <[_; 2]>::try_from(ports).unwrap_or_else(|_| panic!("two shares"))
    };
    let [mut left_0, mut left_1] = open_two("");
    let [mut right_0, mut right_1] = open_two(",role=client");
    wait_up(&mut [&mut *left_0, &mut *right_0]);
    exchange(&mut *left_0, &mut *right_0, 64, 300);
    exchange(&mut *left_1, &mut *right_1, 64, 300);
    send(&mut *left_1, 0, 300);
    assert_eq!(receive(&mut *right_0, 0, 300), 0);
    assert_eq!(receive(&mut *right_1, 0, 300), crate::frames::WINDOW);
}
