"use strict";
(() => {
  const data = JSON.parse(document.getElementById("workloads").textContent);
  const fields = ["name", "kind", "queue", "outcome", "gpus", "arrived", "started", "ended", "waited", "evictions", "lost", "why"];
  const all = data.rows.map((row, number) => {
    const made = { number };
    fields.forEach((field, at) => { made[field] = row[at]; });
    made.kind = data.kinds[made.kind];
    made.queue = data.queues[made.queue];
    made.outcome = data.outcomes[made.outcome];
    made.why = data.reasons[made.why];
    made.text = `${made.name} ${made.kind} ${made.queue} ${made.outcome}`.toLowerCase();
    return made;
  });
  const search = document.getElementById("search");
  const order = document.getElementById("order");
  const about = document.getElementById("about");
  const gantt = document.getElementById("gantt");
  const bars = new Map();
  for (const bar of gantt.querySelectorAll("[data-i]")) bars.set(Number(bar.dataset.i), bar);
  const MOST = 100;

  const two = (number) => String(number).padStart(2, "0");
  const clock = (seconds) => {
    if (seconds === null) return "";
    const whole = Math.floor(seconds), days = Math.floor(whole / 86400), rest = whole % 86400;
    const time = `${two(Math.floor(rest / 3600))}:${two(Math.floor(rest % 3600 / 60))}:${two(rest % 60)}`;
    return days ? `${days}d ${time}` : time;
  };
  const lasting = (seconds) => {
    for (const [size, unit, smaller, small] of [[86400, "d", 3600, "h"], [3600, "h", 60, "m"], [60, "m", 1, "s"]]) {
      if (seconds >= size) {
        const rest = Math.floor(seconds % size / smaller);
        return `${Math.floor(seconds / size)}${unit}` + (rest ? ` ${rest}${small}` : "");
      }
    }
    return `${Math.round(seconds)}s`;
  };

  const wanted = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return words.length ? all.filter((row) => words.every((word) => row.text.includes(word))) : all;
  };

  const show = () => {
    const found = wanted();
    const key = order.value;
    const sorted = key === "arrived" ? found : [...found].sort((a, b) => b[key] - a[key] || a.number - b.number);
    const rows = sorted.slice(0, MOST).map((row) => {
      const made = document.createElement("tr");
      made.dataset.number = row.number;
      const cells = [
        row.name, row.kind, row.queue, row.gpus || "", clock(row.arrived), row.waited ? lasting(row.waited) : "",
        clock(row.started), clock(row.ended), row.outcome, row.evictions || "", row.lost ? row.lost.toFixed(1) : "", row.why,
      ];
      cells.forEach((text, at) => {
        const cell = document.createElement(at ? "td" : "th");
        if (!at) cell.scope = "row";
        if (at === 1 || at === 2 || at === 8) cell.className = "left";
        if (at === 11) cell.className = "why";
        cell.textContent = text;
        made.append(cell);
      });
      return made;
    });
    document.querySelector("#list tbody").replaceChildren(...rows);
    const count = (number) => number.toLocaleString("en");
    document.getElementById("shown").textContent =
      found.length > MOST ? `showing the first ${MOST} of ${count(found.length)}; use the search to find others` : `${count(found.length)} of ${count(all.length)}`;
    const searching = found.length !== all.length;
    document.getElementById("found").textContent = searching ? `${count(found.length)} of ${count(all.length)} workloads` : "";
    const numbers = new Set(found.map((row) => row.number));
    for (const [number, bar] of bars) bar.classList.toggle("other", !numbers.has(number));
  };

  let chosen = null;
  const describe = (bar, x, y) => {
    chosen?.classList.remove("chosen");
    chosen = bar;
    about.hidden = !bar;
    if (!bar) return;
    bar.classList.add("chosen");
    const row = all[Number(bar.dataset.i)];
    const lines = [`${row.name} (${row.kind}${row.queue ? ` in queue ${row.queue}` : ""})`, `${row.gpus || "no"} ${row.gpus === 1 ? "GPU" : "GPUs"}, ${row.outcome}`];
    lines.push(`arrived ${clock(row.arrived)}, started ${clock(row.started) || "never"}, ended ${clock(row.ended) || "not yet"}`);
    if (row.waited) lines.push(`waited ${lasting(row.waited)}`);
    if (row.evictions) lines.push(`evicted ${row.evictions === 1 ? "once" : `${row.evictions} times`}, ${row.lost.toFixed(1)} GPU-hours lost`);
    if (row.why) lines.push(row.why);
    about.textContent = lines.join("\n");
    const box = about.getBoundingClientRect();
    about.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 4))}px`;
    about.style.top = `${y + box.height + 24 > innerHeight ? Math.max(4, y - box.height - 12) : y + 14}px`;
  };
  const at = (event) => {
    const bar = event.target.closest?.("[data-i]") ?? null;
    if (bar !== chosen) describe(bar, event.clientX, event.clientY);
  };
  gantt.addEventListener("pointermove", at);
  gantt.addEventListener("pointerdown", at);
  gantt.addEventListener("pointerleave", () => describe(null));
  addEventListener("keydown", (event) => { if (event.key === "Escape") describe(null); });

  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      for (const other of document.querySelectorAll("[data-zoom]")) other.setAttribute("aria-pressed", String(other === button));
      gantt.style.width = `${button.dataset.zoom}00%`;
    });
  }
  search.addEventListener("input", show);
  order.addEventListener("change", show);
  show();
})();
