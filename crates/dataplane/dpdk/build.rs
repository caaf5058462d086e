//! Compiles the shim around DPDK's inline functions, and links libdpdk, when the feature `linked` is on.

fn main() {
    println!("cargo:rerun-if-changed=src/linked/shim.c");
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "linked")]
    linked::build();
}

#[cfg(feature = "linked")]
mod linked {
    /// The oldest release that the shim has been compiled with: Debian 12's.
    const OLDEST: &str = "22.11";

    pub(crate) fn build() {
        let mut config = pkg_config::Config::new();
        let library = match config.atleast_version(OLDEST).probe("libdpdk") {
            Ok(library) => library,
            Err(error) => {
                eprintln!("the feature `dpdk` needs DPDK {OLDEST} or later (Debian: apt install libdpdk-dev): {error}");
                std::process::exit(1);
            }
        };
        let mut shim = cc::Build::new();
        shim.file("src/linked/shim.c").warnings(true).extra_warnings(true);
        // DPDK's headers want these: their configuration first, and the instructions that DPDK was compiled for.
        shim.flag("-include").flag("rte_config.h");
        if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64") {
            shim.flag("-march=corei7");
        }
        // As those of the system: its own warnings are not ours.
        for path in &library.include_paths {
            shim.flag("-isystem").flag(path);
        }
        shim.compile("forebay_dpdk_shim");
    }
}
