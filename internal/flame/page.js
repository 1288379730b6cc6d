'use strict';
// Draws the flame graph in #data. Boxes are columns: parents come before their
// children, start and end are of 10^9. Text reaches the page as text only.
(() => {
const D = JSON.parse(document.getElementById('data').textContent);
const B = D.boxes, N = (B.fn || []).length, WHOLE = 1e9, ROW = 19;
const $ = id => document.getElementById(id);
const canvas = $('canvas'), ctx = canvas.getContext('2d'), scroll = $('scroll'), tip = $('tip');
const dark = matchMedia('(prefers-color-scheme: dark)');
let from = 0, to = WHOLE, zoomed = -1, base = 0, flipped = false, found = null, hover = -1;

// Numbers, as package words formats them.
const units = { nanoseconds: [1000, 'ns', 'µs', 'ms', 's'], microseconds: [1000, 'µs', 'ms', 's'], milliseconds: [1000, 'ms', 's'], bytes: [1024, 'B', 'KiB', 'MiB', 'GiB', 'TiB'] };
const number = v => Number.isInteger(v) || Math.abs(v) >= 100 ? Math.round(v).toLocaleString('en') : Math.abs(v) >= 1 ? v.toPrecision(3) : String(+v.toPrecision(3));
function amount(v, sign) {
  v /= 10 ** D.scale;
  const s = sign && v > 0 ? '+' : '';
  if (D.unit === 'share') return s + percent(v, 1);
  const u = units[D.unit];
  if (!u) return s + number(v) + (D.unit === 'count' ? '' : ' ' + D.unit);
  let i = 1;
  while (Math.abs(v) >= u[0] && i + 1 < u.length) { v /= u[0]; i++; }
  return s + number(v) + ' ' + u[i];
}
function percent(v, of) {
  if (!of) return '';
  const p = v / of * 100;
  return p ? p.toFixed(Math.abs(p) < 1 ? 2 : 1) + '%' : '0%';
}
const relative = (b, n) => b ? (n > b ? '+' : '') + percent(n - b, Math.abs(b)) : n ? 'new' : '';
function change(b, n, noise) {
  const larger = Math.max(Math.abs(b), Math.abs(n)), delta = n - b;
  return !larger || Math.abs(delta) <= noise ? 0 : Math.max(-1, Math.min(1, delta / larger));
}
const side = c => c > 0 ? 'more' : c < 0 ? 'less' : 'faint';

// Colours: by package, or in a diff red for more, blue for less, grey for what
// is the same or within the noise.
function diffColour(c) {
  const strong = c ? .15 + .85 * Math.abs(c) : 0;
  if (dark.matches) return c ? `hsl(${c > 0 ? 6 : 212} ${30 + 30 * strong}% ${24 + 24 * strong}%)` : '#343a42';
  return c ? `hsl(${c > 0 ? 8 : 212} ${78 - 6 * (c < 0)}% ${92 - 28 * strong}%)` : '#e4e6ea';
}
function colour(i) {
  if (D.diff) return diffColour(Math.round(change(B.baseTotal[i], B.total[i], B.noise[i]) * 15) / 15);
  const h = D.functions[B.fn[i]][4];
  return dark.matches ? `hsl(${h} 34% 36%)` : `hsl(${h} 62% 80%)`;
}

// Drawing: what is in the window and wider than half a pixel.
let queued = false;
function draw() { if (!queued) { queued = true; requestAnimationFrame(paint); } }
function place(i) {
  const w = canvas.clientWidth, k = w / (to - from);
  let x = (B.start[i] - from) * k, e = (B.end[i] - from) * k;
  return [Math.max(x, 0), Math.min(e, w)];
}
// Flipped, the roots are on the lowest row of the window or of the graph.
const last = () => Math.max(D.rows, Math.floor(scroll.clientHeight / ROW)) - 1;
const top_ = d => (flipped ? last() - d : d) * ROW;
function paint() {
  queued = false;
  const ratio = devicePixelRatio || 1, w = scroll.clientWidth, h = scroll.clientHeight;
  $('sheet').style.height = Math.max(D.rows * ROW + 4, h) + 'px';
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
    canvas.style.width = w + 'px'; canvas.style.height = h + 'px';
  }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, w, h);
  ctx.font = '12px system-ui, sans-serif';
  ctx.textBaseline = 'middle';
  const css = getComputedStyle(document.documentElement), ink = css.getPropertyValue('--ink'), mark = css.getPropertyValue('--mark'), least = (to - from) / w / 2;
  for (let i = 0; i < N; i++) {
    const y = top_(B.depth[i]) - scroll.scrollTop;
    if (y < -ROW || y > h || B.end[i] <= from || B.start[i] >= to || B.end[i] - B.start[i] < least) continue;
    const [x, e] = place(i), wide = e - x;
    ctx.globalAlpha = i < zoomed && B.depth[i] < base ? .55 : 1;
    ctx.fillStyle = found ? (found.has(B.fn[i]) ? mark : dark.matches ? '#262b31' : '#eef0f2') : colour(i);
    ctx.fillRect(x, y, Math.max(wide - (wide > 3 ? 1 : 0), .5), ROW - 1);
    if (wide > 28) text(D.functions[B.fn[i]], x + 5, y + ROW / 2, wide - 9, found && found.has(B.fn[i]) && dark.matches ? '#000' : ink);
    if (i === hover) { ctx.strokeStyle = ink; ctx.lineWidth = 1.5; ctx.strokeRect(x + .75, y + .75, Math.max(wide - 2.5, 1), ROW - 2.5); }
  }
  ctx.globalAlpha = 1;
}
const widths = new Map();
function measure(s) { let w = widths.get(s); if (w === undefined) widths.set(s, w = ctx.measureText(s).width); return w; }
function text(f, x, y, room, ink) {
  let s = f[0];
  if (measure(s) > room) s = nearName(f);         // without the folders of its package
  if (measure(s) > room) s = f[0].slice(f[1]) || s; // without its package
  if (measure(s) > room) {
    let n = Math.floor(s.length * room / measure(s));
    while (n > 1 && ctx.measureText(s.slice(0, n) + '…').width > room) n--;
    if (n < 2) return;
    s = s.slice(0, n) + '…';
  }
  ctx.fillStyle = ink;
  ctx.fillText(s, x, y);
}
const folders = f => f[0].lastIndexOf('/', f[1]) + 1;
const nearName = f => f[0].slice(folders(f));

// Where things are.
function at(ev) {
  const r = canvas.getBoundingClientRect(), w = r.width;
  const row = Math.floor((ev.clientY - r.top + scroll.scrollTop) / ROW), depth = flipped ? last() - row : row;
  const x = from + (ev.clientX - r.left) / w * (to - from);
  for (let i = 0; i < N; i++) if (B.depth[i] === depth && B.start[i] <= x && x < B.end[i]) return i;
  return -1;
}
const inside = (i, p) => B.start[i] >= B.start[p] && B.end[i] <= B.end[p];
function path(i) {
  const names = [];
  for (let d = B.depth[i], k = i; k >= 0; k--) if (B.depth[k] === d && inside(i, k)) { names.push(D.functions[B.fn[k]][0]); if (!d--) break; }
  return names.reverse();
}

// Zoom.
function zoom(i) {
  zoomed = i;
  base = i < 0 ? 0 : B.depth[i];
  [from, to] = i < 0 ? [0, WHOLE] : [B.start[i], B.end[i]];
  $('reset').disabled = i < 0;
  $('crumb').textContent = i < 0 ? '' : path(i).join(' › ');
  draw();
}
canvas.onclick = ev => { const i = at(ev); if (i >= 0) zoom(i); };
canvas.ondblclick = () => zoom(-1);
$('reset').onclick = () => zoom(-1);
$('flip').onclick = () => { flipped = !flipped; scroll.scrollTop = flipped ? scroll.scrollHeight : 0; draw(); };
scroll.onscroll = draw;
addEventListener('resize', draw);
dark.addEventListener('change', () => { legend(); draw(); });
addEventListener('keydown', ev => {
  if (ev.key === '/' && ev.target !== $('search')) { $('search').focus(); ev.preventDefault(); }
  if (ev.key === 'Escape') { if ($('search').value) { $('search').value = ''; search(); } else zoom(-1); }
});

// Tooltip.
function cell(row, s, cls) { const td = row.insertCell(); td.textContent = s; if (cls) td.className = cls; return td; }
function describe(i) {
  const f = D.functions[B.fn[i]];
  tip.textContent = '';
  const name = document.createElement('b'), where = document.createElement('small'), t = document.createElement('table');
  name.textContent = f[0];
  where.textContent = [f[3], f[2]].filter(Boolean).join(' · ');
  tip.append(name, where, t);
  if (!D.diff) {
    for (const [label, v] of D.time ? [['self', B.self[i]]] : [['total', B.total[i]], ['self', B.self[i]]]) {
      const r = t.insertRow(); cell(r, label); cell(r, amount(v)); if (!D.time) cell(r, percent(v, D.root[0]));
    }
    if (D.time) {
      const ms = x => (D.from + x / WHOLE * (D.to - D.from)).toFixed(3) + ' ms', r = t.insertRow();
      cell(r, 'time'); cell(r, ms(B.start[i]) + ' – ' + ms(B.end[i]));
    }
    return;
  }
  const head = t.insertRow();
  for (const s of ['', 'base', 'new', 'delta', 'relative']) cell(head, s, 'faint');
  for (const [label, b, n, noise] of [['total', B.baseTotal[i], B.total[i], B.noise[i]], ['self', B.baseSelf[i], B.self[i], 0]]) {
    const r = t.insertRow(), c = side(change(b, n, noise));
    cell(r, label); cell(r, amount(b)); cell(r, amount(n)); cell(r, amount(n - b, true), c); cell(r, relative(b, n), c);
  }
  if (B.noise[i] && Math.abs(B.total[i] - B.baseTotal[i]) <= B.noise[i]) {
    const s = document.createElement('small');
    s.textContent = 'within sampling noise (±' + amount(B.noise[i]) + ')';
    tip.append(s);
  }
}
canvas.onmousemove = ev => {
  const i = at(ev);
  if (i !== hover) { hover = i; draw(); if (i >= 0) describe(i); }
  tip.hidden = i < 0;
  canvas.style.cursor = i < 0 ? '' : 'pointer';
  if (i < 0) return;
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(ev.clientX + 14, innerWidth - r.width - 8)) + 'px';
  tip.style.top = (ev.clientY + 20 + r.height > innerHeight ? Math.max(4, ev.clientY - r.height - 12) : ev.clientY + 20) + 'px';
};
canvas.onmouseleave = () => { hover = -1; tip.hidden = true; draw(); };

// Search: any of the words, in name, file or module, whatever the case. What
// matches counts once, in its outermost box.
function search() {
  const words = $('search').value.toLowerCase().split(',').map(s => s.trim()).filter(Boolean);
  found = words.length ? new Set(D.functions.flatMap((f, i) => words.some(w => (f[0] + '\n' + f[2] + '\n' + f[3]).toLowerCase().includes(w)) ? [i] : [])) : null;
  let sum = 0, boxes = 0, end = 0;
  if (found) {
    const hit = [];
    for (let i = 0; i < N; i++) if (found.has(B.fn[i])) { boxes++; hit.push([B.start[i], B.end[i]]); }
    for (const [s, e] of hit.sort((a, b) => a[0] - b[0])) { sum += Math.max(0, e - Math.max(s, end)); end = Math.max(end, e); }
  }
  $('matched').textContent = found ? `${found.size} functions, ${boxes} boxes, ${percent(sum, WHOLE)} of the width` : '';
  draw();
}
$('search').oninput = search;

// The list of functions.
const L = D.list, shownRows = 500;
function list() {
  const m = (L.fn || []).length;
  if (!m) return;
  $('side').hidden = false;
  const columns = D.diff
    ? [['self', i => L.self[i], v => amount(v)], ['Δ self', i => L.self[i] - L.baseSelf[i], v => amount(v, true), L.selfNoise], ['Δ total', i => L.total[i] - L.baseTotal[i], v => amount(v, true), L.noise]]
    : [['total', i => L.total[i], v => amount(v)], ['total%', i => L.total[i], v => percent(v, D.root[0])], ['self%', i => L.self[i], v => percent(v, D.root[0])]];
  const thead = $('side').querySelector('thead').insertRow(), body = $('side').querySelector('tbody');
  const order = [...Array(m).keys()];
  const fill = () => {
    body.textContent = '';
    for (const i of order.slice(0, shownRows)) {
      const f = D.functions[L.fn[i]], r = body.insertRow(), name = cell(r, ''), dim = document.createElement('span');
      dim.textContent = f[0].slice(folders(f), f[1]);
      name.append(dim, f[0].slice(f[1]));
      name.title = [f[0], f[3], f[2]].filter(Boolean).join('\n');
      name.onclick = () => { $('search').value = f[0].replaceAll(',', ' '); found = new Set([L.fn[i]]); const s = found; search(); found = s; draw(); };
      for (const [, value, write, noise] of columns) {
        const v = value(i);
        cell(r, v ? write(v) : '–', noise ? (Math.abs(v) <= noise[i] ? 'faint' : side(v)) : '');
      }
    }
  };
  const sort = (th, value) => {
    for (const x of thead.children) x.removeAttribute('aria-sort');
    th.setAttribute('aria-sort', 'descending');
    order.sort((a, b) => Math.abs(value(b)) - Math.abs(value(a)));
    fill();
  };
  thead.append(Object.assign(document.createElement('th'), { textContent: m > shownRows ? `${shownRows} of ${m} functions` : `${m} functions` }));
  for (const [label, value] of columns) {
    const th = Object.assign(document.createElement('th'), { textContent: label, tabIndex: 0 });
    th.onclick = () => sort(th, value);
    th.onkeydown = ev => { if (ev.key === 'Enter' || ev.key === ' ') { ev.preventDefault(); sort(th, value); } };
    thead.append(th);
  }
  sort(thead.children[D.diff ? 2 : 1], columns[D.diff ? 1 : 0][1]);
}

function legend() {
  const stops = [];
  for (let c = -5; c <= 5; c++) stops.push(diffColour(c / 5));
  $('legend').querySelector('i').style.background = `linear-gradient(to right, ${stops.join(',')})`;
}
if (D.diff) { $('legend').hidden = false; legend(); }
$('root').textContent = D.time ? '' : D.diff ? `${amount(D.root[1])} → ${amount(D.root[0])} ${D.per}` : amount(D.root[0]) + (D.unit === 'count' ? ' samples' : '') + ' in total';
$('notes').textContent = (D.notes || []).join(' · ');
if (D.title) list();
draw();
})();
