import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { logIn } from "@countersign/testing";
import { chainName, stack } from "../support/person.ts";

/** Runs a program; returns its output also where it fails. */
export const run = (program: string, args: readonly string[], env: Record<string, string> = {}) =>
  new Promise<{ text: string; code: number }>((resolve, reject) => {
    const options = { cwd: root, env: { ...process.env, ...env }, maxBuffer: 1 << 28 };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error && typeof error.code !== "number") reject(error);
      else resolve({ text: stdout + stderr, code: error ? Number(error.code) : 0 });
    });
  });

/** Writes the generated code of both clients, as `npm run build:clients` does, from the stack's gateway. */
export async function buildClients(): Promise<void> {
  const args = [join(root, "dev/src/main.ts"), "build:clients", "--document", `${stack.gateway}/openapi.json`];
  const { text, code } = await run(process.execPath, args);
  if (code !== 0) throw new Error(text);
}

/** A page at which the native tests log in: a browser does this for an app. */
export async function startLogins() {
  const server = createServer(async (request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://localhost");
    const [email, nonce] = [searchParams.get("email") ?? "", searchParams.get("nonce") ?? ""];
    try {
      response.end((await logIn(stack, email, { nonce })).token);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const env = { GATEWAY: stack.gateway, CHAIN_NAME: chainName, LOGIN_URL: `http://127.0.0.1:${port}/` };
  return { env, close: () => server.close() };
}
