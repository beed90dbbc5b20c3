import { readFileSync } from "node:fs";
import {
  type AccountEvent,
  CountersignClient,
  isMatchingCode,
  ProblemError,
  readKeyAddition,
} from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import {
  type AccountProof,
  accountProofMessage,
  decodeMessage,
  decodeRlp,
  readAccountProof,
  readUserMessage,
  userMessage,
} from "@countersign/flow";
import { canonicalPublicKey, challengeOf, hexToBytes, type KeyAlgorithm, parseSignature } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { VECTORS_FILE, vectorsText } from "./vectors.ts";

const text = readFileSync(VECTORS_FILE, "utf8");
// biome-ignore lint/suspicious/noExplicitAny: the file's shape is that of makeVectors
const vectors: any = JSON.parse(text);

interface Refused {
  why: string;
  bytes: string;
  message: string;
  der: string;
  proof: AccountProof;
}

it("clients/vectors.json is what the packages make; node dev/src/native/vectors.ts writes it", async () => {
  expect(vectorsText()).toBe(text);
});

it("each signature is its key's over its message, and over no other", () => {
  for (const { algorithm, publicKey, message, signature } of vectors.signatures) {
    const key = { algorithm: algorithm as KeyAlgorithm, publicKey };
    expect(verifySignature(key, hexToBytes(message), hexToBytes(signature))).toBe(true);
    expect(verifySignature(key, hexToBytes(`${message}00`), hexToBytes(signature))).toBe(false);
  }
});

it("signatures in DER are the raw ones", () => {
  for (const { raw, der } of vectors.der) expect(parseSignature(hexToBytes(der))).toEqual(hexToBytes(raw));
});

describe("the packages refuse all that the vectors call refused", () => {
  const refused = (list: Refused[], work: (each: Refused) => unknown) => {
    for (const each of list) expect(() => work(each), each.why).toThrow();
  };

  it("encodings", () => {
    refused(vectors.refusedRlp, ({ bytes }) => decodeRlp(hexToBytes(bytes)));
    refused(vectors.refusedDer, ({ der }) => parseSignature(hexToBytes(der)));
    refused(vectors.refusedMessages, ({ message }) => decodeMessage(hexToBytes(message)));
    refused(vectors.refusedAdditions, ({ message }) => readKeyAddition(message));
  });

  it("keys, challenges and texts", () => {
    for (const key of vectors.refusedKeys) expect(() => canonicalPublicKey(key), JSON.stringify(key)).toThrow();
    for (const challenge of vectors.challenge.refused) {
      expect(() => challengeOf({ login: hexToBytes(challenge) }), challenge).toThrow();
    }
    for (const message of vectors.refusedUserMessages) {
      expect(() => readUserMessage(userMessage(new TextEncoder().encode(message))), message).toThrow();
    }
    refused(vectors.refusedAccountProofs, ({ proof }) => readAccountProof(accountProofMessage(proof)));
  });
});

it("a typed matching code is of the keys where the vectors say so", () => {
  for (const { typed, keys, matches } of vectors.matchingCodes)
    expect(isMatchingCode(typed, keys), typed).toBe(matches);
});

it("messages of problems name the fields that are not valid", () => {
  for (const { status, body, message } of vectors.problems)
    expect(new ProblemError(status, JSON.parse(body), null).message).toBe(message);
});

interface Stream {
  name: string;
  text: string;
  events: { id: string; name: string; data: object }[];
  lastEventId: string;
}

it.each(vectors.streams as Stream[])("reads a stream of events: $name", async ({ text: body, events, lastEventId }) => {
  const controller = new AbortController();
  const resumedAfter: (string | null)[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    resumedAfter.push(new Headers(init?.headers).get("last-event-id"));
    if (resumedAfter.length === 2) controller.abort();
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey: generateDeviceKey(), fetch });
  const read: object[] = [];
  const nameOf = (event: AccountEvent) => (event.type === "unknown" ? event.name : event.type);
  for await (const event of client.events({ signal: controller.signal })) {
    read.push({ id: event.id, name: nameOf(event), data: event.data });
  }
  expect(read.slice(0, events.length)).toEqual(events);
  expect(resumedAfter).toEqual([null, lastEventId]);
});
