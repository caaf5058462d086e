//! The untimed switch around a pipeline: bursts, queues, replication, resubmit and recirculation.
