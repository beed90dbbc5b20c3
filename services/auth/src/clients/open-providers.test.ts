import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FixedClock } from "@countersign/core/testing";
import { createLogger, createMetrics, watchFiles } from "@countersign/runtime";
import { expect, it } from "vitest";
import { openProviders } from "./open-providers.ts";
import { watchProviders } from "./providers-file.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-providers-"));
const file = join(directory, "providers.json");
const secret = join(directory, "secret");
const provider = (name: string, more: object = {}) => ({
  name,
  issuer: `https://${name}.example`,
  clients: [
    {
      clientId: "app",
      clientSecretFile: secret,
      appId: "app",
      appName: "App",
      keyBinding: "optional",
      redirectUris: ["app://back"],
      ...more,
    },
  ],
});
const write = (...providers: object[]) => writeFileSync(file, JSON.stringify({ providers }));

it("follows the file and the secrets that it names; an unchanged provider keeps its client", async () => {
  writeFileSync(secret, "one");
  write(provider("a"), { ...provider("b"), clients: [{ ...provider("b").clients[0], clientSecretFile: undefined }] });
  const files = watchFiles({
    logger: createLogger({ name: "test", level: "silent" }),
    metrics: createMetrics("test", { defaults: false }),
  });
  const configs = watchProviders(files, file);
  const providers = openProviders(configs, new FixedClock());
  const [a, b] = providers;
  writeFileSync(secret, "two\n");
  configs.refresh();
  expect(providers.map(({ config }) => [config.name, config.clients[0]!.clientSecret])).toEqual([
    ["a", "two"],
    ["b", undefined],
  ]);
  expect([providers[0] === a, providers[1] === b]).toEqual([false, true]);
  write(provider("c"));
  configs.refresh();
  expect(providers.map(({ config }) => config.name)).toEqual(["c"]);
  write();
  configs.refresh();
  expect(providers.map(({ config }) => config.name)).toEqual(["c"]);
  await files.close();
});
