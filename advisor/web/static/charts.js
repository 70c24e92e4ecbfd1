// Draws the figures that a page's charts carry anew, so that they can be read with the pointer and from the keyboard.
// The picture that the server drew stays: for paper, for its words, and as the one place that says how things look.
"use strict";

window.advisorCharts = (() => {
  const RATIO = 196 / 460;
  const LEAST_HEIGHT = 170;
  const MOST_HEIGHT = 280;
  const LETTER = 7;
  const ZOOM = 2;
  const HINT = "Arrow keys read, + and - zoom.";
  const HEADROOM = 1.05;
  const shown = new Map();
  const zooms = new Map();

  const two = (value) => String(value).padStart(2, "0");

  const clock = (seconds, step) => {
    const at = new Date(seconds * 1000);
    if (step >= 86400) {
      return at.toLocaleDateString("en-GB", { day: "2-digit", month: "short" });
    }
    const minutes = `${two(at.getHours())}:${two(at.getMinutes())}`;
    return step >= 60 ? minutes : `${minutes}:${two(at.getSeconds())}`;
  };

  const day = (seconds) => {
    const at = new Date(seconds * 1000);
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(seconds, 1)}`;
  };

  // Three digits, as reports write them.
  const digits = (value) => {
    const size = Math.abs(value);
    if (size >= 100) {
      return Math.round(value).toLocaleString("en-US");
    }
    return String(Number(size < 10 ? value.toPrecision(3) : value.toFixed(1)));
  };

  const worded = (value, unit) => {
    if (value === null || value === undefined) {
      return "not known";
    }
    if (unit === "ratio") {
      return `${digits(value * 100)}%`;
    }
    if (unit !== "seconds") {
      return digits(value);
    }
    const size = Math.abs(value);
    if (size >= 7200) {
      return `${digits(value / 3600)} h`;
    }
    if (size >= 120) {
      return `${(value / 60).toFixed(1)} min`;
    }
    if (size >= 1 || size === 0) {
      return `${digits(value)} s`;
    }
    return size >= 0.001 ? `${digits(value * 1000)} ms` : `${digits(value * 1e6)} us`;
  };

  const made = (name, properties = {}, ...children) => {
    const element = document.createElement(name);
    Object.assign(element, properties);
    element.append(...children);
    return element;
  };

  const faded = (colour, opacity) => colour.replace(/^rgb\((.*)\)$/, (_, parts) => `rgba(${parts}, ${opacity})`);

  // How the picture looks in the theme of now.
  const looks = (picture) => {
    const of = (selector) => {
      const found = picture.querySelector(selector);
      return found === null ? null : getComputedStyle(found);
    };
    const page = getComputedStyle(document.body);
    const areas = new Map();
    for (const area of picture.querySelectorAll("path.area")) {
      const style = getComputedStyle(area);
      areas.set(area.getAttribute("class").replace(/^area /, ""), faded(style.fill, style.fillOpacity));
    }
    return {
      family: page.fontFamily,
      text: of("text.tick").fill,
      grid: (of("line.grid") ?? of("line.axis")).stroke,
      axis: of("line.axis").stroke,
      mark: of("rect.verdict-mark")?.fill,
      strong: page.color,
      areas,
      lines: [...picture.querySelectorAll("path.line")].map((line) => getComputedStyle(line)),
      bands: [...picture.querySelectorAll("rect.band")].map((band) => getComputedStyle(band).fill),
    };
  };

  const boundsOf = (times) => {
    let at = 0;
    return times.map((step) => (at += step));
  };

  // The last of `bounds` that is not after `time`, of those that begin an interval.
  const indexAt = (bounds, time) => {
    let low = 0;
    let high = bounds.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (bounds[middle] <= time) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  };

  // The episodes as stripes, and their names above as far as there is room.
  const drawEpisodes = (plot, carried, look) => {
    const { ctx, bbox } = plot;
    const pixel = uPlot.pxRatio;
    const right = bbox.left + bbox.width;
    const inside = (value) => Math.min(Math.max(value, bbox.left), right);
    const taken = [];
    ctx.save();
    ctx.textAlign = "center";
    ctx.textBaseline = "alphabetic";
    carried.episodes.forEach((one, index) => {
      const [from, to] = [one.from, one.to].map((time) => inside(plot.valToPos(time, "x", true)));
      if (to <= from) {
        return;
      }
      if (look.bands[index] !== "none") {
        ctx.fillStyle = look.bands[index];
        ctx.fillRect(from, bbox.top, to - from, bbox.height);
      }
      if (one.verdict) {
        ctx.fillStyle = look.mark;
        ctx.fillRect(from, bbox.top - 3 * pixel, to - from, 3 * pixel);
      }
      const label = one.verdict ? `${one.kind} (verdict)` : one.kind;
      const need = (label.length * LETTER + 8) * pixel;
      const middle = Math.min(Math.max((from + to) / 2, bbox.left + need / 2), right - need / 2);
      const span = [middle - need / 2, middle + need / 2];
      if ((one.verdict || to - from >= need) && taken.every(([start, end]) => span[1] <= start || end <= span[0])) {
        taken.push(span);
        ctx.font = `${one.verdict ? "600 " : ""}${12 * pixel}px ${look.family}`;
        ctx.fillStyle = one.verdict ? look.strong : look.text;
        ctx.fillText(label, middle, bbox.top - 8 * pixel);
      }
    });
    ctx.restore();
  };

  // The curve as stairs: each value holds for its whole interval, and where none is known there is none.
  const stairs = (bounds, values, isFilled) => (plot) => {
    const stroke = new Path2D();
    const fill = isFilled ? new Path2D() : null;
    const across = (index) => Math.round(plot.valToPos(bounds[index], "x", true));
    const up = (value) => Math.round(plot.valToPos(value, "y", true));
    const floor = up(0);
    const { min, max } = plot.scales.x;
    let isOpen = false;
    values.forEach((value, index) => {
      const isSeen = bounds[index + 1] >= min && bounds[index] <= max;
      if (value !== null && isSeen) {
        const [left, right, level] = [across(index), across(index + 1), up(value)];
        if (isOpen) {
          stroke.lineTo(left, level);
        } else {
          stroke.moveTo(left, level);
        }
        stroke.lineTo(right, level);
        fill?.rect(left, level, right - left, floor - level);
      }
      isOpen = value !== null && isSeen;
    });
    return { stroke, fill, clip: null, band: null, gaps: null, flags: 1 };
  };

  const axes = (carried, look) => {
    const font = `12px ${look.family}`;
    const widest = Math.max(...carried.ticks.map(([, label]) => label.length));
    return [
      {
        stroke: look.text,
        font,
        size: 30,
        space: 70,
        grid: { show: false },
        ticks: { stroke: look.axis, size: 4 },
        border: { show: true, stroke: look.axis, width: 1 },
        values: (_, splits, __, ___, step) => splits.map((time) => clock(time, step)),
      },
      {
        stroke: look.text,
        font,
        size: widest * LETTER + 14,
        grid: { stroke: look.grid, width: 1 },
        ticks: { show: false },
        splits: carried.ticks.map(([value]) => value),
        values: () => carried.ticks.map(([, label]) => label),
      },
    ];
  };

  const series = (carried, bounds, look) => [
    {},
    ...carried.lines.map((line, index) => {
      const style = look.lines[index];
      const dash = style.strokeDasharray === "none" ? undefined : style.strokeDasharray.split(",").map(parseFloat);
      return {
        label: line.name,
        stroke: style.stroke,
        width: parseFloat(style.strokeWidth),
        dash,
        fill: line.filled ? look.areas.get(line.style) : undefined,
        paths: stairs(bounds, line.values, line.filled),
        points: { show: false },
      };
    }),
  ];

  const sizeOf = (holder) => {
    const width = Math.max(holder.clientWidth, 120);
    return { width, height: Math.min(Math.max(Math.round(width * RATIO), LEAST_HEIGHT), MOST_HEIGHT) };
  };

  const groupOf = (bounds) => `${bounds[0]} ${bounds[bounds.length - 1]}`;

  const group = (chart) => [...shown.values()].filter((other) => other.key === chart.key);

  const zoomTo = (chart, min, max) => {
    const first = chart.bounds[0];
    const last = chart.bounds[chart.bounds.length - 1];
    for (const other of group(chart)) {
      other.plot.setScale("x", { min: Math.max(first, min), max: Math.min(last, max) });
    }
  };

  const whole = (chart) => zoomTo(chart, -Infinity, Infinity);

  const isWhole = (chart) => {
    const { min, max } = chart.plot.scales.x;
    return min <= chart.bounds[0] && max >= chart.bounds[chart.bounds.length - 1];
  };

  const point = (chart, index) => {
    const last = chart.bounds.length - 2;
    const at = Math.min(Math.max(index, 0), last);
    // Just after its begin, where its value is drawn.
    const time = chart.bounds[at] + (chart.bounds[at + 1] - chart.bounds[at]) / 10;
    const { min, max } = chart.plot.scales.x;
    if (time < min || time > max) {
      const start = Math.min(Math.max(time - (max - min) / 2, chart.bounds[0]), chart.bounds[last + 1] - (max - min));
      zoomTo(chart, start, start + max - min);
    }
    // The new scale is drawn in a task of its own; the place of the cursor follows from it.
    queueMicrotask(() => chart.plot.setCursor({ left: chart.plot.valToPos(time, "x"), top: 10 }));
  };

  const zoomBy = (chart, factor) => {
    const { min, max } = chart.plot.scales.x;
    const middle = chart.at === null ? (min + max) / 2 : (chart.bounds[chart.at] + chart.bounds[chart.at + 1]) / 2;
    const least = 2 * (chart.bounds[1] - chart.bounds[0]);
    const half = Math.max((max - min) / factor, least) / 2;
    zoomTo(chart, middle - half, middle + half);
  };

  const pressed = (chart, event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const step = event.shiftKey ? 10 : 1;
    const last = chart.bounds.length - 2;
    const moves = {
      ArrowLeft: () => point(chart, (chart.at ?? last + step) - step),
      ArrowRight: () => point(chart, (chart.at ?? -step) + step),
      Home: () => point(chart, 0),
      End: () => point(chart, last),
      "+": () => zoomBy(chart, ZOOM),
      "=": () => zoomBy(chart, ZOOM),
      "-": () => zoomBy(chart, 1 / ZOOM),
      Escape: () => whole(chart),
    };
    const move = moves[event.key];
    if (move !== undefined) {
      event.preventDefault();
      move();
    }
  };

  const read = (chart) => {
    const { left } = chart.plot.cursor;
    chart.at = left === undefined || left < 0 ? null : indexAt(chart.bounds, chart.plot.posToVal(left, "x"));
    chart.words.className = chart.at === null ? "hint" : "";
    if (chart.at === null) {
      chart.words.textContent = HINT;
      return;
    }
    const { lines, unit } = chart.carried;
    const values = lines.map((line) => `${line.name} ${worded(line.values[chart.at], unit)}`);
    chart.words.textContent = `${day(chart.bounds[chart.at])}: ${values.join(", ")}`;
  };

  const plotOf = (chart) => {
    const { carried, bounds, picture } = chart;
    const look = looks(picture);
    const data = [bounds, ...carried.lines.map((line) => [...line.values, null])];
    return new uPlot(
      {
        ...sizeOf(chart.holder),
        padding: [24, 28, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: true, y: false, dist: 6 },
          sync: { key: chart.key, setSeries: false, scales: ["x", null] },
          dataIdx: (plot, _, __, time) => indexAt(bounds, time),
        },
        scales: { x: { time: true }, y: { range: [0, HEADROOM * carried.ticks[carried.ticks.length - 1][0]] } },
        axes: axes(carried, look),
        series: series(carried, bounds, look),
        hooks: {
          drawClear: [(plot) => drawEpisodes(plot, carried, look)],
          setCursor: [() => chart.plot && read(chart)],
          setScale: [(_, name) => name === "x" && chart.plot && (chart.reset.hidden = isWhole(chart))],
        },
      },
      data,
      chart.holder,
    );
  };

  const rebuild = (chart) => {
    const { min, max } = chart.plot.scales.x;
    chart.plot.destroy();
    chart.plot = null;
    chart.plot = plotOf(chart);
    chart.plot.setScale("x", { min, max });
  };

  const start = (picture) => {
    const carried = JSON.parse(picture.dataset.chart);
    const bounds = boundsOf(carried.times);
    if (bounds.length < 3 || carried.lines.length === 0) {
      return;
    }
    const words = made("span", { className: "hint", textContent: HINT });
    words.setAttribute("aria-live", "polite");
    const reset = made("button", { type: "button", textContent: "Whole time", hidden: true });
    const holder = made("div", { className: "live-plot", tabIndex: 0 });
    holder.setAttribute("role", "application");
    holder.setAttribute("aria-roledescription", "chart");
    holder.setAttribute("aria-label", carried.title);
    const description = picture.querySelector("desc")?.id;
    if (description) {
      holder.setAttribute("aria-describedby", description);
    }
    const box = made("div", { className: "live-chart" }, holder, made("p", { className: "readout" }, words, reset));
    picture.after(box);
    picture.classList.add("replaced");
    const chart = { picture, carried, bounds, box, holder, words, reset, key: groupOf(bounds), at: null, plot: null };
    chart.plot = plotOf(chart);
    shown.set(picture, chart);
    reset.addEventListener("click", () => {
      whole(chart);
      holder.focus();
    });
    holder.addEventListener("keydown", (event) => pressed(chart, event));
    chart.observer = new ResizeObserver(() => {
      const size = sizeOf(holder);
      if (chart.plot.width !== size.width) {
        chart.plot.setSize(size);
      }
    });
    chart.observer.observe(holder);
    const zoom = zooms.get(carried.title);
    if (zoom !== undefined) {
      chart.plot.setScale("x", { min: Math.max(zoom.min, bounds[0]), max: zoom.max });
    }
  };

  // Makes the charts below `root` live; one that cannot be stays a picture.
  const enliven = (root) => {
    if (typeof uPlot === "undefined") {
      return;
    }
    for (const picture of root.querySelectorAll("svg[data-chart]")) {
      if (!shown.has(picture)) {
        start(picture);
      }
    }
  };

  // Forgets the charts below `root`, which is about to go; what a reader looked at more closely is remembered.
  const dispose = (root) => {
    for (const [picture, chart] of shown) {
      if (root.contains(picture)) {
        const { min, max } = chart.plot.scales.x;
        if (isWhole(chart)) {
          zooms.delete(chart.carried.title);
        } else {
          zooms.set(chart.carried.title, { min, max });
        }
        chart.observer.disconnect();
        chart.plot.destroy();
        shown.delete(picture);
      }
    }
  };

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const chart of shown.values()) {
      rebuild(chart);
    }
  });

  return { enliven, dispose };
})();
