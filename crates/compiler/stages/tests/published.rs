//! Which of the published programs fit: S.-Y. Wang, C.-M. Wu, Y.-B. Lin, C.-C. Huang, "High-speed data-plane packet
//! aggregation and disaggregation by P4 switches", JNCA 142, 2019, Tables 1 and 3 (a blank: it did not compile).

use forebay_driver::{FileSources, Options};
use forebay_ir::Program;
use forebay_stages::{Machine, Report, report};

const SIZES: [u32; 5] = [22, 26, 34, 42, 46];
const BATCHES: [u32; 4] = [1, 2, 4, 8];

fn compiled(program: &str, defines: &[String]) -> Program {
    let path = format!("{}/../../../programs/{program}", env!("CARGO_MANIFEST_DIR"));
    let provider = FileSources::new();
    let mut options = Options::new(&provider);
    options.defines = defines;
    let compiled = forebay_driver::compile(&path, &options);
    compiled.program.expect("it compiles")
}

fn reported(program: &str, defines: &[String]) -> Report {
    report(
        &compiled(program, defines),
        &Machine::named("tofino").expect("it is known"),
    )
}

fn fitting(program: &str, method: Option<u32>) -> Vec<(u32, u32)> {
    let cells = SIZES
        .iter()
        .flat_map(|size| BATCHES.iter().map(move |batch| (*size, *batch)));
    let fits = |(size, batch): &(u32, u32)| {
        let mut defines = vec![format!("N={batch}"), format!("S={size}")];
        defines.extend(method.map(|method| format!("METHOD={method}")));
        reported(program, &defines).fits
    };
    cells.filter(fits).collect()
}

#[test]
fn aggregation_fits_as_published() {
    let published = [
        (22, 1),
        (22, 2),
        (22, 4),
        (22, 8),
        (26, 1),
        (26, 2),
        (26, 4),
        (34, 1),
        (34, 2),
        (34, 4),
        (42, 1),
        (42, 2),
        (46, 1),
        (46, 2),
    ];
    assert_eq!(fitting("iot_aggregate_tofino/iot_aggregate_tofino.p4", None), published);
}

#[test]
fn disaggregation_fits_as_published() {
    for method in [1, 2] {
        let blank = [(46, 8)];
        let all = SIZES
            .iter()
            .flat_map(|size| BATCHES.iter().map(move |batch| (*size, *batch)));
        let published: Vec<_> = all.filter(|cell| !blank.contains(cell)).collect();
        assert_eq!(
            fitting("iot_disaggregate_tofino/iot_disaggregate_tofino.p4", Some(method)),
            published
        );
    }
}

/// Y. Yoshinaka et al., ICNP 2024, compare with PayloadPark on Tofino: 160 bytes of a packet in registers.
#[test]
fn parking_160_bytes_fits() {
    assert!(reported("payloadpark/payloadpark.p4", &[]).fits);
}
