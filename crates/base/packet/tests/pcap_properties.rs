//! What holds for every capture file: writing and reading back changes nothing, and no file
//! whatever makes the reader panic or use more memory than a record.

use forebay_packet::pcap::{self, TimestampUnit, Writer};
use forebay_packet::{FRAME_BYTES_MAX, Packet, pcap::Problem};
use proptest::prelude::*;

type Record = (u64, Vec<u8>);

fn records() -> impl Strategy<Value = Vec<Record>> {
    let time = 0..u64::from(u32::MAX) * 1_000_000_000;
    proptest::collection::vec((time, proptest::collection::vec(any::<u8>(), 0..3000)), 0..12)
}

fn write(records: &[Record], unit: TimestampUnit) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), unit).expect("memory does not fail");
    for (time_ns, data) in records {
        writer
            .write(*time_ns, data, data.len() + 1)
            .expect("memory does not fail");
    }
    writer.finish().expect("memory does not fail")
}

/// Reads until the end or an error; returns the packets read.
fn read_as_far_as_possible(bytes: &[u8]) -> usize {
    let Ok(mut reader) = pcap::Reader::new(bytes) else {
        return 0;
    };
    let mut packet = Packet::new();
    let mut count = 0;
    while let Ok(true) = reader.read(&mut packet) {
        count += 1;
        assert!(packet.len() <= bytes.len());
    }
    count
}

/// A correct pcapng file of two packets, to be damaged.
fn blocks() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut block = |block_type: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        bytes.extend(block_type.to_le_bytes());
        bytes.extend(length);
        bytes.extend(body);
        bytes.extend(length);
    };
    block(
        0x0a0d_0d0a,
        b"\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
    );
    block(1, b"\x01\0\0\0\0\0\x01\0\x09\0\x01\0\x09\0\0\0");
    block(6, b"\0\0\0\0\0\0\0\0\x01\0\0\0\x04\0\0\0\x04\0\0\0data");
    block(3, b"\x04\0\0\0more");
    bytes
}

proptest! {
    #[test]
    fn nanosecond_files_round_trip(records in records()) {
        let packets = pcap::read_all(&write(&records, TimestampUnit::Nanoseconds)).unwrap();
        let read: Vec<Record> =
            packets.iter().map(|packet| (packet.timestamp_ns, packet.data().to_vec())).collect();
        prop_assert_eq!(read, records);
    }

    #[test]
    fn microsecond_files_round_trip_to_the_microsecond(records in records()) {
        let packets = pcap::read_all(&write(&records, TimestampUnit::Microseconds)).unwrap();
        for (packet, (time_ns, data)) in packets.iter().zip(&records) {
            prop_assert_eq!(packet.timestamp_ns, time_ns / 1000 * 1000);
            prop_assert_eq!(packet.data(), &data[..]);
            prop_assert_eq!(packet.original_length as usize, data.len() + 1);
        }
    }

    #[test]
    fn a_cut_file_gives_the_whole_records_before_the_cut(records in records(), cut in any::<usize>()) {
        let bytes = write(&records, TimestampUnit::Nanoseconds);
        let cut = cut % (bytes.len() + 1);
        let mut whole = 0;
        let mut end = 24;
        for (_, data) in &records {
            end += 16 + data.len();
            whole += usize::from(end <= cut);
        }
        prop_assert_eq!(read_as_far_as_possible(&bytes[..cut]), whole);
    }

    #[test]
    fn any_bytes_are_an_error_or_packets(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        read_as_far_as_possible(&bytes);
    }

    #[test]
    fn a_damaged_file_never_panics(
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..8),
        cut in any::<usize>(),
        classic in any::<bool>(),
    ) {
        let mut bytes = if classic {
            write(&[(1, vec![1; 60]), (2, vec![2; 90])], TimestampUnit::Nanoseconds)
        } else {
            blocks()
        };
        for (position, value) in changes {
            let position = position % bytes.len();
            bytes[position] = value;
        }
        bytes.truncate(cut % (bytes.len() * 2));
        read_as_far_as_possible(&bytes);
    }
}

#[test]
fn the_undamaged_pcapng_file_is_correct() {
    assert_eq!(read_as_far_as_possible(&blocks()), 2);
}

#[test]
fn a_text_file_is_not_a_capture() {
    let error = pcap::read_all(b"hello world, this is text").expect_err("text");
    assert_eq!(error.problem, Problem::NotACapture { magic: *b"hell" });
    assert_eq!(
        error.to_string(),
        "at byte 0: not a pcap or pcapng file (it starts with 68 65 6c 6c)"
    );
}

#[test]
fn a_packet_that_no_port_receives_is_named() {
    let longest = vec![2; FRAME_BYTES_MAX];
    let longer = vec![3; FRAME_BYTES_MAX + 1];
    let records = [(1, longest), (2, longer)];
    let whole = pcap::read_all(&write(&records[..1], TimestampUnit::Nanoseconds)).expect("frames");
    assert_eq!(whole.len(), 1);
    let error = pcap::read_all(&write(&records, TimestampUnit::Nanoseconds)).expect_err("a packet of 64 KiB");
    let (number, bytes) = (2, FRAME_BYTES_MAX + 1);
    assert_eq!(error.problem, Problem::FrameTooLong { number, bytes });
    assert_eq!(error.offset, 24 + 16 + FRAME_BYTES_MAX as u64);
}
