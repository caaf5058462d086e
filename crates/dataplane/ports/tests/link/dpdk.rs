//! DPDK's drivers as peers: testpmd, which sends back by its only port what comes there. Skipped where there is no
//! DPDK.

use std::process::{Child, Command, Stdio};

use crate::frames::{echo, port, wait_down, wait_echo, wait_up};

/// A running testpmd, ended when it is dropped.
pub struct Testpmd(Child);

impl Testpmd {
    /// Starts it with one device and options for its forwarding; none, with a message, where it is not installed.
    pub fn start(name: &str, device: &str, options: &[&str]) -> Option<Testpmd> {
        let prefix = format!("--file-prefix=forebay-{name}-{}", std::process::id());
        let started = Command::new("dpdk-testpmd")
            .args([
                "-l",
                "0,1",
                "--no-huge",
                "-m",
                "256",
                "--no-pci",
                "--no-telemetry",
                &prefix,
            ])
            .args([
                "--vdev",
                device,
                "--",
                "--total-num-mbufs=4096",
                "--forward-mode=io",
                "--auto-start",
                "--no-flush-rx",
            ])
            .args(options)
            // It ends when its input does.
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        match started {
            Ok(child) => Some(Testpmd(child)),
            Err(error) => {
                assert!(std::env::var_os("FOREBAY_STRICT").is_none(), "dpdk-testpmd: {error}");
                eprintln!("SKIPPED: dpdk-testpmd cannot be started ({error})");
                None
            }
        }
    }
}

impl Drop for Testpmd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Removes the socket of a killed testpmd, which the next one does not replace.
fn forget(ours: &str, path: &str) {
    if ours == "client" {
        let _ = std::fs::remove_file(path);
    }
}

#[test]
fn net_memif_in_both_roles() {
    for (ours, theirs) in [("server", "client"), ("client", "server")] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("memif.sock").display().to_string();
        let device = format!("net_memif0,role={theirs},id=3,socket={path},socket-abstract=no,secret=word");
        let mut port = port(&format!("memif:{path},id=3,role={ours},secret=word"));
        for _ in 0..2 {
            forget(ours, &path);
            let Some(testpmd) = Testpmd::start("memif", &device, &[]) else {
                return;
            };
            wait_up(&mut [&mut *port]);
            let before = wait_echo(&mut *port);
            echo(&mut *port, 3200, 1514);
            assert_eq!(port.counters().total_drops(), before, "{}", port.counters());
            drop(testpmd);
            wait_down(&mut *port);
        }
    }
}

#[test]
fn virtio_user_with_either_ring_and_at_either_end() {
    for (mode, server, packed) in [("server", 0, 0), ("server", 0, 1), ("client", 1, 0), ("client", 1, 1)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vhost.sock").display().to_string();
        let device = format!("net_virtio_user0,path={path},server={server},packed_vq={packed},queue_size=256");
        let mut port = port(&format!("vhost:{path},mode={mode}"));
        for _ in 0..2 {
            forget(mode, &path);
            let Some(testpmd) = Testpmd::start("virtio", &device, &[]) else {
                return;
            };
            wait_up(&mut [&mut *port]);
            let before = wait_echo(&mut *port);
            echo(&mut *port, 3200, 1514);
            assert_eq!(port.counters().total_drops(), before, "{}", port.counters());
            drop(testpmd);
            wait_down(&mut *port);
        }
    }
}

#[test]
fn virtio_user_goes_on_when_the_port_comes_back() {
    for packed in [0, 1] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("vhost.sock").display().to_string();
        let device = format!("net_virtio_user0,path={path},server=1,packed_vq={packed},queue_size=256");
        let Some(_testpmd) = Testpmd::start("stays", &device, &[]) else {
            return;
        };
        for _ in 0..5 {
            let mut port = port(&format!("vhost:{path},mode=client"));
            wait_up(&mut [&mut *port]);
            wait_echo(&mut *port);
            // Not a multiple of the ring's size: each time it is left at another place.
            echo(&mut *port, 992, 60);
        }
    }
}

#[test]
fn virtio_user_without_mergeable_buffers_and_with_several_queues() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vhost.sock").display().to_string();
    let device = format!("net_virtio_user0,path={path},queues=2,mrg_rxbuf=0,queue_size=64");
    let mut port = port(&format!("vhost:{path},queues=2"));
    let Some(_testpmd) = Testpmd::start("queues", &device, &["--rxq=2", "--txq=2"]) else {
        return;
    };
    wait_up(&mut [&mut *port]);
    wait_echo(&mut *port);
    echo(&mut *port, 3200, 1514);
}
