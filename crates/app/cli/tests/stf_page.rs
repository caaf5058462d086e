//! The examples of `docs/stf.md`: each passes with the program of the page, or fails as the page states.

mod support;

use support::{folder, forebay, write};

/// A fenced piece of the page: what stands after the fence, and its lines.
struct Piece {
    info: String,
    text: String,
}

fn pieces(page: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut open: Option<Piece> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => pieces.extend(open.take()),
            (Some(info), None) => {
                let (info, text) = (info.to_string(), String::new());
                open = Some(Piece { info, text });
            }
            (None, Some(piece)) => piece.text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    pieces
}

#[test]
fn every_example_does_what_the_page_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/stf.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let pieces = pieces(&page);
    let folder = folder();
    let program = pieces.iter().find(|piece| piece.info == "p4").expect("a program");
    let program = write(folder.path(), "page.p4", &program.text);
    let mut examples = 0;
    for piece in pieces.iter().filter(|piece| piece.info.starts_with("stf")) {
        examples += 1;
        let test = write(folder.path(), "example.stf", &piece.text);
        let ran = forebay(&["test", "--engine", "both", &program, &test]);
        match piece.info.strip_prefix("stf fails: ") {
            None => assert_eq!(ran.code, 0, "{}\n{}{}", piece.text, ran.stdout, ran.stderr),
            Some(message) => {
                assert_ne!(ran.code, 0, "{}", piece.text);
                assert!(ran.stdout.contains(message), "{message}\nis not in\n{}", ran.stdout);
            }
        }
    }
    assert!(examples >= 10, "{examples} examples");
}
