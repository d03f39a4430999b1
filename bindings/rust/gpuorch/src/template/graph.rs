//! Graphs: instances of templates.

use super::{Parameter, Setting, Template, parameter};
use crate::builder::builder;
use crate::call::call;
use crate::error::Result;
use crate::handle::{Owned, c_string};
use bytemuck::Pod;
use gpuorch_sys as sys;
use std::mem::size_of;
use std::sync::Arc;

/// An instance of a template, with values of its own for the template's parameters. Clones are the same graph.
///
/// Launches of one graph run one after the other. Launches that were accepted still run when the last clone is dropped.
#[derive(Clone)]
pub struct Graph {
    inner: Arc<Owned<sys::gpo_graph_t, Template>>,
}

builder! {
    /// Options of a graph.
    GraphBuilder of Graph: graph_create(Template, gpo_graph_options);
}

impl GraphBuilder<'_> {
    /// Kernels may launch the graph: [`Graph::device_handle`]. [`build`](Self::build) uploads the graph to the device,
    /// too.
    ///
    /// [`ErrorKind::NotSupported`](crate::ErrorKind::NotSupported): the template has other nodes than kernels, copies
    /// and fills; the message names one. [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): the
    /// template is empty.
    pub fn device_launch(mut self) -> Self {
        self.options.flags |= sys::GPO_GRAPH_DEVICE_LAUNCH;
        self
    }
}

impl Template {
    /// Makes a graph of the template as it is now.
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState): the template is being recorded, or is the body of a node.
    pub fn graph(&self) -> Result<Graph> {
        self.graph_builder().build()
    }

    /// For a graph with options.
    pub fn graph_builder(&self) -> GraphBuilder<'_> {
        GraphBuilder::new(self)
    }
}

impl Graph {
    /// The graph's template.
    pub fn template(&self) -> &Template {
        &self.inner.parent
    }

    /// Sets a parameter for later launches. Costs no call of the driver, except for an address in memory that isn't the
    /// library's: the next launch gives the driver the changes since the last.
    ///
    /// ```compile_fail,E0308
    /// # fn set(graph: gpuorch::Graph, factor: gpuorch::template::Parameter<u32>) {
    /// graph.set(&factor, 0.5); // its values are u32
    /// # }
    /// ```
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument): the parameter is of another template; or the
    /// value is impossible: a grid or block beyond the device's limits, a length of 0, an address of another kind of
    /// memory. [`ErrorKind::NotFound`](crate::ErrorKind::NotFound): the graph was updated to a recording without the
    /// parameter.
    pub fn set<T: Pod>(&self, parameter: &Parameter<T>, value: T) -> Result<()> {
        let number = parameter.number_in(self.template(), "gpo_graph_set_parameter")?;
        let bytes = size_of::<T>() as u64;
        call!(graph_set_parameter(self.as_raw(), number, (&raw const value).cast(), bytes))
    }

    /// Like [`set`](Self::set), by the parameter's name, which takes longer.
    pub fn set_by_name<T: Pod>(&self, name: &str, value: T) -> Result<()> {
        let name = c_string(name, "gpo_graph_set")?;
        let bytes = size_of::<T>() as u64;
        call!(graph_set(self.as_raw(), name.as_ptr(), (&raw const value).cast(), bytes))
    }

    /// Sets several parameters, all or none.
    pub fn set_all(&self, settings: &[Setting]) -> Result<()> {
        const STRIDE: u64 = size_of::<sys::gpo_setting>() as u64;
        parameter::with_raw(Some(self.template()), settings, "gpo_graph_set_all", |raw| {
            call!(graph_set_all(self.as_raw(), raw.as_ptr(), STRIDE, raw.len() as u64))
        })
    }

    /// The value that the next launch will use.
    pub fn get<T: Pod>(&self, parameter: &Parameter<T>) -> Result<T> {
        parameter.number_in(self.template(), "gpo_graph_get")?;
        let mut value = T::zeroed();
        let bytes = size_of::<T>() as u64;
        call!(graph_get(self.as_raw(), parameter.name().as_ptr(), (&raw mut value).cast(), bytes))?;
        Ok(value)
    }

    /// The library's handle.
    pub fn as_raw(&self) -> sys::gpo_graph_t {
        self.inner.raw
    }
}
