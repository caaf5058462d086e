//! Programs from files and texts, and what is wrong with files.

use forebay_files::{
    CompileOptions, Error, Folder, bytes, check_folder, check_writable, compile_file, compile_text, make_folder, text,
    write,
};
use forebay_sim::Library;
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../programs")
}

#[test]
fn a_program_is_the_same_from_a_file_from_a_text_and_from_its_ir() {
    let options = CompileOptions::default();
    let path = programs().join("portfwd/portfwd.p4");
    let compiled = compile_file(&path, &options).expect("it can be read");
    let source = text(&path, "program").expect("it can be read");
    let from_text = compile_text(&source, &path, &options);
    assert_eq!(from_text.program, compiled.program);
    let ir = forebay_ir::text::write(&compiled.program.expect("it has no errors"));
    let from_ir = compile_text(&ir, Path::new("out/ir.txt"), &options);
    let again = from_ir.program.map(|program| forebay_ir::text::write(&program));
    assert_eq!(again, Some(ir));
    assert!(from_ir.p4info.is_none() && from_ir.report.good);
}

#[test]
fn mistakes_of_a_text_have_its_name() {
    let mistaken = "control c() {\n    apply { x = 1; }\n}\n";
    let compiled = compile_text(mistaken, Path::new("here.p4"), &CompileOptions::default());
    assert!(!compiled.report.good);
    assert!(
        compiled.report.messages.contains("here.p4:2:13"),
        "{}",
        compiled.report.messages
    );
    let compiled = compile_text("program nothing\n", Path::new("ir.txt"), &CompileOptions::default());
    assert!(
        compiled.report.messages.starts_with("error: ir.txt:"),
        "{}",
        compiled.report.messages
    );
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let missing = compile_file(Path::new("/no/such.p4"), &CompileOptions::default()).err();
    let message = missing.expect("it does not exist").to_string();
    assert!(
        message.starts_with("cannot read /no/such.p4: No such file"),
        "{message}"
    );
    let folder = compile_file(&programs(), &CompileOptions::default()).err();
    assert!(matches!(folder, Some(Error::IsFolder(_, wanted)) if wanted == "program"));
    let this = Path::new(file!()).file_name().expect("a name");
    let this = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(this);
    assert!(matches!(make_folder(&this), Err(Error::IsFile(_))));
    assert!(matches!(make_folder(Path::new("/dev/null")), Err(Error::IsFile(_))));
    assert!(check_folder(&programs()).is_ok() && check_folder(Path::new("/no/such/folder")).is_ok());
    assert!(matches!(
        write(Path::new("/no/such/folder"), "x"),
        Err(Error::Write(..))
    ));
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("byte_order_mark.stf");
    write(&path, "\u{feff}add").expect("a file");
    assert_eq!(text(&path, "file").expect("a text"), "add");
    check_writable(&path).expect("it can be written");
    assert_eq!(bytes(&path).expect("a file").len(), 6, "it is as it was");
    let nowhere = check_writable(Path::new("/no/such/folder/file"));
    assert!(matches!(nowhere, Err(Error::Write(..))));
    let folder = check_writable(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let said = folder.expect_err("it is a folder").to_string();
    assert!(said.contains("is a directory"), "{said}");
}

#[test]
fn a_text_in_another_encoding_is_no_binary_file() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("latin.toml");
    let message = |contents: &[u8]| {
        write(&path, contents).expect("a file");
        text(&path, "configuration file")
            .expect_err("it is not UTF-8")
            .to_string()
    };
    let latin = message(b"workers = 2\n# f\xfcr eth1\n");
    let place = format!("{}:2: ", path.display());
    assert!(latin.starts_with(&place) && latin.contains("UTF-8"), "{latin}");
    assert!(message(b"\x7fELF\x02\x00\xff").contains("is a binary file"));
}

#[test]
fn a_program_whose_path_is_no_text_is_told() {
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.p4");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    write(&path, "").expect("a file");
    let error = compile_file(&path, &CompileOptions::default()).err();
    assert!(
        error
            .expect("it cannot be named")
            .to_string()
            .contains("is not in UTF-8")
    );
}

#[test]
fn a_file_is_replaced_and_keeps_its_mode() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replaced");
    // Of an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    make_folder(&folder).expect("a folder");
    let (path, link) = (folder.join("results.json"), folder.join("link"));
    write(&path, "first").expect("a file");
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("its mode");
    let before = std::fs::metadata(&path).expect("it is there");
    write(&path, "second").expect("a file");
    let after = std::fs::metadata(&path).expect("it is there");
    assert_ne!(
        before.ino(),
        after.ino(),
        "the first one was whole until the second was"
    );
    assert_eq!((after.mode() & 0o777, after.uid()), (0o640, before.uid()));
    symlink(&path, &link).expect("a link");
    write(&link, "third").expect("what it leads to");
    assert!(link.is_symlink());
    assert_eq!(bytes(&path).expect("a file"), b"third");
    assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 2);
    assert!(matches!(write(Path::new("/dev/full"), "x"), Err(Error::Write(..))));
}

/// What has no end does not fill the memory; what is empty is no mistake.
#[test]
fn devices_are_read_to_a_limit() {
    assert!(matches!(bytes(Path::new("/dev/zero")), Err(Error::Endless(_))));
    let scenario = Folder::new("/dev").bytes("zero").expect_err("it has no end");
    assert_eq!(scenario, "/dev/zero is a device, not a file: it does not end");
    assert_eq!(bytes(Path::new("/dev/null")).expect("it is empty"), b"");
}

#[test]
fn a_folder_compiles_a_program_once_for_the_same_macros() {
    let folder = Folder::new(programs());
    let first = folder.program("portfwd/portfwd.p4", &[]).expect("a program");
    assert_eq!(folder.program("portfwd/portfwd.p4", &[]), Ok(first));
    assert!(folder.program("portfwd/missing.p4", &[]).is_err());
}

#[test]
fn a_program_includes_from_folders_that_are_named() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("including");
    make_folder(&path.join("common")).expect("a folder");
    let source = text(&programs().join("portfwd/portfwd.p4"), "program").expect("it can be read");
    write(&path.join("common/whole.p4"), source).expect("a file");
    write(&path.join("main.p4"), "#include <whole.p4>\n").expect("a file");
    let folder = Folder::new(path);
    assert!(folder.program("main.p4", &[]).is_err());
    let common = ["common".to_string()];
    assert!(folder.program_including("main.p4", &[], &common).is_ok());
    assert!(folder.program("main.p4", &[]).is_err(), "it is another program");
}
