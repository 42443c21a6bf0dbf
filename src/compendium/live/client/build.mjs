// One file of all that entry.mjs names, and beside it the licences of the packages that are in it.
import {build} from "esbuild";
import {readdirSync, readFileSync, writeFileSync} from "node:fs";
import {join} from "node:path";

const folder = process.argv[2];
const made = await build({
  entryPoints: ["entry.mjs"],
  outfile: join(folder, "client.mjs"),
  bundle: true,
  minify: true,
  format: "esm",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  define: {"process.env.NODE_ENV": '"production"'},
});
const places = Object.keys(made.metafile.inputs)
  .map((input) => input.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//)?.[1])
  .filter(Boolean);
const jupyter = readFileSync("jupyter.licence.txt", "utf8"); // of the project; its packages come without their own
const texts = [...new Set(places)].sort().map((place) => {
  const {name, version, license, author} = JSON.parse(readFileSync(join(place, "package.json")));
  const file = readdirSync(place).find((one) => /^licen[cs]e/i.test(one));
  if (!file && author !== "Project Jupyter") throw new Error(`${name} has no licence that could go with it`);
  const text = file ? readFileSync(join(place, file), "utf8") : jupyter;
  return `${name} ${version} (${license})\n\n${text.trim()}`;
});
writeFileSync(join(folder, "client.licences.txt"), texts.join("\n\n----\n\n") + "\n");
