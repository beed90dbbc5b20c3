import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificatesIn } from "@countersign/core";
import { makeAuthority, makeLeaf, readAuthority } from "@countersign/local-stack/certificates.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";
import { memoryLogger } from "./testing/memory-logger.ts";
import { loadTls, watchTls } from "./tls.ts";
import { watchFiles } from "./watched-files.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-tls-"));
const path = (name: string) => join(directory, name);
const paths = { ca: path("ca.pem"), cert: path("own.pem"), key: path("own.key") };

beforeAll(async () => {
  for (const name of ["ca", "other-ca"]) await makeAuthority(path(`${name}.pem`), path(`${name}.key`));
  const authority = await readAuthority(paths.ca, path("ca.key"));
  await makeLeaf("own", paths, authority);
  await makeLeaf("other", { cert: path("other.pem"), key: path("other.key") }, authority);
  await makeLeaf("old", { cert: path("old.pem"), key: path("old.key") }, authority, -1_000);
  writeFileSync(path("none.pem"), "nothing\n");
  const both = ["ca.pem", "other-ca.pem"].map((name) => readFileSync(path(name), "utf8")).join("");
  writeFileSync(path("cut.pem"), both.slice(0, -40));
});
afterAll(() => rmSync(directory, { recursive: true }));

test("takes a bundle of CAs, also one whose lines run together, which OpenSSL would ignore", () => {
  const bundle = ["ca.pem", "other-ca.pem"].map((name) => readFileSync(path(name), "utf8").trim());
  writeFileSync(path("bundle.pem"), bundle.join(""));
  const { ca } = loadTls({ ...paths, ca: path("bundle.pem") });
  expect(certificatesIn(ca)).toHaveLength(2);
  expect(ca.toString()).toContain("-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----");
});

test.each([
  ["the key of another certificate", { key: path("other.key") }, "is not the key of"],
  ["an expired certificate", { cert: path("old.pem"), key: path("old.key") }, "expired at"],
  ["no CA", { ca: path("none.pem") }, "has no certificate"],
  ["a certificate that is none", { cert: path("none.pem") }, "is not PEM"],
  ["a bundle that is cut off", { ca: path("cut.pem") }, "is cut off"],
  ["no file", { key: path("missing.key") }, "ENOENT"],
])("refuses %s", (_, wrong, why) => {
  expect(() => loadTls({ ...paths, ...wrong })).toThrow(why);
});

test("a certificate with another name is refused: the process would be another caller", async () => {
  const own = { ca: paths.ca, cert: path("in-use.pem"), key: path("in-use.key") };
  const authority = await readAuthority(paths.ca, path("ca.key"));
  await makeLeaf("signer", own, authority);
  const files = watchFiles({ logger: memoryLogger().logger, metrics: createMetrics("test", { defaults: false }) });
  const tls = watchTls(files, own);
  const { cert } = tls.current();
  await makeLeaf("gateway", own, authority);
  tls.refresh();
  expect(tls.current().cert).toEqual(cert);
  await makeLeaf("signer", own, authority);
  tls.refresh();
  expect(tls.current().cert).not.toEqual(cert);
  await files.close();
});
