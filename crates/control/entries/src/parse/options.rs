//! Comment lines that say how a test's program is to be compiled: `# forebay: -D N=2 -I include`.

/// What such a comment begins with, after `#`.
const MARK: &str = "forebay:";

/// The options that comment lines of an STF file give, each with its line (from 1). The caller, which
/// compiles the program, interprets them.
pub fn options(text: &str) -> impl Iterator<Item = (u32, &str)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let comment = line.trim_start().strip_prefix('#')?;
        Some((number, comment.trim_start().strip_prefix(MARK)?.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comment_lines_that_begin_so() {
        let text = "# about\n# forebay: -D N=2\npacket 1 00 # forebay: -D M\n  #forebay:-I x \n";
        assert_eq!(options(text).collect::<Vec<_>>(), [(2, "-D N=2"), (4, "-I x")]);
    }
}
