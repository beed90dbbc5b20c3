import { AppError, type VerifiedToken } from "@countersign/core";
import type { SignRequest } from "@countersign/proto/signer/v1/signing.ts";
import type { CallContext } from "@countersign/rpc";
import { createLogger, createMetrics } from "@countersign/runtime";
import { expect, it } from "vitest";
import { signingHandlers } from "./signing.ts";

it("a request of a stream needs its own operation's row of the caller table", async () => {
  const receipt = { chainId: "", sequence: 1n, hash: "" };
  const sign = async () => ({ address: "", keyId: 0, signature: new Uint8Array(), receipt });
  const observers = {
    metrics: createMetrics("signer", { defaults: false }),
    logger: createLogger({ name: "signer", level: "silent" }),
  };
  const { signStream } = signingHandlers({ signTransaction: sign, signPaymaster: sign }, observers);
  const message = { message: Buffer.alloc(1), chainName: "" };
  const common = { accessToken: "token", requestId: "", traceparent: "" };
  const requests: SignRequest[] = [
    { id: 1, ...common, transaction: message },
    { id: 2, ...common, paymaster: message },
  ];
  const call: Partial<CallContext> = {
    ...{ caller: "demo-backend", signal: new AbortController().signal },
    tokenFor(rpc, raw) {
      if (rpc !== "signer.v1.Signing/SignTransaction" || raw !== "token") throw new AppError("CallerNotAllowed");
      return { accountId: "a" } as VerifiedToken;
    },
  };
  async function* messages() {
    yield { requests };
  }
  const outcomes = new Map<number, string>();
  for await (const { answers } of signStream(messages(), call as CallContext))
    for (const { id, refusal } of answers ?? []) outcomes.set(id!, refusal?.reason ?? "signed");
  expect(Object.fromEntries(outcomes)).toEqual({ 1: "signed", 2: "CallerNotAllowed" });
});
