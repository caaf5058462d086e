//! Frames that are not what the reference executor says, as text.

use crate::results::WrongFrame;
use std::fmt::Write;

/// Bytes of a wrong frame that are shown.
const FRAME_BYTES_SHOWN: usize = 64;

/// A frame that is wrong, and where. Of long ones a part is shown; the results as JSON have them whole.
pub(super) fn wrong_frame(wrong: &WrongFrame, out: &mut String) {
    let (number, port) = (wrong.number, wrong.port);
    let at = wrong.differs_at.unwrap_or(0);
    let frame = excerpt(&wrong.frame, at);
    let Some(expected) = &wrong.expected else {
        let _ = writeln!(
            out,
            "    frame {number} at port {port}: {frame}\n      expected nothing"
        );
        return;
    };
    let (bytes, expected_bytes) = (wrong.frame.len() / 2, expected.len() / 2);
    let difference = if at >= bytes.min(expected_bytes) {
        format!("it has {bytes} bytes in place of {expected_bytes}")
    } else {
        format!("byte {at} differs, counted from 0")
    };
    let _ = writeln!(
        out,
        "    frame {number} at port {port}, {difference}: {frame}\n      expected {}",
        excerpt(expected, at)
    );
}

/// The bytes of a frame in hexadecimal around one of them.
fn excerpt(hex: &str, at: usize) -> String {
    let bytes = hex.len() / 2;
    if bytes <= FRAME_BYTES_SHOWN {
        return hex.to_string();
    }
    let to = (at + FRAME_BYTES_SHOWN / 2).clamp(FRAME_BYTES_SHOWN, bytes);
    let from = to - FRAME_BYTES_SHOWN;
    let shown = hex.get(2 * from..2 * to).unwrap_or(hex);
    let dots = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{shown}{}", dots(from > 0), dots(to < bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a frame of 9,000 bytes the report shows the part that is wrong.
    #[test]
    fn wrong_frames_are_shown_where_they_are_wrong() {
        let of = |frame: &str, expected: Option<&str>, differs_at| {
            let mut out = String::new();
            let wrong = WrongFrame {
                number: 3,
                port: 2,
                frame: frame.to_string(),
                expected: expected.map(str::to_string),
                differs_at,
            };
            wrong_frame(&wrong, &mut out);
            out
        };
        let said = of("0102", Some("0103"), Some(1));
        assert_eq!(
            said,
            "    frame 3 at port 2, byte 1 differs, counted from 0: 0102\n      expected 0103\n"
        );
        assert_eq!(
            of("0102", None, None),
            "    frame 3 at port 2: 0102\n      expected nothing\n"
        );
        let (long, longer) = ("00".repeat(9000), "00".repeat(9004));
        let said = of(&longer, Some(&long), Some(9000));
        assert!(said.contains("it has 9004 bytes in place of 9000: …00"), "{said}");
        assert!(said.len() < 400, "{said}");
        let wrong = format!("{}ff{}", "00".repeat(500), "00".repeat(8499));
        let said = of(&wrong, Some(&long), Some(500));
        assert!(
            said.contains("byte 500 differs, counted from 0: …") && said.contains("ff"),
            "{said}"
        );
    }
}
