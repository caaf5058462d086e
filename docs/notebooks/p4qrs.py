# %% [markdown]
# # P4QRS: work on headers while payloads wait in queues
#
# A computation that needs several passes through a chip recirculates packets, and most of what it recirculates are bytes that it never
# looks at. P4QRS (Yoshinaka et al., ICNP 2024) sends a packet's first 114 bytes ahead and lets the whole packet wait in a queue until they
# are done. How much traffic does one unit of two recirculation ports carry, when headers go round `n` times?
#
# This notebook needs the program and the experiments: start it in the repository, or in a copy of the files of a package (/usr/share/forebay).

# %%
import os
from pathlib import Path

from forebay import Simulation, experiment

here = Path(os.environ.get("FOREBAY_REPOSITORY", Path.cwd()))
repository = next((folder for folder in (here, *here.parents) if (folder / "experiments").is_dir()), None)
if repository is None:
    raise SystemExit(
        "start this in the repository or in a copy of /usr/share/forebay, or say in FOREBAY_REPOSITORY where one is"
    )
folder = repository / "experiments" / "p4qrs-figure-6a"

# %% [markdown]
# An experiment searches the highest load without loss for each `n`, and puts it beside what was published (of ten units).

# %%
report = experiment(folder, quick=True)
print(report.title)
for row, published, model in zip(report.rows, report.column("published"), report.column("model"), strict=True):
    naive = row["formulas"]["naive-30"]
    print(
        f"n = {row['parameters']['n']:>2}: published {published:6.1f}, model {model:6.1f}, naive recirculation {naive:6.1f} Gbps"
    )
assert all(row["found"] for row in report.rows)

# %% [markdown]
# The scenario behind it can be run with parameters of one's own. Where do packets spend their time?

# %%
results = Simulation(folder / "scenario.toml", n=8, GBPS=60, TRIAL=300).run()
latency = results.data["sources"][0]["latency"]
print(f"{results.lost} lost; from the last byte in to the last byte out {latency['mean_ns'] / 1e3:.1f} µs on average")
for measure in results.measures:
    if measure.endswith("mean_wait_ns") or measure.endswith("parser_utilisation"):
        print(f"{measure:55} {results[measure]:8.2f}")
assert results.lost == 0
