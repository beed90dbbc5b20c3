import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadPasskeys } from "@countersign/settings";
import { expect, it } from "vitest";
import { z } from "zod";
import { blocksOf } from "./blocks.ts";

const [association, assetLinks, relyingParties] = blocksOf("deep-links").filter(({ language }) => language === "json");
const FILES: Record<string, string> = {
  "/.well-known/apple-app-site-association": association!.text,
  "/.well-known/assetlinks.json": assetLinks!.text,
};

/** As Apple documents it (Supporting associated domains). */
const AppId = z.string().regex(/^[A-Z0-9]{10}(\.[\w-]+)+$/);
const Association = z.strictObject({
  applinks: z.strictObject({
    details: z
      .array(
        z.strictObject({
          appIDs: z.array(AppId).min(1),
          components: z.array(z.strictObject({ "/": z.string().startsWith("/") })).min(1),
        }),
      )
      .min(1),
  }),
  webcredentials: z.strictObject({ apps: z.array(AppId).min(1) }),
});

/** As Digital Asset Links documents it. */
const AssetLinks = z
  .array(
    z.strictObject({
      relation: z.array(z.templateLiteral(["delegate_permission/common.", z.string()])),
      target: z.strictObject({
        namespace: z.literal("android_app"),
        package_name: z.string().regex(/^[a-z]\w*(\.\w+)+$/),
        sha256_cert_fingerprints: z.array(z.string().regex(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/)).min(1),
      }),
    }),
  )
  .min(1);

/** Serves the page's two files as it says, and returns what a phone reads. */
async function served(path: string): Promise<unknown> {
  const server = createServer(({ url = "" }, response) => {
    const file = FILES[url];
    response.writeHead(file === undefined ? 404 : 200, { "content-type": "application/json" }).end(file);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: "error" });
    expect(answer.headers.get("content-type")).toBe("application/json");
    return await answer.json();
  } finally {
    server.close();
  }
}

it("both files are what the platforms read, and name the same app", async () => {
  const apple = Association.parse(await served("/.well-known/apple-app-site-association"));
  const [android] = AssetLinks.parse(await served("/.well-known/assetlinks.json"));
  const [app] = apple.webcredentials.apps;
  expect(apple.applinks.details[0]!.appIDs).toEqual([app]);
  expect(app!.slice(11)).toBe(android!.target.package_name);
});

it("the commands make the Android origin of the certificate, and the service accepts that origin", () => {
  const [commands] = blocksOf("deep-links").filter(({ language }) => language === "sh");
  const origin = execFileSync("bash", ["-euo", "pipefail", "-c", commands!.text], { encoding: "utf8" }).trim();
  const settings = JSON.parse(relyingParties!.text) as { relyingParties: { origins: string[] }[] };
  expect(settings.relyingParties[0]!.origins).toContain(origin);
  const [fingerprint] = AssetLinks.parse(JSON.parse(assetLinks!.text))[0]!.target.sha256_cert_fingerprints;
  expect(commands!.text).toContain(fingerprint);
  expect(() => loadPasskeys("passkeys.json", () => Buffer.from(relyingParties!.text))).not.toThrow();
});
