import { beforeAll } from "vitest";
import { newVictim, type Victim } from "./attacker.ts";
import { mintAccessToken } from "./token-forge.ts";
import { HOST } from "./wire.ts";

export let victim: Victim;
export let token: string;
beforeAll(async () => {
  victim = await newVictim();
  token = await mintAccessToken(victim);
});

export const ME = "/account/v1/me";
export const lines = (...each: string[]) => `${each.join("\r\n")}\r\n\r\n`;
export const get = (path: string, ...headers: string[]) => lines(`GET ${path} HTTP/1.1`, HOST, ...headers);
export const auth = () => `Authorization: Bearer ${token}`;
