import {
  type AccessApi,
  AccessApiError,
  cadenceString,
  decodeMessage,
  envelopeMessage,
  type FlowTransaction,
  payloadMessage,
} from "@countersign/flow";
import { hexToBytes } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { sendTransaction } from "./send-transaction.ts";
import { TransactionFailedError } from "./wait-for-transaction.ts";

const account = "01cf0e2f2f715450";
const paymaster = "179b6b1cb6755e31";
const network = { chainName: "flow-emulator", accessNode: "http://node.test", paymaster: `0x${paymaster}` };
const deviceKey = generateDeviceKey();
const serverSignature = { addr: `0x${account}`, keyId: 0, signature: "aa".repeat(64) };
const payerSignature = { addr: `0x${paymaster}`, keyId: 3, signature: "bb".repeat(64) };

function setUp({
  errorMessage = "",
  unanswered = 0,
  lostWith = 0,
  refusedWith = 0,
  rotatedAfter = 0,
  renewed = 0,
} = {}) {
  let refusals = 0;
  const isRotated = () => rotatedAfter > 0 && submitted.length >= rotatedAfter;
  const messages: Record<string, string> = {};
  const submitted: FlowTransaction[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const { pathname } = new URL(String(input));
    if (pathname === "/account/v1/me") {
      const addresses = [
        { chainName: "flow-emulator", chainType: "evm", address: "0x00" },
        { chainName: "flow-emulator", chainType: "cadence", address: `0x${account}` },
      ];
      return Response.json({ account: { addresses } });
    }
    if (refusals++ < renewed) return Response.json({ error: "MessageRenewed" }, { status: 409 });
    messages[pathname] = (JSON.parse(String(init?.body)) as { message: string }).message;
    return Response.json({
      signature: pathname.endsWith("paymaster") ? payerSignature : { ...serverSignature, keyId: isRotated() ? 3 : 0 },
    });
  };
  const key = { signatureAlgorithm: "", hashAlgorithm: "", weight: 1, sequenceNumber: 5n };
  const accessApi = {
    latestSealedBlock: async () => ({ id: "cd".repeat(32), height: 9n }),
    accountKeys: async () => [
      { ...key, index: 0, publicKey: "", revoked: isRotated() },
      { ...key, index: 1, publicKey: deviceKey.publicKey, revoked: true },
      { ...key, index: 2, publicKey: deviceKey.publicKey, revoked: false },
    ],
    transactionResult: async () => undefined,
    submit: async (transaction: FlowTransaction) => {
      submitted.push(transaction);
      if (submitted.length <= unanswered) throw new AccessApiError("no answer", lostWith);
      if (refusedWith > 0) throw new AccessApiError("refused", refusedWith);
      return "ef".repeat(32);
    },
    waitForSeal: async () => ({
      status: "Sealed",
      statusCode: errorMessage ? 1 : 0,
      errorMessage: submitted.length > rotatedAfter ? errorMessage : "[Error Code: 1008] key is revoked",
      blockId: "",
      events: [],
    }),
  } as unknown as AccessApi;
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch });
  const options = { network, accessApi, cadence: "transaction {}", args: [cadenceString("x")] };
  return { client, options, messages, submitted };
}

describe("sendTransaction", () => {
  it.each([undefined, "flow-emulator"])("refuses %j as network, and says how to get one", async (wrong) => {
    const client = new CountersignClient({ baseUrl: "https://gateway.test", deviceKey: generateDeviceKey() });
    await expect(sendTransaction(client, { network: wrong as never, cadence: "transaction {}" })).rejects.toThrow(
      "network is none: give one of those that `await client.networks()` returns",
    );
  });

  it("refuses what is no Cadence code, such as a file that was not imported as text", async () => {
    const { client, options } = setUp();
    const call = sendTransaction(client, { ...options, cadence: undefined as never });
    await expect(call).rejects.toThrow("cadence is no text: give the transaction's code");
  });

  it("refuses arguments as FCL takes them, and says how they are given here", async () => {
    const { client, options } = setUp();
    const args = ((arg: (value: string, type: string) => never, t: { String: string }) => [
      arg("x", t.String),
    ]) as never;
    await expect(sendTransaction(client, { ...options, args })).rejects.toThrow(
      'args are FCL\'s: give values, [{ type: "String", value: "hello" }]',
    );
  });

  // 503 is of a load balancer, for example: the node may have the transaction.
  it.each([0, 503])(
    "submits the same bytes again where the answer was lost (%i), and signs nothing again",
    async (lostWith) => {
      const { client, options, submitted } = setUp({ unanswered: 1, lostWith });
      expect((await sendTransaction(client, options)).id).toBe("ef".repeat(32));
      expect(submitted).toHaveLength(2);
      expect(submitted[1]).toBe(submitted[0]);
    },
  );

  it("goes on where a node refuses the bytes that another one may have: their answer was lost", async () => {
    const { client, options, submitted } = setUp();
    const failures = [new AccessApiError("no answer", 0), new AccessApiError("refused", 400)];
    const submit: AccessApi["submit"] = async (transaction) => {
      const failure = failures.shift();
      if (failure) throw failure;
      return options.accessApi.submit(transaction);
    };
    const { id } = await sendTransaction(client, { ...options, accessApi: { ...options.accessApi, submit } });
    expect([id, submitted.length]).toEqual(["ef".repeat(32), 1]);
  });

  it("submits once what the node refuses, and no more when the signal aborts", async () => {
    const refused = setUp({ refusedWith: 400 });
    await expect(sendTransaction(refused.client, refused.options)).rejects.toMatchObject({ status: 400 });
    expect(refused.submitted).toHaveLength(1);
    const silent = setUp({ unanswered: 9 });
    const signal = AbortSignal.timeout(50);
    await expect(sendTransaction(silent.client, { ...silent.options, signal })).rejects.toMatchObject({ status: 0 });
    expect(silent.submitted).toHaveLength(2);
  });

  it("collects the device's, the server's and the payer's signatures", async () => {
    const { client, options, messages, submitted } = setUp();
    const { id } = await sendTransaction(client, options);
    expect(id).toBe("ef".repeat(32));
    const [transaction] = submitted;
    expect(transaction).toMatchObject({
      payer: paymaster,
      authorizers: [account],
      proposalKey: { address: account, keyId: 2, sequenceNumber: 5n },
      envelopeSignatures: [{ address: paymaster, keyId: 3 }],
    });
    const payload = payloadMessage(transaction!);
    expect(messages["/sign/v1/cadence/transaction"]).toBe(Buffer.from(payload).toString("hex"));
    const envelope = Buffer.from(envelopeMessage(transaction!)).toString("hex");
    expect(messages["/sign/v1/cadence/paymaster"]).toBe(envelope);
    expect(decodeMessage(hexToBytes(envelope))).toMatchObject({ kind: "envelope", arguments: [expect.any(String)] });
    const device = transaction!.payloadSignatures.find(({ keyId }) => keyId === 2);
    expect(verifySignature(deviceKey, payload, hexToBytes(device!.signature))).toBe(true);
  });

  it("builds again what a rotation of the server key overtook", async () => {
    const { client, options, submitted, messages } = setUp({ rotatedAfter: 1 });
    let asked = 0;
    const args = () => [cadenceString(`try ${++asked}`)];
    expect((await sendTransaction(client, { ...options, args })).id).toBe("ef".repeat(32));
    expect(submitted.map(({ payloadSignatures }) => payloadSignatures.map(({ keyId }) => keyId))).toEqual([
      [2, 0],
      [2, 3],
    ]);
    expect(decodeMessage(hexToBytes(messages["/sign/v1/cadence/transaction"]!)).arguments[0]).toContain("try 2");
  });

  it("asks again where the signer says that the server key is rotated", async () => {
    const { client, options, submitted } = setUp({ renewed: 2 });
    await sendTransaction(client, options);
    expect(submitted).toHaveLength(1);
  });

  it("rejects when the chain refused", async () => {
    const { client, options } = setUp({ errorMessage: "panic" });
    await expect(sendTransaction(client, options)).rejects.toBeInstanceOf(TransactionFailedError);
  });
});
