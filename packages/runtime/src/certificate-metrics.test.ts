import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeAuthority, makeLeaf, readAuthority } from "@countersign/local-stack/certificates.ts";
import { afterAll, expect, test } from "vitest";
import { exportCertificateExpiry } from "./certificate-metrics.ts";
import { createMetrics } from "./metrics.ts";
import { memoryLogger } from "./testing/memory-logger.ts";
import { loadTls } from "./tls.ts";
import { watchFiles } from "./watched-files.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-expiry-"));
afterAll(() => rmSync(directory, { recursive: true }));
const path = (name: string) => join(directory, name);
const HOUR_S = 3_600;

test("the expiry is that of the certificate in use, also after the file has changed", async () => {
  const paths = { ca: path("ca.pem"), cert: path("own.pem"), key: path("own.key") };
  await makeAuthority(paths.ca, path("ca.key"));
  const issue = async (hours: number) =>
    makeLeaf("own", paths, await readAuthority(paths.ca, path("ca.key")), hours * HOUR_S * 1_000);
  const metrics = createMetrics("test", { defaults: false });
  const files = watchFiles({ logger: memoryLogger().logger, metrics });
  const hoursLeft = async (certificate: string) => {
    const line = new RegExp(`^countersign_certificate_expiry.*"${certificate}".* (\\S+)$`, "m");
    const at = line.exec(await metrics.registry.metrics())?.[1];
    return at && Math.round((Number(at) - Date.now() / 1_000) / HOUR_S);
  };
  await issue(10);
  const tls = files.watch("tls", (read) => loadTls(paths, read));
  const { onDatabaseConnection } = exportCertificateExpiry(metrics, tls);
  expect([await hoursLeft("own"), await hoursLeft("ca")]).toEqual([10, 90 * 24]);
  await issue(20);
  // In use is still the old one.
  expect(await hoursLeft("own")).toBe(10);
  tls.refresh();
  expect(await hoursLeft("own")).toBe(20);
  expect(await hoursLeft("database")).toBeUndefined();
  onDatabaseConnection({ server: new Date(Date.now() + 5 * HOUR_S * 1_000), client: undefined });
  expect([await hoursLeft("database"), await hoursLeft("database-client")]).toEqual([5, undefined]);
  await files.close();
});
