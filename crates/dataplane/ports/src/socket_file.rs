//! Files of sockets (`man 7 unix`).

use libc::{O_NOFOLLOW, O_PATH};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file of a socket that listens. It is removed when this is dropped, unless another file has taken its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// The file itself, without access to it: as long as it is open, no other file has its number.
    file: Option<File>,
}

impl SocketFile {
    /// Makes a socket that listens at a path. The file of a socket that no process serves any more is replaced; any
    /// other file stays.
    ///
    /// `bind` makes the socket. `connect` connects to the socket that is there already.
    ///
    /// # Errors
    /// [`ErrorKind::AddrInUse`] when a process serves a socket at this path, [`ErrorKind::AlreadyExists`] when
    /// something else is there, or what the system says.
    pub fn listen<S>(
        path: &Path,
        bind: impl Fn() -> io::Result<S>,
        connect: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<(S, SocketFile)> {
        let socket = match bind() {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                make_room(path, connect)?;
                bind()?
            }
            bound => bound?,
        };
        let itself = OpenOptions::new()
            .read(true)
            .custom_flags(O_PATH | O_NOFOLLOW)
            .open(path);
        let (path, file) = (path.to_path_buf(), itself.ok());
        Ok((socket, SocketFile { path, file }))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let own = self.file.as_ref().and_then(|file| file.metadata().ok());
        let found = fs::symlink_metadata(&self.path).ok();
        if own.is_some() && own.as_ref().map(identity) == found.as_ref().map(identity) {
            // A file that is left over does no harm: the next listener replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Device and number of a file.
fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Removes the file of a socket that no process serves.
fn make_room(path: &Path, connect: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(io::Error::new(
            ErrorKind::AlreadyExists,
            "a file that is not a socket is there",
        ));
    }
    match connect() {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
        _ => Err(ErrorKind::AddrInUse.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn listen(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
        SocketFile::listen(
            path,
            || UnixListener::bind(path),
            || UnixStream::connect(path).map(drop),
        )
    }

    #[test]
    fn only_sockets_that_nobody_serves_are_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let served = listen(&path).expect("the path is free");
        assert_eq!(listen(&path).expect_err("it is served").kind(), ErrorKind::AddrInUse);
        drop(served.0);
        let (_replaced, file) = listen(&path).expect("nobody serves it");
        drop(served.1);
        assert!(path.exists(), "the file is that of the second socket");
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn other_files_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "content").expect("it can be written");
        std::os::unix::fs::symlink(folder.path().join("nothing"), &link).expect("it can be made");
        for path in [&file, &link] {
            assert_eq!(
                listen(path).expect_err("it is no socket").kind(),
                ErrorKind::AlreadyExists
            );
        }
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "content");
        assert!(link.is_symlink());
    }
}
