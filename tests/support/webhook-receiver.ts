import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { stateFiles } from "@countersign/local-stack/service-environment.ts";
import { Webhook } from "standardwebhooks";

/** A verified message. */
export interface Received {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly accountId: string };
  /** The secrets whose signatures it has. */
  readonly signedBy: readonly string[];
}

/** An endpoint of an app, as DEVICE_WEBHOOKS_FILE has it. */
export interface Endpoint {
  readonly id: string;
  readonly appId: string;
  readonly url: string;
  readonly secrets: readonly string[];
}

export const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;

/** Writes a stack's file of endpoints, and the files of their secrets. */
export function writeEndpoints(stateDir: string, endpoints: readonly Endpoint[]): void {
  const written = endpoints.map(({ secrets, ...rest }) => {
    const secretFiles = secrets.map((_, i) => join(stateDir, "keys", `webhook-${rest.id}-${i}.secret`));
    for (const [i, file] of secretFiles.entries()) writeFileSync(file, `${secrets[i]}\n`, { mode: 0o600 });
    return { ...rest, secretFiles };
  });
  writeFileSync(stateFiles(stateDir).webhooks, JSON.stringify({ endpoints: written }));
}

/** Starts a receiver that takes verified messages only, and answers with `status`. */
export async function startReceiver(knownSecrets: () => readonly string[]) {
  const received: Received[] = [];
  const forged: string[] = [];
  const receiver = {
    received,
    /** Bodies of requests without a good signature. */
    forged,
    url: "",
    /** Returns the status of an answer; undefined: none is sent. */
    status: (_message: Received): number | undefined => 204,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const headers = request.headers as Record<string, string>;
    const signedBy = knownSecrets().filter((secret) => {
      try {
        return new Webhook(secret).verify(body, headers) !== undefined;
      } catch {
        return false;
      }
    });
    if (signedBy.length === 0) {
      forged.push(body);
      return void response.writeHead(401).end();
    }
    const message = { ...JSON.parse(body), id: headers["webhook-id"]!, signedBy } as Received;
    received.push(message);
    const status = receiver.status(message);
    if (status !== undefined) response.writeHead(status, { location: "http://127.0.0.1:1/" }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
  return receiver;
}
