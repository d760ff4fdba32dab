"use strict";
(() => {
  const applications = JSON.parse(document.getElementById("data").textContent).applications;
  const byId = (id) => document.getElementById(id);
  const form = byId("filter"), text = byId("text"), kind = byId("kind"), cause = byId("cause");
  const boxes = [...form.elements].filter((e) => e.name === "status");
  const rows = [...document.querySelectorAll(".app")].map((node) => ({
    node, box: node.querySelector(".objects"), app: applications[node.dataset.index], objects: null, matches: null,
  }));

  // make builds an element. Text is always text: nothing in the page is parsed as HTML.
  function make(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    for (const child of children) if (child !== null && child !== undefined) node.append(child);
    return node;
  }
  const count = (n, of) => `${n} ${of}${n === 1 ? "" : "s"}`;
  const signs = { "+": ["plus", "added"], "-": ["minus", "removed"], "~": ["tilde", "changed"] };
  function signNode(sign) {
    const [className, word] = signs[sign];
    const glyph = make("span", "", sign === "-" ? "\u2212" : sign);
    glyph.setAttribute("aria-hidden", "true");
    return make("span", "sign " + className, glyph, make("span", "hidden", word + " "));
  }
  const covered = (object) => object.sign === "~" && object.fields.length > 0 && object.fields.every((f) => f.cause);

  // Objects

  function openObjects(row) {
    if (row.objects) return;
    row.objects = row.app.objects.map((object) => objectNode(object, row.app));
    row.box.append(...row.app.notes.map((note) => make("p", "note", "Note: " + note)), ...row.objects);
    showObjects(row);
  }

  function objectNode(object, app) {
    let extent = object.sign === "~" ? count(object.fields.length, "field") : object.sign === "+" ? "added" : "removed";
    if (covered(object)) extent += ", by " + causesOf(object);
    const summary = make("summary", "", signNode(object.sign), make("span", "title", object.title),
      make("span", "extent", extent), object.origin ? make("span", "about", object.origin) : null);
    const node = make("details", covered(object) ? "object covered" : "object", summary);
    node.addEventListener("toggle", () => {
      if (node.open && node.childElementCount === 1) node.append(objectBody(object, app));
    });
    return node;
  }

  function causesOf(object) {
    const numbers = [...new Set(object.fields.map((f) => f.cause))].sort((a, b) => a - b);
    return (numbers.length === 1 ? "cause " : "causes ") + numbers.join(", ");
  }

  function objectBody(object, app) {
    const body = make("div", "body");
    if (object.fields.length > 0) body.append(fieldTable(object));
    if (object.lines.length > 0) body.append(make("h3", "", object.sign === "~" ? "Side by side" : "Manifest"), sides(object, app));
    else body.append(make("p", "note", "The report has no manifest of this object: it is too large."));
    return body;
  }

  function headRow(...labels) {
    const row = make("tr");
    for (const [label, span] of labels) {
      const cell = make("th", "", label);
      cell.scope = "col";
      if (span) cell.colSpan = span;
      row.append(cell);
    }
    return make("thead", "", row);
  }

  function fieldTable(object) {
    const table = make("table", "fields", make("caption", "hidden", "Fields of " + object.title), headRow(["Field"], ["Before"], ["After"]));
    const rows = make("tbody");
    for (const field of object.fields) {
      const head = make("th", "", signNode(field.sign), ...breakable(field.path));
      head.scope = "row";
      if (field.cause) {
        const by = make("button", "by", "cause " + field.cause);
        by.type = "button";
        by.addEventListener("click", () => showCause(field.cause));
        head.append(by);
      }
      const row = make("tr", "", head);
      const wide = (content) => { const cell = make("td", "", content); cell.colSpan = 2; row.append(cell); };
      if (field.lines) {
        wide(make("span", "difference", ...field.lines.map((l) => make("span", l[0] === "@" ? "hunk" : l[0] === "+" ? "plus" : l[0] === "-" ? "minus" : "", l))));
      } else if (field.note && !field.from && !field.to) {
        wide(make("span", "mention", field.note));
      } else {
        const [from, to] = marked(field.from || "", field.to || "");
        row.append(make("td", "from", field.note && field.from ? make("span", "mention", field.note + ": ") : null, ...from), make("td", "to", ...to));
      }
      rows.append(row);
    }
    table.append(rows);
    return table;
  }

  // breakable is a path that a line breaks in front of its parts.
  const breakable = (path) => path.split(/(?=[.[])/).flatMap((part) => [make("wbr"), part]).slice(1);

  // marked are two texts with the part that differs marked, where enough is the same
  // for a mark to help.
  function marked(a, b) {
    if (!a || !b) return [[a], [b]];
    let start = 0, end = 0;
    const short = Math.min(a.length, b.length);
    while (start < short && a[start] === b[start]) start++;
    while (end < short - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
    // Never between the halves of a character.
    const low = (s, i) => i > 0 && i < s.length && s.charCodeAt(i) >= 0xdc00 && s.charCodeAt(i) < 0xe000;
    while (low(a, start) || low(b, start)) start--;
    while (end > 0 && (low(a, a.length - end) || low(b, b.length - end))) end--;
    if (start + end < short / 4) return [[a], [b]];
    return [a, b].map((s) => {
      const middle = s.slice(start, s.length - end);
      return [s.slice(0, start), middle ? make("mark", "", middle) : null, s.slice(s.length - end)];
    });
  }

  // Side by side

  function sides(object, app) {
    const both = object.sign === "~";
    const table = make("table", both ? "sides" : "sides single", make("caption", "hidden", "Manifest of " + object.title));
    const label = (word, renderer) => renderer ? `${word} (${renderer})` : word;
    const group = make("colgroup");
    for (const name of both ? ["at", "", "at", ""] : ["at", ""]) group.append(make("col", name));
    table.append(group, both ? headRow([label("Before", app.from), 2], [label("After", app.to), 2])
      : headRow([object.sign === "+" ? label("After", app.to) : label("Before", app.from), 2]));
    const body = make("tbody");
    const at = { before: 1, after: 1 };
    object.lines.forEach((segment, i) => {
      if (segment.rows) {
        for (const [before, after] of segment.rows) body.append(differentRow(before, after, at, object.sign));
      } else if (segment.left) {
        body.append(foldRow(`${count(segment.left, "unchanged line")} left out of this report`));
        at.before += segment.left;
        at.after += segment.left;
      } else {
        sameRows(body, segment.same, at, i > 0, i < object.lines.length - 1);
      }
    });
    table.append(body);
    return table;
  }

  const cell = (className, ...content) => make("td", className, ...content);

  function sameRow(line, before, after) {
    return make("tr", "same", cell("at before", before), cell("before", line), cell("at", after), cell("", line));
  }

  // sameRows adds equal lines: three of them next to a difference, the others behind
  // a button.
  function sameRows(body, lines, at, above, below) {
    const context = 3, head = above ? context : 0, tail = below ? context : 0;
    const add = (from, to, append) => {
      for (let i = from; i < to; i++) append(sameRow(lines[i], before + i, after + i));
    };
    const { before, after } = at;
    const append = (row) => body.append(row);
    if (lines.length <= head + tail + 2) {
      add(0, lines.length, append);
    } else {
      add(0, head, append);
      const from = head, to = lines.length - tail;
      const button = make("button", "", `Show ${count(to - from, "unchanged line")}`);
      button.type = "button";
      const fold = foldRow(button);
      button.addEventListener("click", () => {
        const opened = document.createDocumentFragment();
        add(from, to, (row) => opened.append(row));
        const first = opened.firstChild;
        fold.replaceWith(opened);
        first.tabIndex = -1;
        first.focus({ preventScroll: true });
      });
      body.append(fold);
      add(to, lines.length, append);
    }
    at.before += lines.length;
    at.after += lines.length;
  }

  function foldRow(content) {
    const inner = cell("", content);
    inner.colSpan = 4;
    return make("tr", "fold", inner);
  }

  function differentRow(before, after, at, sign) {
    const [from, to] = before !== null && after !== null ? marked(before, after) : [[before], [after]];
    const old = before === null ? [cell("at none"), cell("none")]
      : [cell("at gone", at.before++), cell("gone", make("del", "", ...from))];
    const now = after === null ? [cell("at none"), cell("none")]
      : [cell("at come", at.after++), cell("come", make("ins", "", ...to))];
    return make("tr", "", ...(sign === "+" ? now : sign === "-" ? old : [...old, ...now]));
  }

  // Filter

  const lower = (parts) => parts.filter(Boolean).join("\n").toLowerCase();
  const haystack = (row) => row.haystack ??= {
    name: lower([row.app.name, ...row.app.notes]),
    objects: row.app.objects.map((o) => lower([row.app.name, o.title, o.origin,
      ...o.fields.flatMap((f) => [f.path, f.from, f.to, f.note, ...(f.lines || [])])])),
  };

  function apply() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const statuses = new Set(boxes.filter((b) => b.checked).map((b) => b.value));
    const picks = kind.value !== "" || cause.value !== "";
    const wanted = Number(cause.value);
    let apps = 0, objects = 0, all = 0;
    for (const row of rows) {
      all += row.app.objects.length;
      let shown = statuses.has(row.app.status);
      row.matches = shown ? row.app.objects.map((object, i) =>
        (kind.value === "" || object.kind === kind.value) &&
        (cause.value === "" || (cause.value === "none" ? !covered(object) : object.fields.some((f) => f.cause === wanted))) &&
        words.every((w) => haystack(row).objects[i].includes(w))) : null;
      if (shown) {
        const found = row.matches.filter(Boolean).length;
        shown = found > 0 || !picks && words.every((w) => haystack(row).name.includes(w));
        objects += found;
      }
      row.node.hidden = !shown;
      if (shown) apps++;
      if (row.objects) showObjects(row);
    }
    byId("result").textContent = `${apps} of ${count(rows.length, "application")}, ${objects} of ${count(all, "object")}`;
    byId("nothing").hidden = apps > 0;
  }

  function showObjects(row) {
    row.objects.forEach((node, i) => { node.hidden = row.matches !== null && !row.matches[i]; });
  }

  function showCause(number) {
    cause.value = String(number);
    changed();
    byId("applications").scrollIntoView();
  }

  // The state of the filter stands in the fragment of the address, so that it can be
  // sent to somebody.

  const defaults = boxes.map((b) => b.checked);
  function save() {
    const state = new URLSearchParams();
    if (text.value) state.set("text", text.value);
    if (kind.value) state.set("kind", kind.value);
    if (cause.value) state.set("cause", cause.value);
    if (boxes.some((b, i) => b.checked !== defaults[i])) state.set("status", boxes.filter((b) => b.checked).map((b) => b.value).join(","));
    history.replaceState(null, "", "#" + state);
  }
  function load() {
    const state = new URLSearchParams(location.hash.slice(1));
    text.value = state.get("text") || "";
    kind.value = state.get("kind") || "";
    cause.value = state.get("cause") || "";
    for (const select of [kind, cause]) if (select.selectedIndex < 0) select.value = "";
    const statuses = state.get("status");
    boxes.forEach((b, i) => { b.checked = statuses === null ? defaults[i] : statuses.split(",").includes(b.value); });
    apply();
  }
  function changed() {
    save();
    apply();
  }

  // Wiring

  const kinds = new Map();
  for (const row of rows) for (const object of row.app.objects) kinds.set(object.kind, (kinds.get(object.kind) || 0) + 1);
  for (const [name, n] of [...kinds].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const option = make("option", "", `${name} (${n})`);
    option.value = name;
    kind.append(option);
  }
  let pending = 0;
  text.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(changed, 120); });
  for (const control of [kind, cause, ...boxes]) control.addEventListener("change", changed);
  form.addEventListener("submit", (event) => { event.preventDefault(); changed(); });
  form.addEventListener("reset", () => setTimeout(changed, 0));
  for (const button of document.querySelectorAll(".show-cause")) button.addEventListener("click", () => showCause(button.dataset.cause));
  for (const row of rows) {
    row.node.addEventListener("toggle", () => { if (row.node.open) openObjects(row); });
    if (row.node.classList.contains("empty")) row.node.firstElementChild.addEventListener("click", (event) => event.preventDefault());
  }
  byId("open").addEventListener("click", () => { for (const row of rows) if (!row.node.hidden && !row.node.classList.contains("empty")) row.node.open = true; });
  byId("close").addEventListener("click", () => { for (const row of rows) row.node.open = false; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      text.focus();
      text.select();
    }
  });
  window.addEventListener("hashchange", load);
  load();
})();
