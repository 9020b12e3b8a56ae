"use strict";

// a list of our own: plotly's includes a button that sends the chart to its maker
const CONFIG = {
  responsive: true,
  displaylogo: false,
  modeBarButtons: [["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"], ["toImage"]],
};

function draw(box) {
  const figure = JSON.parse(document.getElementById(`${box.id}-figure`).textContent);
  Plotly.newPlot(box, figure.data, figure.layout, CONFIG).then(() => box.setAttribute("aria-busy", "false"));
}

// large schedules take a moment: draw what is about to be seen, and hidden views when they are shown
const nearby = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      nearby.unobserve(entry.target);
      draw(entry.target);
    }
  }
}, { rootMargin: "400px" });
document.querySelectorAll(".chart").forEach((box) => nearby.observe(box));

function show(panel, others) {
  for (const other of others) {
    document.getElementById(other).hidden = other !== panel;
  }
  // the window may have changed its size while the chart was hidden
  document.getElementById(panel).querySelectorAll(".js-plotly-plot").forEach((box) => Plotly.Plots.resize(box));
}

for (const tabs of document.querySelectorAll("[role=tablist]")) {
  const buttons = [...tabs.children];
  const panels = buttons.map((button) => button.getAttribute("aria-controls"));
  tabs.addEventListener("click", (event) => {
    const chosen = event.target.closest("button");
    if (chosen) {
      buttons.forEach((button) => button.setAttribute("aria-selected", String(button === chosen)));
      show(chosen.getAttribute("aria-controls"), panels);
    }
  });
}

for (const list of document.querySelectorAll("select.views")) {
  const panels = [...list.options].map((option) => option.value);
  list.addEventListener("change", () => show(list.value, panels));
}
