//! Short names: which object a test means.
//!
//! The reference runner takes the object that has exactly the name, else the only one whose name *ends* with it. We
//! look in between for the only one that ends with it after a dot, so `t1` is `ingress.t1` even beside `ingress.last1`.

use forebay_syntax::diagnostic::closest_name;

/// The index of the object that `name` means. The error says why there is none.
pub(crate) fn resolve<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize, String> {
    let fits: [&dyn Fn(&str) -> bool; 3] = [
        &|full| full == name,
        &|full| full.strip_suffix(name).is_some_and(|rest| rest.ends_with('.')),
        &|full| full.ends_with(name),
    ];
    for fits in fits {
        let candidates: Vec<usize> = known
            .clone()
            .enumerate()
            .filter(|(_, full)| fits(full))
            .map(|(index, _)| index)
            .collect();
        match candidates[..] {
            [] => {}
            [index] => return Ok(index),
            _ => {
                return Err(ambiguous(
                    what,
                    name,
                    known
                        .enumerate()
                        .filter(|(i, _)| candidates.contains(i))
                        .map(|(_, n)| n),
                ));
            }
        }
    }
    Err(unknown(what, name, known))
}

/// The index of the key field that `name` means. `h$0.f` is `h[0].f`; a header stands for its validity.
pub(crate) fn resolve_key<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Result<usize, String> {
    let wanted = with_brackets(name);
    let spellings: Vec<String> = known.clone().map(plain_key).collect();
    let spellings = spellings.iter().map(String::as_str);
    resolve("key field", &plain_key(&wanted), spellings.clone())
        .or_else(|_| resolve("key field", &format!("{wanted}.$valid$"), spellings))
        .map_err(|_| unknown("key field", name, known))
}

/// One spelling for the ways to write a header's validity; no `$` at the end of other names.
fn plain_key(name: &str) -> String {
    for validity in [".isValid()", ".$valid$", ".$valid", ".valid", ".isValid"] {
        if let Some(header) = name.strip_suffix(validity) {
            return format!("{header}.$valid$");
        }
    }
    match name {
        "valid" | "$valid" | "$valid$" | "isValid()" => ".$valid$".to_string(),
        _ => name.trim_end_matches('$').to_string(),
    }
}

/// `extra$0.h` is `extra[0].h`.
fn with_brackets(name: &str) -> String {
    let Some((before, rest)) = name.split_once('$') else {
        return name.to_string();
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 {
        return name.to_string();
    }
    format!("{before}[{}]{}", &rest[..digits], &rest[digits..])
}

/// Names in a message.
const NAMES_LISTED_MAX: usize = 12;

/// A name that is not there: the nearest one is proposed, or all that there are. Of tables the IR has those that are
/// applied.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(name, known.clone()) {
        return format!("there is no {what} `{name}`; did you mean `{near}`?");
    }
    let left_out = if what == "table" {
        " (a table that is never applied is left out)"
    } else {
        ""
    };
    match list(known) {
        known if known.is_empty() => format!("there is no {what} `{name}`: there is none at all{left_out}"),
        known => format!("there is no {what} `{name}`; there is {known}{left_out}"),
    }
}

/// The name, or the end of one after a dot, that a misspelt name is probably meant to be.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let parts = name.split('.').count();
    let ends = known.map(|full| {
        full.rsplitn(parts + 1, '.')
            .nth(parts)
            .map_or(full, |rest| &full[rest.len() + 1..])
    });
    closest_name(name, ends)
}

fn ambiguous<'a>(what: &str, name: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> String {
    format!("`{name}` may be several {what}s: {}", list(candidates))
}

fn list<'a>(names: impl Iterator<Item = &'a str> + Clone) -> String {
    let mut listed: Vec<String> = names
        .clone()
        .take(NAMES_LISTED_MAX)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = names.count() - listed.len();
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(name: &str, known: &[&str]) -> Result<usize, String> {
        resolve("table", name, known.iter().copied())
    }

    fn find_key(name: &str, known: &[&str]) -> Result<usize, String> {
        resolve_key(name, known.iter().copied())
    }

    #[test]
    fn exact_before_suffix() {
        assert_eq!(find("t", &["c.t", "t"]), Ok(1));
        assert_eq!(find("t1", &["c.last1", "c.t1"]), Ok(1));
        assert_eq!(find("st1", &["c.last1", "c.t1"]), Ok(0));
    }

    #[test]
    fn messages() {
        assert_eq!(
            find("t", &["a.t", "b.t"]).unwrap_err(),
            "`t` may be several tables: `a.t`, `b.t`"
        );
        assert_eq!(
            find("x", &["a.t"]).unwrap_err(),
            "there is no table `x`; there is `a.t` (a table that is never applied is left out)"
        );
        assert_eq!(
            find("rotuing", &["a.acl", "a.routing"]).unwrap_err(),
            "there is no table `rotuing`; did you mean `routing`?"
        );
        assert_eq!(
            find_key("hdr.ipv4.dts", &["hdr.ipv4.src", "hdr.ipv4.dst"]).unwrap_err(),
            "there is no key field `hdr.ipv4.dts`; did you mean `hdr.ipv4.dst`?"
        );
    }

    #[test]
    fn spellings_of_keys() {
        assert_eq!(find_key("extra$0.h", &["hdr.extra[0].h"]), Ok(0));
        assert_eq!(find_key("data.f1", &["hdr.data.f2", "hdr.data.f1"]), Ok(1));
        for name in ["data", "data.valid", "data.$valid", "data.$valid$", "hdr.data"] {
            assert_eq!(find_key(name, &["hdr.data.f1", "hdr.data.isValid()"]), Ok(1), "{name}");
        }
        assert_eq!(find_key("valid", &["hdr.data.$valid$"]), Ok(0));
        assert_eq!(find_key("hdr.h.x", &["hdr.h.x$"]), Ok(0));
    }
}
