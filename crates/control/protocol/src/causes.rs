//! Errors with all that caused them.

use std::error::Error;

/// A message with what caused it, where the message does not say it already: a transport's own is only "transport
/// error".
pub fn with_causes(mut message: String, mut cause: Option<&(dyn Error + 'static)>) -> String {
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = inner.source();
    }
    message
}

/// Why certificates or keys cannot be used, with what to do where the library's words do not say it.
pub fn of_certificates(error: &(dyn Error + 'static)) -> String {
    let causes = with_causes(error.to_string(), error.source());
    match certificate_advice(&causes) {
        Some(advice) => format!("{causes}; {advice}"),
        None => causes,
    }
}

/// What to do about an error of rustls when it reads certificates and keys.
fn certificate_advice(causes: &str) -> Option<&'static str> {
    let known = [
        ("KeyMismatch", "the key is not that of the certificate"),
        (
            "no RSA or PKCS8-encoded keys found",
            "the key has a pass phrase, or is not PEM: `openssl pkey -in FILE` writes it without",
        ),
        (
            "failed to parse private key",
            "a key is RSA of 2,048 to 4,096 bits, ECDSA with P-256 or P-384, or Ed25519",
        ),
    ];
    let found = known.iter().find(|(words, _)| causes.contains(words));
    found.map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn certificates_that_cannot_be_used_have_advice() {
        let text = |words: &str| of_certificates(&io::Error::other(words.to_string()));
        assert_eq!(
            text("keys may not be consistent: KeyMismatch"),
            "keys may not be consistent: KeyMismatch; the key is not that of the certificate"
        );
        let encrypted = text("Error parsing TLS private key - no RSA or PKCS8-encoded keys found.");
        assert!(encrypted.contains("pass phrase"), "{encrypted}");
        let short = text("unexpected error: failed to parse private key as RSA, ECDSA, or EdDSA");
        assert!(short.contains("2,048"), "{short}");
        assert_eq!(text("invalid certificate"), "invalid certificate");
    }
}
