//! The program of the switch: shown, pushed, kept in files.

use super::session::Session;
use crate::files;
use crate::program::{self, CompileOptions};
use anyhow::{Context, Result, bail};
use forebay_protocol::p4::config::v1::P4Info;
use forebay_protocol::p4::v1::ForwardingPipelineConfig;
use forebay_protocol::p4::v1::forwarding_pipeline_config::Cookie;
use forebay_protocol::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use forebay_protocol::p4::v1::set_forwarding_pipeline_config_request::Action;
use forebay_shell::{Push, Record};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Tells which program runs.
pub(super) fn show(session: &mut Session) -> Result<()> {
    let config = session.client.pipeline(ResponseType::All)?;
    let info = config.p4info.unwrap_or_default();
    let package = info.pkg_info.clone().unwrap_or_default();
    let record = Record::default()
        .text("program", package.name)
        .text("architecture", package.arch)
        .number("tables", info.tables.len() as i64)
        .number("actions", info.actions.len() as i64)
        .number("config_bytes", config.p4_device_config.len() as i64)
        .text(
            "cookie",
            config
                .cookie
                .map_or_else(String::new, |cookie| cookie.cookie.to_string()),
        );
    session.format.records(&[record])
}

/// Writes the program to a file, and its P4Info to one beside it.
pub(super) fn get(session: &mut Session, file: &str) -> Result<()> {
    let config = session.client.pipeline(ResponseType::All)?;
    let beside = format!("{file}.p4info.txtpb");
    files::write(Path::new(file), &config.p4_device_config)?;
    let info = forebay_protocol::p4info::write(&config.p4info.unwrap_or_default());
    files::write(Path::new(&beside), info)?;
    let object = json!({ "config": file, "p4info": beside });
    session
        .format
        .fact(&format!("{file} and {beside} are written"), &object)
}

/// Makes the switch run another program.
pub(super) fn push(session: &mut Session, push: &Push) -> Result<()> {
    let path = Path::new(&push.file);
    let (p4info, blob) = match &push.p4info {
        Some(info) => (read_info(Path::new(info))?, blob(path, &push.defines)?),
        None if path.extension().is_some_and(|extension| extension == "p4") => compiled(path, &push.defines)?,
        None => compiled_before(path)?,
    };
    let action = if push.keeps_state {
        Action::ReconcileAndCommit
    } else {
        Action::VerifyAndCommit
    };
    let config = ForwardingPipelineConfig {
        p4info: Some(p4info),
        p4_device_config: blob,
        cookie: push.cookie.map(|cookie| Cookie { cookie }),
    };
    session.client.set_pipeline(action, config)?;
    session.reload()?;
    let object = json!({ "program": push.file });
    session.format.fact(&format!("{} runs", push.file), &object)
}

/// What a file holds. P4 source is compiled here, so that mistakes are shown as the compiler shows them, and is pushed
/// with all files that it includes.
fn blob(path: &Path, defines: &[String]) -> Result<Vec<u8>> {
    if path.extension().is_none_or(|extension| extension != "p4") {
        return read_blob(path);
    }
    match program::bundle(path, &compile_options(defines))? {
        Some(bundle) => Ok(bundle.write().into_bytes()),
        None => bail!("{} cannot be compiled", path.display()),
    }
}

fn compile_options(defines: &[String]) -> CompileOptions {
    CompileOptions {
        define: defines.to_vec(),
        ..CompileOptions::default()
    }
}

fn compiled(path: &Path, defines: &[String]) -> Result<(P4Info, Vec<u8>)> {
    let compilation = program::compile_file(path, &compile_options(defines))?;
    program::print(&compilation.report);
    let (Some(program), Some(info)) = (compilation.program, compilation.p4info) else {
        bail!("{} cannot be compiled", path.display());
    };
    let blob = forebay_ir::text::write(&program).into_bytes();
    Ok((forebay_protocol::p4info::from_compiler(&info), blob))
}

/// A program that was compiled before, with the P4Info beside it.
fn compiled_before(path: &Path) -> Result<(P4Info, Vec<u8>)> {
    // Of a file that is not there no P4Info is missing.
    let blob = read_blob(path)?;
    Ok((info_beside(path)?, blob))
}

fn read_blob(path: &Path) -> Result<Vec<u8>> {
    Ok(forebay_files::bytes(path)?)
}

fn read_info(path: &Path) -> Result<P4Info> {
    let text = files::text(path, "P4Info")?;
    forebay_protocol::p4info::read(&text).with_context(|| path.display().to_string())
}

/// The P4Info beside a compiled program: as `pipeline get` leaves it, or as compilers do. One with the program's own
/// name goes before one that may be of any program of the folder.
fn info_beside(path: &Path) -> Result<P4Info> {
    let written = PathBuf::from(format!("{}.p4info.txtpb", path.display()));
    if written.exists() {
        return read_info(&written);
    }
    let beside = forebay_files::p4info_beside(path)?;
    beside.with_context(|| {
        format!(
            "the P4Info of {} is missing: name it with --p4info FILE",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_protocol::p4::config::v1::PkgInfo;

    #[test]
    fn a_file_that_is_not_there_lacks_no_p4info() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("program.bin");
        let said = || compiled_before(&program).expect_err("there is no P4Info").to_string();
        assert!(said().starts_with("cannot read "), "{}", said());
        files::write(&program, "a program").expect("a file");
        assert!(said().contains("--p4info FILE"), "{}", said());
    }

    #[test]
    fn the_p4info_of_the_programs_own_name_goes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("now");
        let of = |name: &str| P4Info {
            pkg_info: Some(PkgInfo {
                name: name.to_string(),
                ..PkgInfo::default()
            }),
            ..P4Info::default()
        };
        let found = || {
            info_beside(&program)
                .expect("a P4Info")
                .pkg_info
                .unwrap_or_default()
                .name
        };
        assert!(info_beside(&program).is_err());
        for name in ["p4info.txtpb", "now.p4.p4info.txtpb", "now.p4info.txtpb"] {
            files::write(&folder.path().join(name), forebay_protocol::p4info::write(&of(name))).expect("a file");
            assert_eq!(found(), name);
        }
    }
}
