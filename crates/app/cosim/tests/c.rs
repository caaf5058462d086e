//! The interface from C: the example is compiled and run, and every function refuses what is wrong.

use forebay_cosim::{
    ForebayDeparture, NEVER, OK, PAST, TIME_MAX, WRONG, forebay_advance, forebay_close, forebay_ended,
    forebay_next_event, forebay_now, forebay_open, forebay_port, forebay_submit, forebay_take,
};
use std::ffi::{CStr, CString, c_char};
use std::path::PathBuf;
use std::process::Command;
use std::ptr;

fn here(path: &str) -> String {
    format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The folder with the shared library that cargo builds for this test: that of the test, or the one around it.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("this test is a file");
    let folders = test.ancestors().skip(1).take(2);
    let mut with_library = folders.filter(|folder| folder.join("libforebay_cosim.so").is_file());
    with_library.next().expect("cargo has built the library").to_path_buf()
}

/// Compiles a program of C against the shared library, and runs it.
fn run(source: &str, arguments: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .args([&here("include"), source, "-o"])
        .arg(&program)
        .arg(libraries().join("libforebay_cosim.so"))
        .output()
        .expect("a compiler of C");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let ran = Command::new(&program)
        .args(arguments)
        .env("LD_LIBRARY_PATH", libraries())
        .output()
        .expect("the program");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    (ran.status.code().unwrap_or(-1), text)
}

#[test]
#[cfg(target_os = "linux")]
fn the_example_finds_the_same_in_both_ways_of_keeping_time() {
    let (code, text) = run(&here("examples/two_ways.c"), &[&here("examples/scenario.toml")]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("events and promises agree"), "{text}");
    assert!(
        text.contains("lost at switch:2"),
        "bursts are larger than the queue: {text}"
    );
    let (code, text) = run(&here("examples/two_ways.c"), &["nothing.toml"]);
    assert_eq!((code, text.contains("nothing.toml")), (2, true), "{text}");
}

/// A scenario opened, or what is wrong with it.
fn open(path: &str) -> Result<*mut forebay_cosim::ForebayNetwork, String> {
    let name = CString::new(path).expect("no zero");
    let mut message: [c_char; 300] = [0; 300];
    // SAFETY: a NUL-terminated text, and a buffer of the given size.
    let network = unsafe { forebay_open(name.as_ptr(), 7, message.as_mut_ptr(), message.len()) };
    if network.is_null() {
        // SAFETY: the message ends with a zero.
        Err(unsafe { CStr::from_ptr(message.as_ptr()) }
            .to_string_lossy()
            .into_owned())
    } else {
        Ok(network)
    }
}

#[test]
fn a_frame_comes_out_when_the_model_says() {
    let network = open(&here("examples/scenario.toml")).expect("it is right");
    let (frame, mut departure) = ([3u8; 100], room());
    // SAFETY: a valid network, and arrays of the given lengths.
    unsafe {
        let port = forebay_port(network, c"switch:1".as_ptr());
        assert_eq!(forebay_next_event(network), NEVER);
        assert_eq!(
            forebay_submit(network, port, frame.as_ptr(), frame.len(), 42, 5_000),
            OK
        );
        assert_eq!(forebay_next_event(network), 5_000);
        assert_eq!(forebay_advance(network, 5_000), OK);
        assert_eq!(
            (forebay_now(network), forebay_take(network, &raw mut departure)),
            (5_000, 0)
        );
        let mut last = 5_000;
        while forebay_take(network, &raw mut departure) == 0 {
            let next = forebay_next_event(network);
            assert!(next != NEVER && next >= last, "time goes on");
            last = next;
            forebay_advance(network, next);
        }
        assert_eq!(
            (departure.time, departure.tag, departure.length),
            (last, 42, frame.len())
        );
        assert_eq!(std::slice::from_raw_parts(departure.frame, departure.length), frame);
        assert_eq!(departure.port, forebay_port(network, c"switch:2".as_ptr()));
        assert!(
            (200_000..2_000_000).contains(&departure.time),
            "a chip takes about a microsecond: {last} ps"
        );
        while forebay_next_event(network) != NEVER {
            forebay_advance(network, forebay_next_event(network));
        }
        assert_eq!(
            (forebay_take(network, &raw mut departure), forebay_ended(network)),
            (0, 0)
        );
        forebay_close(network);
    }
}

fn room() -> ForebayDeparture {
    ForebayDeparture {
        port: 0,
        time: 0,
        tag: 0,
        frame: ptr::null(),
        length: 0,
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let network = open(&here("examples/scenario.toml")).expect("it is right");
    let frame = [0u8; 60];
    // SAFETY: null pointers are allowed, all others are valid.
    unsafe {
        let port = forebay_port(network, c"switch:1".as_ptr());
        assert_eq!(forebay_port(network, c"switch:9999".as_ptr()), WRONG);
        assert_eq!(forebay_port(network, c"router:1".as_ptr()), WRONG);
        assert_eq!(forebay_port(network, ptr::null()), WRONG);
        assert_eq!(forebay_submit(network, 999, frame.as_ptr(), 60, 0, 0), WRONG);
        assert_eq!(forebay_submit(network, 1 << 16, frame.as_ptr(), 60, 0, 0), WRONG);
        assert_eq!(forebay_submit(network, -1, frame.as_ptr(), 60, 0, 0), WRONG);
        assert_eq!(forebay_submit(network, port, ptr::null(), 60, 0, 0), WRONG);
        assert_eq!(forebay_submit(network, port, frame.as_ptr(), 0, 0, 0), WRONG);
        for time in [TIME_MAX + 1, u64::MAX] {
            assert_eq!(forebay_submit(network, port, frame.as_ptr(), 60, 0, time), WRONG);
        }
        assert_eq!(forebay_submit(ptr::null_mut(), port, frame.as_ptr(), 60, 0, 0), WRONG);
        assert_eq!(forebay_advance(network, 10), OK);
        assert_eq!(forebay_submit(network, port, frame.as_ptr(), 60, 0, 9), PAST);
        assert_eq!(forebay_take(network, ptr::null_mut()), WRONG);
        assert_eq!(forebay_advance(ptr::null_mut(), 1), WRONG);
        assert_eq!(forebay_next_event(ptr::null()), NEVER);
        forebay_close(network);
        forebay_close(ptr::null_mut());
    }
}

#[test]
fn what_is_wrong_with_a_scenario_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(here("examples/scenario.toml")).expect("the example");
    let text = text.replace("../../../..", &here("../../.."));
    let with = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("room");
        open(&path.to_string_lossy())
    };
    let mistake = with("spec.toml", text.replace("\"tofino\"", "\"tofimo\"")).expect_err("no such chip");
    assert!(
        mistake.contains("spec.toml:6: there is no chip \"tofimo\""),
        "{mistake}"
    );
    let stream = "\n[[traffic]]\nname = \"in\"\nto = [\"switch:1\"]\ngbps = 1\nframe = { udp = { bytes = 64 } }\n";
    let mistake = with("traffic.toml", text.clone() + stream).expect_err("frames come from outside");
    assert!(mistake.contains("remove [[traffic]]"), "{mistake}");
    let several = text.replace("duration_us = 1 ", "duration_us = ${N} ") + "\n[parameters]\nN = [1, 2]\n";
    let mistake = with("several.toml", several).expect_err("one network");
    assert!(mistake.contains("2 combinations"), "{mistake}");
}
