import { tlsFiles } from "@countersign/dev/certificates.ts";
import { generateKeyPair, type KeyPair } from "@countersign/keys/node";
import { UserKeyType } from "@countersign/proto/common/v1/types.ts";
import { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import { createRpcClient, loadTls, publicKeyToProto, systemClock, uuidv7 } from "@countersign/service-kit";
import { afterAll, describe, expect, it } from "vitest";
import { call, chainName, type Person, signUpPerson, stack } from "./person.ts";

/** The device service, as auth calls it. */
const auth = createRpcClient(TwoFactorService, {
  address: stack.processes.device!.grpc!,
  tls: loadTls(tlsFiles(stack.stateDir, "auth")),
  serverName: "device",
  deadlineMs: 5000,
});

const device = {
  pushToken: "",
  name: "New phone",
  osName: "",
  osVersion: "",
  deviceManufacturer: "",
  deviceModel: "",
  lang: "",
  type: "mobile",
  sdkVersion: "",
};

describe("a registered device approves a new one, on the chain", () => {
  afterAll(() => auth.close());

  async function ask(person: Person): Promise<{ id: string; accountId: string; newcomer: KeyPair }> {
    const newcomer = generateKeyPair();
    const key = publicKeyToProto(newcomer.publicKey);
    const accountId = person.signedUp.account.id;
    const id = uuidv7(systemClock);
    await auth.openTwoFactor({
      id,
      accountId,
      chainName,
      app: { appId: "demo", appName: "Demo" },
      userKey: { type: UserKeyType.USER_KEY_TYPE_DEVICE, accountKey: key, deviceKey: key, device },
      signIn: { email: person.email, ip: "192.0.2.1", location: "" },
      expiresAt: new Date(Date.now() + 300_000),
    });
    return { id, accountId, newcomer };
  }

  it("by a signature over the message: sealed, finished once", async () => {
    const person = await signUpPerson();
    const token = person.client.credentials!.accessToken;
    const { id, accountId } = await ask(person);
    const { body } = await call("GET", `/device/v1/2fa/${id}`, { token });
    const { request, status } = body.twoFactorAuth;
    expect(status).toBe("pending");

    const signature = Buffer.from(await person.deviceKey.sign(Buffer.from(request.message, "hex"))).toString("hex");
    const both = [1, 2].map(() => call("POST", `/device/v1/2fa/${request.id}/approve`, { token, body: { signature } }));
    const answers = (await Promise.all(both)).map((answer) => answer.status).sort();
    expect(answers).toEqual([204, 409]);
    await expect
      .poll(async () => (await auth.describeAdmission({ accountId, id })).sealed, { timeout: 10_000 })
      .toBe(true);
    const admission = await auth.describeAdmission({ accountId, id });
    expect(admission.keyIndex).toBe(2);
    expect(admission.transaction?.id).toMatch(/^[0-9a-f]{64}$/);
    const finishes = await Promise.allSettled([1, 2].map(() => auth.finishTwoFactor({ accountId, id })));
    expect(finishes.map((finish) => finish.status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("not by a wrong signature, nor after a rejection", async () => {
    const person = await signUpPerson();
    const token = person.client.credentials!.accessToken;
    const { id } = await ask(person);
    const wrong = { token, body: { signature: "11".repeat(64) } };
    expect((await call("POST", `/device/v1/2fa/${id}/approve`, wrong)).status).toBe(401);
    expect((await call("DELETE", `/device/v1/2fa/${id}`, { token })).status).toBe(204);
    expect((await call("POST", `/device/v1/2fa/${id}/approve`, wrong)).status).toBe(409);
  });
});
