import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import "@countersign/local-stack/testing/provided.ts";
import type { Login } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { inject } from "vitest";
import { logIn, newEmail, stack } from "../../support/person.ts";

// By name, because its types are Node's and the page is compiled with a browser's.
const helper: string = "../../support/attested-app.ts";
const { attestedApp } = await import(helper);
const app = await attestedApp(resolve(inject("stackDir"), stack.stateDir));
await app.require();

export const deviceKey = generateDeviceKey();
export const login: Login = await logIn(newEmail());
export const idempotencyKey: string = randomUUID();

// react-native, @expo/app-integrity and react-native-google-play-integrity.
export const Platform: { OS: string } = { OS: "ios" };
export const AppIntegrity: {
  generateKeyAsync(): Promise<string>;
  attestKeyAsync(keyId: string, challenge: string): Promise<string>;
} = app.appIntegrity;
export const PlayIntegrity: { requestIntegrityToken(nonce: string): Promise<string> } = app.playIntegrity;

export const prints = [/^attested and signed up: [0-9a-f-]{36}$/m];
export const afterwards = (): Promise<void> => app.stop();
