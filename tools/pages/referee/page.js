"use strict";
// What comes from files is set as text, never as markup. Checks run in a worker, one after the other; one that takes too
// long is ended with its worker, and the next begins in a new one.

const at = (id) => document.getElementById(id);
const TAKEN = /\.(yaml|yml|npy|npz|safetensors|zip)$/i;
const MOST_FILES = 10000, MOST_BYTES = 2 ** 29, SHOWN = 8;
// how a verdict is shown: its words, its kind, what it means
const VERDICTS = {
  waiting: ["Waiting", "", ""],
  checking: ["Being checked", "", ""],
  verified: ["Verified", "verified", "The second checker proves everything that this certificate asserts."],
  "not proved": ["Not proved", "false", "The statement is false, or the certificate's hints do not prove it."],
  undecided: ["Not decided", "open", "Both sides of a comparison are too close to tell apart at the highest precision."],
  rejected: ["Rejected", "false", "It is not a certificate, or its array files are not the ones it is about."],
  "not covered": ["Not covered", "open",
    "The second checker has no method for this, which says nothing against it: use certattn check."],
  late: ["Not decided in time", "open", "Allow more time above, or run a checker outside of the browser."],
  missing: ["Not checked", "open", "Array files are missing: choose them together with the certificate."],
  stopped: ["Stopped", "open", ""],
  broken: ["Not checked", "open", "The checker gave up, perhaps for lack of memory: run it outside of the browser."],
};

let worker, ready = false, chosen = [], entries = [], current = null, begun = 0, words = {}, unable = "";
let run = 0; // which files are asked about: answers about earlier ones count no more

function element(tag, text = "", kind = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function problem(text) {
  at("problem").textContent = text;
  at("problem").hidden = !text;
}

// -- the worker

function start() {
  if (worker) worker.terminate();
  ready = false;
  // From a blob, so that the worker is under this page's policy as well: one from a file has the server's, or none.
  // Policies count what a module imports in its first lines as a worker, and what it imports later as a script.
  const code = `import(${JSON.stringify(new URL("worker.js", location.href).href)});`;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  worker = new Worker(url, { type: "module" });
  worker.onmessage = ({ data }) => heard(data);
  worker.onerror = () => heard({ failed: "The checker could not be started." });
}

function heard(data) {
  if (data.run !== undefined && data.run !== run) return;
  if (data.step) {
    at("step").textContent = data.step;
    at("loading").hidden = false;
  }
  if (data.ready) {
    ready = true;
    at("loading").hidden = true;
    if (chosen.length) worker.postMessage({ run, files: chosen, again: entries.length > 0 });
  }
  if (data.opened) opened(data.opened);
  if (data.again) next();
  if (data.checked) settle(entries.find((entry) => entry.path === data.checked), data.result);
  if (data.failed) failed(data.failed);
}

function failed(why) {
  at("loading").hidden = true;
  if (!current) {
    problem(why);
    if (!ready) {
      unable = why;
    } else {
      chosen = [];
      start();
    }
    return;
  }
  settle(current, { verdict: "broken", why, seconds: elapsed() }, false);
  start();
}

// -- files

async function below(entry, found) {
  if (entry.name.startsWith(".") || found.length > MOST_FILES) return;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    found.push({ path: entry.fullPath.replace(/^\/+/, ""), file });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const each of some) await below(each, found);
  }
}

async function dropped(transfer) {
  // Both lists are empty once this has waited for anything.
  const tops = [...transfer.items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
  const plain = [...transfer.files].map((file) => ({ path: file.name, file }));
  const found = [];
  try {
    for (const top of tops) await below(top, found);
  } catch (error) {
    problem(`A file could not be read: ${error.message}`);
    return;
  }
  take(found.length ? found : plain);
}

function take(files) {
  problem("");
  const hidden = ({ path }) => path.split("/").some((part) => part.startsWith("."));
  const taken = files.filter((each) => TAKEN.test(each.path) && !hidden(each));
  const size = taken.reduce((sum, { file }) => sum + file.size, 0);
  if (!taken.some(({ path }) => /\.(yaml|yml|zip)$/i.test(path))) {
    problem(`No certificates among ${files.length === 1 ? "this file" : `these ${files.length} files`}: expected .yaml, ` +
      ".yml, or a bundle, .zip.");
  } else if (taken.length > MOST_FILES || size > MOST_BYTES) {
    problem(`${taken.length} files, ${Math.ceil(size / 2 ** 20)} MiB: a browser takes ${MOST_FILES} files and ` +
      `${MOST_BYTES / 2 ** 20} MiB at most. Use certattn check.`);
  } else {
    if (current) stopped();
    chosen = taken;
    entries = [];
    at("results").hidden = true;
    if (unable) problem(unable);
    run += 1;
    if (ready) worker.postMessage({ run, files: chosen, again: false });
  }
}

function opened(found) {
  current = null;
  entries = found.certificates.map((each) => ({ ...each, state: "waiting", result: {} }));
  const notes = [...found.refused, ...found.locks];
  if (!entries.length && !notes.length) notes.push("No certificates in these files.");
  at("notes").replaceChildren(...notes.map((text) => element("p", text, "problem")));
  for (const entry of entries) {
    entry.item = document.createElement("li");
    if (entry.missing && entry.missing.length) {
      entry.state = "missing";
      entry.result = { why: entry.missing.join(", ") };
    }
    fill(entry);
  }
  at("certificates").replaceChildren(...entries.map((entry) => entry.item));
  at("results").hidden = false;
  next();
}

// -- checks

const elapsed = () => Math.round((performance.now() - begun) / 10) / 100;

function next() {
  current = entries.find((entry) => entry.state === "waiting") || null;
  if (current) {
    current.state = "checking";
    begun = performance.now();
    fill(current);
    worker.postMessage({ run, check: current.path });
  }
  counts();
}

function settle(entry, result, more = true) {
  if (!entry || entry !== current) return;
  entry.state = Object.hasOwn(VERDICTS, result.verdict) ? result.verdict : "broken";
  entry.result = result;
  current = null;
  fill(entry);
  if (more) next();
}

function tick() {
  if (!current) return;
  current.item.querySelector(".verdict").textContent = `Being checked, ${Math.floor(elapsed())} s`;
  const limit = Number(at("seconds").value) || 60;
  if (elapsed() > limit) {
    settle(current, { verdict: "late", why: `given up after ${limit} s`, seconds: elapsed() }, false);
    start();
  }
}

function stopped() {
  for (const entry of entries) {
    if (["waiting", "checking"].includes(entry.state)) {
      entry.state = "stopped";
      fill(entry);
    }
  }
  current = null;
  chosen = [];
  start();
  counts();
}

// -- what is shown

function counts() {
  const number = (state) => entries.filter((entry) => entry.state === state).length;
  const parts = Object.keys(VERDICTS).filter(number).map((state) => `${number(state)} ${VERDICTS[state][0].toLowerCase()}`);
  const whole = `${entries.length} certificate${entries.length === 1 ? "" : "s"}`;
  at("counts").textContent = entries.length ? `${whole}: ${parts.join(", ")}` : "";
  at("stop").hidden = !current;
}

function fill(entry) {
  const { item, state, result } = entry;
  const [word, kind, meaning] = VERDICTS[state];
  item.className = kind;
  item.dataset.state = state;
  item.replaceChildren(element("h3", entry.name));
  const said = element("p");
  said.append(element("span", word, "verdict"));
  if (result.seconds !== undefined) said.append(` in ${Math.max(result.seconds, 0.01)} s`);
  if (state === "verified") said.append(`, with ${result.why}`);
  item.append(said);
  if (meaning && state !== "verified") item.append(element("p", meaning));
  if (result.why && state !== "verified") item.append(element("p", result.why.slice(0, 1000), "why"));
  if (entry.unread !== undefined) {
    if (state === "waiting" || state === "checking") item.append(element("p", entry.unread.slice(0, 1000), "why"));
  } else stated(entry);
  if (entry.text !== undefined) item.append(folded("The file itself", element("pre", entry.text)));
}

function stated(entry) {
  const known = words[entry.claim] || { title: "", chapter: "", fields: {} };
  const claim = element("p");
  const link = element("a", entry.claim);
  link.href = `../claims/${known.chapter}/${entry.claim}.html`;
  claim.append("States ", known.chapter ? link : entry.claim, known.title ? `: ${known.title}.` : ".");
  entry.item.append(claim, list("asserts", entry.asserts, known.fields));
  entry.item.append(element("p", "Statement digest:"), element("code", entry.digest, "digest"));
  if (entry.lock) promised(entry);
  entry.item.append(folded("What it is about", list("given", entry.given, known.fields)));
}

function promised({ item, lock, digest }) {
  if (lock.digest === digest) {
    item.append(element("p", "certattn.lock in the archive names the same digest."));
    item.append(folded("The archive's own words for it, which nobody has checked", element("p", lock.says, "words")));
  } else {
    item.append(element("p", lock.digest ? `certattn.lock in the archive promises another statement, ${lock.digest}.`
      : "certattn.lock in the archive does not promise this certificate.", "problem"));
  }
}

function list(part, rows, fields) {
  if (rows.length > SHOWN + 2) {
    const all = element("div");
    all.append(table(part, rows.slice(0, SHOWN), fields));
    all.append(folded(`${rows.length - SHOWN} more`, table(part, rows.slice(SHOWN), fields)));
    return all;
  }
  return table(part, rows, fields);
}

function table(part, rows, fields) {
  const made = element("dl");
  for (const [name, text] of rows) {
    const value = element("dd", text);
    const meaning = fields[`${part}.${name.replace(/\[\d+\]/g, "")}`];
    if (meaning) value.append(element("span", ` – ${meaning}`));
    made.append(element("dt", name), value);
  }
  return made;
}

function folded(title, content) {
  const made = element("details");
  made.append(element("summary", title), content);
  return made;
}

// -- the page

function wire() {
  for (const id of ["files", "folder"]) {
    at(id).addEventListener("change", () => {
      take([...at(id).files].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
      at(id).value = "";
    });
  }
  addEventListener("dragover", (event) => {
    event.preventDefault();
    at("drop").classList.add("over");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || at("drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    at("drop").classList.remove("over");
    dropped(event.dataTransfer);
  });
  at("stop").addEventListener("click", stopped);
  at("example").addEventListener("click", async () => {
    const answer = await fetch("example.zip");
    take([{ path: "example.zip", file: new File([await answer.blob()], "example.zip") }]);
  });
  setInterval(tick, 250);
}

async function begin() {
  if (location.protocol === "file:") {
    problem("Browsers run no checker in a page that is opened from a disk. In the folder of these docs, run\n" +
      "python3 -m http.server --bind 127.0.0.1\nand open http://127.0.0.1:8000/referee/");
    return;
  }
  wire();
  start();
  words = await (await fetch("words.json")).json();
}

begin();
