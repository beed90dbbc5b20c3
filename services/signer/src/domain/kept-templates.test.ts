import { payloadMessage } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { addition } from "../testing/key-addition-fixture.ts";
import { changeOf, envelopeBy } from "../testing/key-history-fixture.ts";
import { account, asked, clock, device, paymaster, state, transaction, tx } from "../testing/policy-fixture.ts";
import { refusalOf } from "../testing/template-fixture.ts";

const SECOND = 1000;
const LIFE = 900 * SECOND;
/** Returns a template of the server key's sequence number. */
const at = (sequenceNumber: bigint) =>
  payloadMessage(addition(generateKeyPair().publicKey, { proposalKey: { ...addition().proposalKey, sequenceNumber } }));
const signing = (number: bigint, sessionId = "owner") => refusalOf(transaction(asked(at(number), { sessionId })));
const lifted = (): void => {
  state.unfrozenAt = clock.now();
};

describe("after a freeze", () => {
  beforeEach(async () => {
    // The account's next number is 3; the thief keeps a template for 5, so that voiding stops at 3.
    expect(await signing(5n, "thief")).toBe("signed");
    clock.advance(20 * SECOND);
  });

  it("nothing is signed below a number that was signed for before it, until that can run no more", async () => {
    lifted();
    const error = await transaction(asked(at(3n))).catch((thrown) => thrown);
    const refused = { reason: "SigningRefused", metadata: { reason: "LaterNumberOpen" }, retryAfterSeconds: 880 };
    expect(error).toMatchObject(refused);
    expect(await signing(4n)).toBe("LaterNumberOpen");
    clock.advance(LIFE - 20 * SECOND - 1);
    expect(await signing(3n)).toBe("LaterNumberOpen");
    clock.advance(1);
    expect(await signing(3n)).toBe("signed");
  });

  it("the paymaster does not pay for a lower number either", async () => {
    const payload = changeOf({ template: "add-user-key", newKey: generateKeyPair().publicKey });
    const envelope = await envelopeBy(payload, [device], {});
    expect(await refusalOf(paymaster(asked(envelope)))).toBe("signed");
    lifted();
    expect(await refusalOf(paymaster(asked(envelope)))).toBe("LaterNumberOpen");
  });

  it("that number itself and later ones are signed, and do not make the kept one forgotten", async () => {
    lifted();
    clock.advance(60 * SECOND);
    expect([await signing(5n), await signing(6n)]).toEqual(["signed", "signed"]);
    expect(await signing(3n)).toBe("LaterNumberOpen");
    clock.advance(LIFE - 80 * SECOND);
    expect(await signing(3n)).toBe("signed");
  });

  it("a template signed after it blocks no other session, one signed by a replica that had not received it does", async () => {
    lifted();
    clock.advance(41 * SECOND);
    expect(await signing(9n, "another")).toBe("signed");
    expect(await signing(7n)).toBe("signed");
    clock.advance(LIFE);
    lifted();
    clock.advance(39 * SECOND);
    expect(await signing(12n, "thief")).toBe("signed");
    expect(await signing(10n)).toBe("LaterNumberOpen");
  });

  it("nothing is signed below it either by a signer whose clock is half a minute ahead of auth's", async () => {
    // A second after the thief's signature.
    state.unfrozenAt = new Date(clock.now().getTime() - 19 * SECOND - 30 * SECOND);
    expect(await signing(3n)).toBe("LaterNumberOpen");
  });

  it("transactions that a device proposes are signed as ever", async () => {
    lifted();
    expect(await refusalOf(transaction(asked(payloadMessage(tx()))))).toBe("signed");
  });

  it("a rotated server key has numbers of its own", async () => {
    lifted();
    state.bindings = [{ ...account, serverKeyIndex: 2, retired: [{ index: 0, version: 1 }] }];
    const proposalKey = { address: account.address, keyId: 2, sequenceNumber: 0n };
    const message = payloadMessage(addition(generateKeyPair().publicKey, { proposalKey }));
    expect(await refusalOf(transaction(asked(message)))).toBe("signed");
  });
});

it("without a freeze, numbers are signed in any order", async () => {
  expect([await signing(5n), await signing(3n), await signing(4n)]).toEqual(["signed", "signed", "signed"]);
});
