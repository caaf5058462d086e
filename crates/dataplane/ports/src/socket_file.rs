//! Files of sockets (`man 7 unix`).

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The file of a socket that listens. It is removed when this is dropped, unless another file has taken its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and number of the file.
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    /// Makes a socket that listens at a path. The file of a socket that no process serves any more is replaced; any other
    /// file stays.
    ///
    /// `bind` makes the socket. `connect` connects to the socket that is there already.
    ///
    /// # Errors
    /// [`ErrorKind::AddrInUse`] when a process serves a socket at this path, [`ErrorKind::AlreadyExists`] when something
    /// else is there, or what the system says.
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
        let identity = fs::symlink_metadata(path).ok().as_ref().map(identity);
        let path = path.to_path_buf();
        Ok((socket, SocketFile { path, identity }))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path).ok().as_ref().map(identity);
        if found.is_some() && found == self.identity {
            // A file that is left over does no harm: the next who listens replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

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
