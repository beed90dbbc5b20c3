import { prepareTests, runVitest } from "./test.ts";

/** `npm run test:wallet`: tests/wallet, on a stack that serves the wallet. */
export async function testWallet(args: readonly string[]): Promise<number> {
  await prepareTests(["--project=wallet"]);
  return runVitest(["--project=wallet", ...args], { CS_TEST_WALLET: "1" });
}
