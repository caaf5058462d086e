//! Addresses as people and other controllers write them: `HOST:PORT`, `[IPV6]:PORT`, `:PORT`, `PORT`, `unix:PATH`.

use std::fmt;
use std::io;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::str::FromStr;

/// The port that P4Runtime has with IANA.
pub const DEFAULT_PORT: u16 = 9559;

/// Where a server listens, or is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port of a host.
    Tcp {
        /// Name or number; none for all interfaces of this machine, which a client reaches as `localhost`.
        host: Option<String>,
        /// Port.
        port: u16,
    },
    /// A socket in the file system.
    Unix(PathBuf),
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError(String);

impl fmt::Display for AddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for AddressError {}

impl Address {
    /// A port of this machine that only programs on it reach.
    pub fn loopback(port: u16) -> Address {
        Address::Tcp {
            host: Some("127.0.0.1".to_string()),
            port,
        }
    }

    /// As a client of gRPC names it.
    pub fn uri(&self, scheme: &str) -> String {
        match self {
            Address::Tcp { host: None, port } => format!("{scheme}://localhost:{port}"),
            Address::Tcp { .. } => format!("{scheme}://{self}"),
            Address::Unix(path) => format!("unix:{}", path.display()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host: None, port } => write!(formatter, "*:{port}"),
            Address::Tcp { host: Some(host), port } if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Address::Tcp { host: Some(host), port } => write!(formatter, "{host}:{port}"),
            Address::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix(path);
        }
        if text.starts_with("unix-abstract:") {
            return Err(wrong(text, "abstract sockets are not supported"));
        }
        // The names of gRPC for what is written without them here.
        let resolvers = ["dns:///", "dns:", "ipv4:", "ipv6:"];
        let text = resolvers
            .iter()
            .find_map(|resolver| text.strip_prefix(resolver))
            .unwrap_or(text);
        tcp(text)
    }
}

/// The most bytes of the path of a socket on Linux: a zero byte ends it.
const SOCKET_PATH_MAX: usize = 107;

/// `unix:PATH` and `unix:///PATH`.
fn unix(path: &str) -> Result<Address, AddressError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() {
        Err(wrong("unix:", "the path of the socket is missing"))
    } else if path.len() > SOCKET_PATH_MAX {
        let why = format!(
            "the path of a socket has at most {SOCKET_PATH_MAX} bytes, this one has {}",
            path.len()
        );
        Err(wrong(&format!("unix:{path}"), &why))
    } else {
        Ok(Address::Unix(PathBuf::from(path)))
    }
}

fn tcp(text: &str) -> Result<Address, AddressError> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Address::loopback(port(text, text)?));
    }
    let (host, number) = match text.strip_prefix('[') {
        Some(rest) => {
            let closed = rest
                .split_once(']')
                .and_then(|(host, rest)| Some((host, rest.strip_prefix(':')?)));
            closed.ok_or_else(|| wrong(text, "after the brackets comes `:PORT`"))?
        }
        None => text
            .rsplit_once(':')
            .ok_or_else(|| wrong(text, "the port is missing"))?,
    };
    if !text.starts_with('[') && host.contains(':') {
        let has_no_port = text.parse::<Ipv6Addr>().is_ok() && host.parse::<Ipv6Addr>().is_err();
        let meant = if has_no_port {
            format!("[{text}]:PORT")
        } else {
            format!("[{host}]:{number}")
        };
        return Err(wrong(
            text,
            &format!("an address of IPv6 stands in brackets: `{meant}`"),
        ));
    }
    if host.contains(['/', ' ']) {
        return Err(wrong(text, &format!("`{host}` is no host")));
    }
    Ok(Address::Tcp {
        host: (!["", "*"].contains(&host)).then(|| host.to_string()),
        port: port(text, number)?,
    })
}

fn port(text: &str, number: &str) -> Result<u16, AddressError> {
    number
        .parse()
        .map_err(|_| wrong(text, &format!("`{number}` is no port from 0 to 65535")))
}

fn wrong(text: &str, why: &str) -> AddressError {
    AddressError(format!(
        "`{text}` is no address: {why}; expected HOST:PORT, [IPV6]:PORT, :PORT for all interfaces, PORT on this machine, or \
         unix:PATH"
    ))
}

/// Why a server cannot listen at an address, with what helps.
pub fn why_not_listening(error: &io::Error) -> String {
    let help = match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there; end it, or choose another address",
        io::ErrorKind::AddrNotAvailable => "no interface of this machine has this address",
        io::ErrorKind::PermissionDenied => {
            "a port below 1024 is for root, a socket for those who may write to its folder"
        }
        io::ErrorKind::NotFound => "the folder of the socket has to exist",
        _ => return error.to_string(),
    };
    format!("{error}: {help}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helps_where_nothing_can_listen() {
        let taken = io::Error::from(io::ErrorKind::AddrInUse);
        assert!(
            why_not_listening(&taken).ends_with(": another program listens there; end it, or choose another address")
        );
        let other = io::Error::from(io::ErrorKind::OutOfMemory);
        assert_eq!(why_not_listening(&other), other.to_string());
    }

    fn read(text: &str) -> Result<String, String> {
        let address = text.parse::<Address>().map_err(|error| error.to_string())?;
        Ok(address.to_string())
    }

    #[test]
    fn every_form_is_understood() {
        let forms = [
            ("127.0.0.1:9559", "127.0.0.1:9559"),
            ("localhost:50051", "localhost:50051"),
            ("[::1]:50051", "[::1]:50051"),
            ("dns:///switch:1", "switch:1"),
            ("ipv6:[::]:7", "[::]:7"),
            ("9559", "127.0.0.1:9559"),
            (":9559", "*:9559"),
            ("*:9559", "*:9559"),
            ("unix:/run/s", "unix:/run/s"),
            ("unix:///run/s", "unix:/run/s"),
            ("unix:here", "unix:here"),
        ];
        for (written, meant) in forms {
            assert_eq!(read(written), Ok(meant.to_string()), "{written}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mistakes = [
            ("l3.p4", "the port is missing"),
            ("::1:9559", "stands in brackets: `[::1]:9559`"),
            ("::1", "stands in brackets: `[::1]:PORT`"),
            ("::", "stands in brackets: `[::]:PORT`"),
            ("[::1]", "after the brackets"),
            ("localhost:99999", "`99999` is no port"),
            ("70000", "`70000` is no port"),
            ("unix:", "the path of the socket is missing"),
            (
                "unix:/tmp/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/s",
                "at most 107 bytes, this one has 108",
            ),
            ("a/b:1", "`a/b` is no host"),
            ("", "the port is missing"),
        ];
        for (written, why) in mistakes {
            let message = read(written).unwrap_err();
            assert!(message.contains(why), "{written}: {message}");
        }
    }

    #[test]
    fn clients_call_all_interfaces_localhost() {
        let uri = |text: &str| text.parse::<Address>().unwrap().uri("http");
        assert_eq!(uri(":7"), "http://localhost:7");
        assert_eq!(uri("[::1]:7"), "http://[::1]:7");
        assert_eq!(uri("unix:///run/s"), "unix:/run/s");
    }
}
