//! Where metrics are pushed: what a user writes, and what becomes of it.

use crate::family::Family;
use crate::http::Endpoint;
use crate::{influx, otlp};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;

/// The ports of InfluxDB, of OTLP over HTTP, and of https.
const INFLUX_PORT: u16 = 8086;
const OTLP_PORT: u16 = 4318;
const HTTPS_PORT: u16 = 443;

/// A place to which metrics are pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    kind: TargetKind,
    pub(crate) endpoint: Endpoint,
}

/// The identity of the process that pushes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name that distinguishes the process from others.
    pub instance: String,
    /// When it started, in nanoseconds since the Unix epoch.
    pub start_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetKind {
    Influx,
    Otlp,
}

/// What is wrong with a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError(String);

impl fmt::Display for TargetError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TargetError {}

fn wrong(problem: impl Into<String>) -> TargetError {
    TargetError(problem.into())
}

/// The parts of `http[s]://[USER:PASSWORD@]HOST[:PORT][/PATH][?QUERY]`.
struct Url<'a> {
    is_secure: bool,
    user: Option<&'a str>,
    host: &'a str,
    port: Option<u16>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Url<'a> {
    fn parse(text: &'a str) -> Result<Url<'a>, TargetError> {
        let (is_secure, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            (None, None) => return Err(wrong("a URL begins with http:// or https://")),
        };
        if let Some(bad) = text.chars().find(|character| !character.is_ascii_graphic()) {
            return Err(wrong(format!("a URL has no {bad:?}; write it as %XX")));
        }
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let (host, port) = host_and_port(place)?;
        Ok(Url {
            is_secure,
            user,
            host,
            port,
            path: path.trim_end_matches('/'),
            query,
        })
    }

    /// The port: the one that is written, that of https, or the usual one of what is meant.
    fn port(&self, usual: u16) -> u16 {
        self.port.unwrap_or(if self.is_secure { HTTPS_PORT } else { usual })
    }

    /// The value of a parameter.
    fn parameter(&self, name: &str) -> Option<&str> {
        let parameters = self.query.unwrap_or("").split('&');
        let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
        pairs.find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}

/// The header for `USER:PASSWORD` of a URL, in which characters may be written as %XX.
fn basic(user: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = user.as_bytes();
    while let [first, behind @ ..] = rest {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let escaped = match behind {
            [high, low, ..] if *first == b'%' => digit(high).zip(digit(low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push((16 * high + low) as u8);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    format!("Basic {}", STANDARD.encode(bytes))
}

fn host_and_port(place: &str) -> Result<(&str, Option<u16>), TargetError> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, after)) => match after.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None => {
                return Err(wrong(format!(
                    "`{after}` stands after the host; a port is written as :8086"
                )));
            }
        },
        None if place.matches(':').count() > 1 => {
            return Err(wrong(format!(
                "an IPv6 address stands in brackets, as in [::1]:8086, not as `{place}`"
            )));
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    if host.is_empty() {
        return Err(wrong("the URL has no host"));
    }
    let number = |port: &str| port.parse().map_err(|_| wrong(format!("`{port}` is no port")));
    Ok((host, port.map(number).transpose()?))
}

impl Target {
    /// InfluxDB 1 and VictoriaMetrics (`http://HOST:8086?db=NAME`), or InfluxDB 2
    /// (`http://HOST:8086?org=NAME&bucket=NAME`, with a token).
    ///
    /// # Errors
    /// When the URL is not of that form.
    pub fn influx(url: &str, token: Option<&str>) -> Result<Target, TargetError> {
        let parsed = Url::parse(url)?;
        let (call, query) = match (parsed.parameter("db"), parsed.parameter("bucket")) {
            (Some(_), None) => ("/write", parsed.query.unwrap_or("")),
            (None, Some(_)) => ("/api/v2/write", parsed.query.unwrap_or("")),
            (Some(_), Some(_)) => return Err(wrong("`db` is of InfluxDB 1, `bucket` of InfluxDB 2: one of them")),
            (None, None) => {
                return Err(wrong(format!(
                    "the URL names no database: {url}?db=NAME for InfluxDB 1 and VictoriaMetrics, \
                     {url}?org=NAME&bucket=NAME for InfluxDB 2"
                )));
            }
        };
        let authorization = match token {
            Some(token) => Some(format!("Token {token}")),
            None => parsed.user.map(basic),
        };
        Ok(Target {
            kind: TargetKind::Influx,
            endpoint: Endpoint {
                host: parsed.host.to_string(),
                port: parsed.port(INFLUX_PORT),
                path: format!("{}{call}?{query}&precision=ns", parsed.path),
                content_type: "text/plain; charset=utf-8",
                authorization,
                is_secure: parsed.is_secure,
            },
        })
    }

    /// An OpenTelemetry collector: `http://HOST:4318`; what stands after the host comes before `/v1/metrics`.
    ///
    /// # Errors
    /// When the URL is not of that form.
    pub fn otlp(url: &str) -> Result<Target, TargetError> {
        let parsed = Url::parse(url)?;
        let path = parsed.path.trim_end_matches("/v1/metrics");
        Ok(Target {
            kind: TargetKind::Otlp,
            endpoint: Endpoint {
                host: parsed.host.to_string(),
                port: parsed.port(OTLP_PORT),
                path: format!("{path}/v1/metrics"),
                content_type: "application/json",
                authorization: parsed.user.map(basic),
                is_secure: parsed.is_secure,
            },
        })
    }

    /// Whether connections to it are encrypted; then its pusher needs authorities.
    pub fn is_secure(&self) -> bool {
        self.endpoint.is_secure
    }

    /// Whether it takes lines of InfluxDB's protocol.
    pub fn takes_lines(&self) -> bool {
        self.kind == TargetKind::Influx
    }

    /// The name of the protocol, for labels and messages.
    pub fn protocol(&self) -> &'static str {
        match self.kind {
            TargetKind::Influx => "influx",
            TargetKind::Otlp => "otlp",
        }
    }

    /// What is sent for families, at a time in nanoseconds since the Unix epoch.
    pub fn encode(&self, families: &[Family], identity: &Identity, time_ns: u64) -> Vec<u8> {
        match self.kind {
            TargetKind::Influx => influx::lines(families, &identity.instance, time_ns).into_bytes(),
            TargetKind::Otlp => otlp::request(families, identity, time_ns).to_string().into_bytes(),
        }
    }
}

impl fmt::Display for Target {
    /// Without user and token. Two databases of a server differ in their names alone.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Endpoint { host, port, path, .. } = &self.endpoint;
        let (path, query) = path.split_once('?').unwrap_or((path.as_str(), ""));
        let scheme = if self.endpoint.is_secure { "https" } else { "http" };
        if host.contains(':') {
            write!(formatter, "{scheme}://[{host}]:{port}{path}")?
        } else {
            write!(formatter, "{scheme}://{host}:{port}{path}")?
        }
        let is_name = |parameter: &&str| parameter.starts_with("db=") || parameter.starts_with("bucket=");
        match query.split('&').find(is_name) {
            Some(name) => write!(formatter, "?{name}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn influx(url: &str, token: Option<&str>) -> Result<(String, u16, String, Option<String>), String> {
        let target = Target::influx(url, token).map_err(|error| error.to_string())?;
        let endpoint = target.endpoint;
        Ok((endpoint.host, endpoint.port, endpoint.path, endpoint.authorization))
    }

    #[test]
    fn databases_of_both_versions() {
        let target = |host: &str, port, path: &str, authorization: Option<&str>| {
            Ok((
                host.to_string(),
                port,
                path.to_string(),
                authorization.map(str::to_string),
            ))
        };
        assert_eq!(
            influx("http://127.0.0.1?db=p4", None),
            target("127.0.0.1", 8086, "/write?db=p4&precision=ns", None)
        );
        assert_eq!(
            influx("http://me:secret@[::1]:80/base/?db=p4&rp=week", None),
            target(
                "::1",
                80,
                "/base/write?db=p4&rp=week&precision=ns",
                Some("Basic bWU6c2VjcmV0")
            )
        );
        assert_eq!(
            influx("http://db:8086?org=o&bucket=b", Some("abc")),
            target(
                "db",
                8086,
                "/api/v2/write?org=o&bucket=b&precision=ns",
                Some("Token abc")
            )
        );
        assert_eq!(
            Target::influx("https://db?db=x", None).map(|target| target.to_string()),
            Ok("https://db:443/write?db=x".to_string())
        );
        assert_eq!(
            Target::influx("http://db?u=me&p=secret&org=o&bucket=b", None).map(|target| target.to_string()),
            Ok("http://db:8086/api/v2/write?bucket=b".to_string())
        );
        assert!(influx("http://db", None).unwrap_err().contains("http://db?db=NAME"));
        for (url, problem) in [
            ("db:8086", "a URL begins with http:// or https://"),
            ("http://:8086?db=x", "the URL has no host"),
            ("http://db:x?db=y", "`x` is no port"),
            (
                "http://[::1]8086?db=x",
                "`8086` stands after the host; a port is written as :8086",
            ),
            (
                "http://::1:8086?db=x",
                "an IPv6 address stands in brackets, as in [::1]:8086, not as `::1:8086`",
            ),
            (
                "http://db?db=y&bucket=z",
                "`db` is of InfluxDB 1, `bucket` of InfluxDB 2: one of them",
            ),
            ("http://db?db=a b", "a URL has no ' '; write it as %XX"),
        ] {
            assert_eq!(influx(url, None).unwrap_err(), problem, "{url}");
        }
    }

    #[test]
    fn passwords_may_have_any_characters() {
        for (user, meant) in [
            ("me:a%2Fb%3f%40%20%C3%BC", "me:a/b?@ \u{fc}"),
            ("me:100%", "me:100%"),
            ("me:%zz%4", "me:%zz%4"),
            ("me:%2541", "me:%41"),
        ] {
            assert_eq!(basic(user), format!("Basic {}", STANDARD.encode(meant)), "{user}");
            let target = Target::otlp(&format!("http://{user}@collector")).expect(user);
            assert_eq!(target.endpoint.authorization, Some(basic(user)));
        }
    }

    #[test]
    fn otlp_has_its_path() {
        for url in [
            "http://collector",
            "http://collector:4318/",
            "http://collector:4318/v1/metrics",
        ] {
            let target = Target::otlp(url).expect(url);
            assert_eq!(target.to_string(), "http://collector:4318/v1/metrics");
        }
    }
}
