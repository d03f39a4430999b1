//! Advice on workloads, and on traces.

mod world;

use gpuorch::advice::{Costs, Workload, advise_trace};
use gpuorch::sys::{
    GPO_BOUND_LAUNCH, GPO_FORM_GRAPH, GPO_FORM_LEAVE, GPO_FORM_RANGE, GPO_ORDER_CHUNKS, GPO_ORDER_CLAIMED_LATE,
    gpo_costs,
};
use gpuorch::{ErrorKind, Result};
use world::recorded::kind;
use world::world;

#[test]
fn short_kernels_that_repeat_are_advised_to_become_a_graph() -> Result<()> {
    let w = world();
    let workload = Workload::new().repeats().launches(100).kernel_ns(109_000);
    for device in [Some(&w.device), None] {
        let advised = workload.advise(device)?;
        let best = &advised.forms[0];
        assert_eq!((best.form, advised.diagnosis.bound), (GPO_FORM_GRAPH, GPO_BOUND_LAUNCH), "{advised:?}");
        assert!(best.gain_low > 1000 && best.gain_low <= best.gain_high && best.reason().contains("graph"), "{best:?}");
        assert!(advised.forms.iter().any(|form| form.form == GPO_FORM_LEAVE));
    }
    Ok(())
}

#[test]
fn costs_of_the_programs_own_replace_the_devices() -> Result<()> {
    let w = world();
    let own = Costs::of(gpo_costs { launch_ns: 1, wait_ns: 1, graph_launch_ns: 1_000_000, ..gpo_costs::new() });
    let advised = Workload::new().repeats().launches(100).kernel_ns(109_000).costs(&own).advise(Some(&w.device))?;
    assert_eq!(advised.forms[0].form, GPO_FORM_LEAVE, "{advised:?}");
    assert_eq!(w.device.costs()?.measured, 0);
    let measured = w.device.measured_costs()?;
    assert!(measured.measured == 1 && measured.launch_ns > 0, "{measured:?}");
    Ok(())
}

#[test]
fn uneven_tasks_are_advised_to_be_handed_out_in_another_way() -> Result<()> {
    let costs: Vec<f32> = (0..4096).map(|i| if i < 64 { 300.0 } else { 1.0 }).collect();
    let workload = Workload::new().launches(1).tasks(4096).kernel_ns(10_000_000).order(GPO_ORDER_CHUNKS).workers(256);
    let advised = workload.task_costs(&costs).advise(None)?;
    let best = &advised.forms[0];
    assert!(best.form == GPO_FORM_RANGE && best.order != GPO_ORDER_CHUNKS && best.gain_low > 1000, "{best:?}");
    Ok(())
}

#[test]
fn tasks_whose_costs_rise_are_advised_to_be_claimed_late() -> Result<()> {
    const TASKS: u64 = 1 << 17;
    let costs: Vec<f32> = (0..TASKS).map(|i| (i % 256) as f32).collect();
    let workload = Workload::new().launches(1).tasks(TASKS).task_ns(71_400).kernel_ns(71_400 * TASKS / 8448);
    let advised = workload.order(GPO_ORDER_CHUNKS).task_costs(&costs).advise(None)?;
    let best = &advised.forms[0];
    assert_eq!((best.form, best.order), (GPO_FORM_RANGE, GPO_ORDER_CLAIMED_LATE), "{best:?}");
    Ok(())
}

#[test]
fn figures_that_can_not_be_are_named() {
    let error = Workload::new().tasks(2).task_costs(&[1.0, -1.0]).advise(None).unwrap_err();
    assert_eq!((error.kind(), error.function()), (ErrorKind::InvalidArgument, "gpo_advise"));
    assert!(error.message().contains("cost"), "{error}");
    assert_eq!(kind(advise_trace("/no/such/file")), ErrorKind::NotFound);
    assert_eq!(kind(advise_trace("a\0b")), ErrorKind::InvalidArgument);
    assert_eq!(kind(advise_trace("Cargo.toml")), ErrorKind::InvalidArgument);
}

#[test]
fn a_trace_is_read_back() -> Result<()> {
    let w = world();
    let path = std::env::temp_dir().join(format!("gpuorch-rust-advice-{}.json", std::process::id()));
    w.runtime.trace().path(&path).start()?;
    let x = w.device.buffer::<f32>(1000)?;
    for _ in 0..20 {
        w.launch_scale(&x, 2.0)?;
    }
    w.stream.wait()?;
    w.runtime.stop_trace()?;
    let (text, workload) = advise_trace(&path)?;
    std::fs::remove_file(&path).expect("the file goes");
    assert!(text.contains("kernels"), "{text}");
    assert!(workload.launches > 0 && workload.round_ns > 0, "{workload:?}");
    workload.repeats().advise(None).map(drop)
}
