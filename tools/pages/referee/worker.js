// Runs in a worker of the page: Python, and in it the second checker. Text only goes back to the page.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const here = new URL(".", import.meta.url);
let referee;

async function load() {
  postMessage({ step: "Loading Python (12 MB)…" });
  const python = await loadPyodide({ indexURL: new URL("pyodide/", here).href });
  postMessage({ step: "Loading the second checker…" });
  const answer = await fetch(new URL("checker.zip", here));
  if (!answer.ok) throw new Error(`checker.zip: ${answer.status}`);
  python.unpackArchive(await answer.arrayBuffer(), "zip", { extractDir: "/checker" });
  python.runPython('import sys; sys.path[:0] = ["/checker/recheck", "/checker"]');
  referee = python.pyimport("referee");
  postMessage({ ready: true });
}

async function put({ run, files, again }) {
  referee.clear();
  for (const { path, file } of files) {
    referee.put(path, new Uint8Array(await file.arrayBuffer()));
  }
  postMessage(again ? { run, again } : { run, opened: JSON.parse(referee.opened()) });
}

const loaded = load().catch((error) => {
  postMessage({ failed: `The checker could not be loaded: ${error.message}` });
  throw error;
});

async function answer(data) {
  try {
    if (data.files) await put(data);
    else postMessage({ run: data.run, checked: data.check, result: JSON.parse(referee.checked(data.check)) });
  } catch (error) {
    // Memory runs out in ways that leave nothing to go on with: the page starts another worker.
    postMessage({ run: data.run, failed: String(error.message || error).trim().split("\n").at(-1) });
  }
}

// One after the other: files that are still being read must not mix with those of the next request.
let last = loaded;
onmessage = ({ data }) => {
  last = last.then(() => answer(data));
};
