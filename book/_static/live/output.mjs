// An output of a cell as the book shows it.

/** The element of an output; addresses in it lead from this page of the book. */
export function rendered(output, root, name) {
  const box = document.createElement("div");
  if (output.output_type === "stream") {
    box.className = `output ${output.name === "stderr" ? "stderr" : "stream"}`;
    box.append(text(output.text));
  } else if (output.output_type === "error") {
    box.className = "output live-error";
    const why = document.createElement("p");
    why.append(`${output.ename}: ${output.evalue}`);
    const all = document.createElement("details");
    const summary = document.createElement("summary");
    summary.append("Where it happened");
    all.append(summary, text(output.traceback.join("\n")));
    box.append(why, all);
  } else {
    box.className = "output";
    box.append(shown(output.data, root, name));
  }
  return box;
}

function text(given) {
  const pre = document.createElement("pre");
  pre.textContent = given.replace(/\x1b\[[0-9;]*m/g, "");
  return pre;
}

function shown(data, root, name) {
  if (data["text/html"]) {
    const box = document.createElement("div");
    box.className = "text_html";
    // An experiment is executed two folders below the top, wherever its page is.
    const html = name.startsWith("experiments/") ? data["text/html"].replaceAll('"../../', `"${root}`) : data["text/html"];
    box.innerHTML = html;
    return box;
  }
  const images = { "image/svg+xml": "charset=utf-8,", "image/png": "base64,", "image/jpeg": "base64," };
  for (const [kind, encoding] of Object.entries(images)) {
    if (!data[kind]) continue;
    const image = document.createElement("img");
    const body = kind === "image/svg+xml" ? encodeURIComponent(data[kind]) : data[kind].replaceAll("\n", "");
    image.src = `data:${kind};${encoding}${body}`;
    image.alt = "Figure of your run";
    return image;
  }
  return text(data["text/plain"] || data["text/latex"] || "");
}
