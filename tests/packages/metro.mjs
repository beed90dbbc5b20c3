// Bundles sign-in.js of an app as Metro does for a phone: `node metro.mjs <app> <bundle>`.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { loadConfig, mergeConfig, runBuild } from "metro";

const [app, out] = process.argv.slice(2);
const runtime = dirname(fileURLToPath(import.meta.resolve("metro-runtime/package.json")));
const transform = { experimentalImportSupport: true, inlineRequires: false };
const config = mergeConfig(await loadConfig({ cwd: app }), {
  projectRoot: app,
  watchFolders: [app, runtime],
  resolver: { extraNodeModules: { "metro-runtime": runtime } },
  maxWorkers: 1,
  reporter: { update() {} },
  transformer: { getTransformOptions: async () => ({ transform }) },
});
await runBuild(config, { entry: "sign-in.js", out, platform: "ios", minify: false, dev: false });
