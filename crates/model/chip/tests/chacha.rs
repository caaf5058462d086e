//! ChaCha20, 12 and 8 in P4, in several passes of three different programs: RFC 8439's own vectors, and random keys,
//! nonces, counters and payloads against the implementation of the RustCrypto project.

use chacha20::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use chacha20::{ChaCha8, ChaCha12, ChaCha20};
use forebay_chip::{ChipConfig, ChipSpec, Network, Observer, Picos, Place, PortConfig, QueueConfig, Service};
use forebay_driver::FileSources;
use forebay_entries::Controller;
use forebay_packet::SplitMix64;
use forebay_pipeline::{Engine, Options, Pipeline};
use std::sync::Arc;

const PROGRAMS: [(&str, &str); 3] = [
    (
        "p4qrs",
        "add units ingress_port:0 join_unit(number:0, recirculation_port_0:1, recirculation_port_1:2, output_port:3)\n\
         mirroring_add 1001 1 114\nmirroring_add 1002 2 114\n",
    ),
    (
        "recirculate",
        "add units ingress_port:0 join_unit(recirculation_port_0:1, recirculation_port_1:2, out_port:3)\n",
    ),
    (
        "payloadpark",
        "add units ingress_port:0 join_unit(recirculation_port_0:1, recirculation_port_1:2, out_port:3)\n",
    ),
];

/// Two rounds a pass.
const PASSES: [usize; 3] = [4, 6, 10];

/// Ethernet and IPv4.
const HEADERS: usize = 34;

/// What is encrypted of a packet.
const DATA: usize = 64;

/// Key and block counter, which are a program's; and of the nonce what is a packet's.
#[derive(Clone)]
struct Secret {
    key: [u8; 32],
    counter: u32,
}

/// A packet whose addresses and identification are the first ten bytes of the nonce; the last two are 0.
fn packet(nonce: [u8; 10], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1, 8, 0];
    let length = (HEADERS - 14 + payload.len()) as u16;
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend(&nonce[8..]);
    frame.extend([0, 0, 64, 17, 0, 0]);
    frame.extend(&nonce[..8]);
    frame.extend(payload);
    frame
}

fn pipeline(program: &str, commands: &str, passes: usize, secret: &Secret) -> Arc<Pipeline> {
    let path = format!(
        "{}/../../../programs/{program}/{program}.p4",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut defines = vec![format!("RECIRCULATIONS={passes}"), "COMPUTATION=2".to_string()];
    defines.push(format!("CHACHA_COUNTER=32w{}", secret.counter));
    for (index, word) in secret.key.chunks_exact(4).enumerate() {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        defines.push(format!("CHACHA_KEY_{index}=32w{word}"));
    }
    let options = forebay_driver::Options {
        provider: &FileSources::new(),
        include_paths: &[],
        defines: &defines,
    };
    let compiled = forebay_driver::compile(&path, &options).program.expect("it compiles");
    let options = Options {
        engine: Engine::Jit,
        ..Options::default()
    };
    let pipeline = Arc::new(Pipeline::load_with(compiled, options).expect("it loads"));
    let mut controller = Controller::new(Arc::clone(&pipeline));
    for command in forebay_entries::parse(commands).expect("commands").commands {
        assert_eq!(controller.apply(&command.value), forebay_entries::Applied::Done);
    }
    pipeline
}

#[derive(Default)]
struct Record(Vec<(u64, Vec<u8>)>);

impl Observer for Record {
    fn departed(&mut self, _place: Place, frame: &[u8], tag: u64, _time: Picos) {
        self.0.push((tag, frame.to_vec()));
    }
}

/// What becomes of packets, in their order.
fn encrypt(program: (&str, &str), passes: usize, secret: &Secret, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let queue = QueueConfig {
        service: Service::Quantum(1_500),
        capacity_bytes: 0,
    };
    let loopback = |number| PortConfig {
        number,
        loopback: true,
        queues: vec![queue, queue],
        ..PortConfig::default()
    };
    let mut network = Network::new();
    let chip = ChipConfig {
        spec: ChipSpec::known("tofino").expect("a known chip"),
        pipeline: pipeline(program.0, program.1, passes, secret),
        ports: vec![loopback(1), loopback(2)],
        of_other_pipes: Vec::new(),
        alike: 1,
        pfc: None,
        seed: 1,
    };
    network.add_chip(chip).expect("ports exist");
    let mut record = Record::default();
    for (tag, packet) in (0..).zip(packets) {
        network.advance(network.now() + 300_000, &mut record);
        network.arrive(Place { chip: 0, port: 0 }, packet, tag, &mut record);
    }
    network.settle(Picos::MAX, &mut record);
    record.0.sort();
    record.0.into_iter().map(|(_, frame)| frame).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks_exact(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

/// Section 2.4.2: the text that the vector encrypts, as far as one block.
const SUNSCREEN: &[u8; DATA] = b"Ladies and Gentlemen of the class of '99: If I could offer you o";

/// A vector of RFC 8439: section, key and counter, nonce, data, result.
type Vector = (&'static str, Secret, [u8; 10], [u8; DATA], Vec<u8>);

/// Those whose nonces end in two zero bytes.
fn vectors() -> Vec<Vector> {
    let counting: [u8; 32] = std::array::from_fn(|index| index as u8);
    let nothing = [0; DATA];
    let nonce = |place: usize, value: u8, other: u8| {
        let mut nonce = [0; 10];
        nonce[3] = other;
        nonce[place] = value;
        nonce
    };
    let secret = |key, counter| Secret { key, counter };
    vec![
        (
            "2.3.2",
            secret(counting, 1),
            nonce(7, 0x4a, 9),
            nothing,
            bytes(
                "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e\
                 d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
            ),
        ),
        (
            "2.4.2",
            secret(counting, 1),
            nonce(7, 0x4a, 0),
            *SUNSCREEN,
            bytes(
                "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b\
                 f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8",
            ),
        ),
        (
            "A.1, 1",
            secret([0; 32], 0),
            [0; 10],
            nothing,
            bytes(
                "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7\
                 da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
            ),
        ),
        (
            "A.1, 2",
            secret([0; 32], 1),
            [0; 10],
            nothing,
            bytes(
                "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed\
                 29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
            ),
        ),
    ]
}

#[test]
fn the_vectors_of_rfc_8439() {
    for (section, secret, nonce, data, expected) in vectors() {
        for program in PROGRAMS {
            let sent = packet(nonce, &data);
            let came = encrypt(program, 10, &secret, std::slice::from_ref(&sent));
            assert_eq!(came.len(), 1, "{section} {}", program.0);
            assert_eq!(came[0][..HEADERS], sent[..HEADERS], "{section} {}", program.0);
            assert_eq!(came[0][HEADERS..], expected, "{section} {}", program.0);
        }
    }
}

/// What the library makes of a packet.
fn by_library(passes: usize, secret: &Secret, sent: &[u8]) -> Vec<u8> {
    let mut frame = sent.to_vec();
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&sent[26..34]);
    nonce[8..10].copy_from_slice(&sent[18..20]);
    let data = &mut frame[HEADERS..HEADERS + DATA];
    let place = u64::from(secret.counter) * DATA as u64;
    let (key, nonce) = (&secret.key.into(), &nonce.into());
    macro_rules! apply {
        ($cipher:ty) => {{
            let mut cipher = <$cipher>::new(key, nonce);
            cipher.seek(place);
            cipher.apply_keystream(data);
        }};
    }
    match passes {
        4 => apply!(ChaCha8),
        6 => apply!(ChaCha12),
        _ => apply!(ChaCha20),
    }
    frame
}

#[test]
fn random_keys_nonces_counters_and_payloads() {
    let mut random = SplitMix64::new(8439);
    let mut bytes = |count: usize| -> Vec<u8> { (0..count).map(|_| random.next_u64() as u8).collect() };
    for program in PROGRAMS {
        for passes in PASSES.into_iter().chain(PASSES) {
            let counter = bytes(4);
            let secret = Secret {
                key: bytes(32).try_into().expect("32 bytes"),
                counter: u32::from_be_bytes(counter.try_into().expect("4 bytes")) >> 1,
            };
            let sent: Vec<Vec<u8>> = (0..40)
                .map(|index| packet(bytes(10).try_into().expect("10 bytes"), &bytes(DATA + 31 * index)))
                .collect();
            let expected: Vec<Vec<u8>> = sent.iter().map(|sent| by_library(passes, &secret, sent)).collect();
            assert_eq!(
                encrypt(program, passes, &secret, &sent),
                expected,
                "{} {passes}",
                program.0
            );
        }
    }
}
