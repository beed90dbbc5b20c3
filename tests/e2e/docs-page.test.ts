import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stack } from "../support/person.ts";
import { openBrowser } from "./browser.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

it("/docs shows the operations with their descriptions, loads nothing from elsewhere and breaks no policy", async () => {
  const page = await browser.newPage();
  const requested: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => requested.push(request.url()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  const answer = await page.goto(`${stack.gateway}/docs`);
  const policy = answer!.headers()["content-security-policy"]!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);

  const operation = page.locator("#operations-Auth-signUp");
  await operation.waitFor({ timeout: 30_000 });
  await operation.locator("button.opblock-summary-control").click();
  await operation.getByText("The login's identity gets an account").waitFor();
  expect(await operation.innerText()).toContain("/auth/v1/signup");
  // Nothing on the page sends a request, or asks for a token.
  expect(await page.locator("button", { hasText: /^(Try it out|Execute)/ }).count()).toBe(0);

  const { origin } = new URL(stack.gateway);
  const local = requested.filter((url) => !url.startsWith("data:"));
  expect(local.map((url) => new URL(url).pathname)).toEqual(
    expect.arrayContaining(["/docs", "/docs/swagger-ui-bundle.js", "/openapi.json"]),
  );
  expect(local.filter((url) => new URL(url).origin !== origin)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.close();
});
