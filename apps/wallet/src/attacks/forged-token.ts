import { CountersignClient } from "@countersign/client";
import { config } from "../config.ts";
import type { Victim } from "./victim.ts";

/** The access token's account is exchanged for another one. */
export async function forgedToken({ client }: Victim) {
  const { accessToken, refreshToken } = client.credentials!;
  const [header, body = "", signature] = accessToken.split(".");
  const claims = JSON.parse(atob(body.replaceAll("-", "+").replaceAll("_", "/")));
  const forged = btoa(JSON.stringify({ ...claims, sub: crypto.randomUUID() })).replace(/=+$/, "");
  const credentials = { accessToken: [header, forged, signature].join("."), refreshToken };
  await new CountersignClient({ baseUrl: config.gateway, deviceKey: client.deviceKey, credentials }).me();
}
