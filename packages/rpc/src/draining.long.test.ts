import { setTimeout as sleep } from "node:timers/promises";
import { AccountsService, GetAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import { expect, test } from "vitest";
import { createRpcClient } from "./client.ts";
import { accountRpcs, callsRpc, offerAccounts } from "./testing/accounts.ts";
import { createAuthority } from "./testing/authority.ts";
import { testServer } from "./testing/harness.ts";

/** As long as a sign-up may take, and longer than any interval of pings between client and server. */
const LONG_MS = 25_000;

/** Calls a server that is stopped meanwhile. Returns the answer, or the reason why there was none. */
async function callDuringStop(coalesce: boolean): Promise<unknown> {
  const authority = await createAuthority();
  const tls = await authority.issue("account");
  const { server, listen } = testServer(tls, { ...accountRpcs, ...callsRpc }, { deadlineMs: 60_000 });
  const begun = Promise.withResolvers<void>();
  offerAccounts(server, async () => {
    begun.resolve();
    await sleep(LONG_MS);
    return GetAccountResponse.create();
  });
  const gateway = await authority.issue("gateway");
  const connection = { address: await listen(), tls: gateway, serverName: "account", deadlineMs: 60_000, coalesce };
  const client = createRpcClient(AccountsService, connection);
  const answer = client.getAccount({ accountId: "a", chainName: "c" }).catch((error) => error.reason);
  await begun.promise;
  const stopped = server.stop(LONG_MS + 5_000);
  try {
    return await answer;
  } finally {
    client.close();
    await stopped;
  }
}

test("a server that stops answers even the longest call that it has begun, alone or on a shared stream", async () => {
  const answers = await Promise.all([true, false].map(callDuringStop));
  expect(answers).toEqual([GetAccountResponse.create(), GetAccountResponse.create()]);
});
