import { sendTransaction } from "@countersign/client";
import { createAccessApi } from "@countersign/flow";
import { expect, it } from "vitest";
import { chainName, NOTHING, network, signUpPerson, stack } from "../support/person.ts";

it("a person reads the chain, submits and waits for the seal through the gateway", async () => {
  const { client, address } = await signUpPerson();
  const paths: string[] = [];
  const access = createAccessApi({
    baseUrl: `${stack.gateway}/chain/v1/${chainName}`,
    fetch: (input, init) => {
      paths.push(new URL(String(input)).pathname.split("/").slice(4, 6).join("/"));
      const headers = { ...init?.headers, authorization: `Bearer ${client.credentials!.accessToken}` };
      return fetch(input, { ...init, headers });
    },
  });
  expect(await access.executeScript("access(all) fun main(): Int { return 7 }", [])).toEqual(
    await createAccessApi({ baseUrl: network.accessNode }).executeScript(
      "access(all) fun main(): Int { return 7 }",
      [],
    ),
  );
  expect(await access.accountKeys(address)).toHaveLength(2);
  const { result } = await sendTransaction(client, { network, cadence: NOTHING, accessApi: access });
  expect(result).toMatchObject({ status: "Sealed", errorMessage: "" });
  for (const path of ["v1/scripts", "v1/accounts", "v1/transactions", "v1/transaction_results"])
    expect(paths).toContain(path);
});

it("without a token there is no chain", async () => {
  const url = `${stack.gateway}/chain/v1/${chainName}/v1/blocks?height=sealed`;
  expect((await fetch(url)).status).toBe(401);
});
