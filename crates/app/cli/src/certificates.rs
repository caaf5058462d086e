//! Files of certificates and keys that options name. What they lack is said here, with option and file; the libraries that
//! read them do not know either, and take a file without certificates for an empty list of them.

use anyhow::{Result, ensure};
use std::path::Path;

/// Reads a file that has a certificate, or several.
///
/// # Errors
/// When it cannot be read, or has none.
pub fn certificates(option: &str, path: &Path) -> Result<Vec<u8>> {
    read(path, option, "CERTIFICATE-----", "certificate")
}

/// Reads a file that has a private key.
///
/// # Errors
/// When it cannot be read, or has none.
pub fn key(option: &str, path: &Path) -> Result<Vec<u8>> {
    read(path, option, "PRIVATE KEY-----", "private key")
}

/// Reads a file with a part whose first line ends like this (RFC 7468).
fn read(path: &Path, option: &str, label: &str, what: &str) -> Result<Vec<u8>> {
    let bytes = forebay_files::bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(str::trim_end);
    let is_there = lines.any(|line| line.starts_with("-----BEGIN ") && line.ends_with(label));
    ensure!(is_there, "{option}: {} has no {what} in PEM", path.display());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_what_it_should_have_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("server.pem");
        let is_certificate = |text: &str| {
            std::fs::write(&path, text).expect("a folder");
            certificates("--ca", &path).is_ok()
        };
        assert!(is_certificate("text before\n-----BEGIN CERTIFICATE-----\r\nMII\n"));
        assert!(!is_certificate(""));
        assert!(!is_certificate("-----BEGIN EC PRIVATE KEY-----\nMII\n"));
        key("--key", &path).expect("it has one");
        let message = certificates("--ca", &path).expect_err("it has none").to_string();
        assert_eq!(message, format!("--ca: {} has no certificate in PEM", path.display()));
    }
}
