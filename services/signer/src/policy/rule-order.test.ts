import { AppError } from "@countersign/core";
import { expect, it } from "vitest";
import { CREATION_RULES } from "./creation-rules.ts";
import { HISTORY_RULES } from "./history-rules.ts";
import { ENVELOPE_RULES, PAYMASTER_RULES } from "./paymaster-rules.ts";
import { evaluate, type Rule } from "./rule.ts";
import { TRANSACTION_RULES } from "./transaction-rules.ts";

const names = (rules: readonly { readonly name: string }[]) => rules.map(({ name }) => name);

it("the first rule that refuses gives the error, and none after it runs", () => {
  const ran: string[] = [];
  const rule =
    (name: string, refuses: boolean): Rule<string> =>
    (facts) => {
      ran.push(name + facts);
      return refuses ? new AppError("SigningRefused", { detail: name }) : undefined;
    };
  const rules = [rule("a", false), rule("b", true), rule("c", true)];
  expect(() => evaluate(rules, "!")).toThrowError(expect.objectContaining({ detail: "b" }));
  expect(ran).toEqual(["a!", "b!"]);
});

// Callers see which error wins, and docs/signing.md lists the rules in this order.
it("the rules of a transaction and of the paymaster are in the documented order", () => {
  const ofEveryMessage = ["signaturesAreFew", "templateArgumentsAreReadable", "tokenScopeAllows"];
  const ofItsParts = [
    "namesNoRotatedServerKey",
    "accountProposes",
    "payerIsKnown",
    "serverKeyProposesTemplatesOnly",
    "scriptIsPresent",
    "gasLimitIsWithinCap",
  ];
  const ofTemplates = ["linkHasTwoAccounts", "templateKeysAreAllowed"];
  expect(names(TRANSACTION_RULES)).toEqual([
    ...ofEveryMessage,
    ...ofItsParts,
    "paymasterPaysWhereRequired",
    "authorizerSignsPayload",
    ...ofTemplates,
    "noBlockedKeySigned",
  ]);
  expect(names(ENVELOPE_RULES)).toEqual(["isEnvelope", "paymasterOnlyPays"]);
  expect(names(PAYMASTER_RULES)).toEqual([
    ...ofEveryMessage,
    "paymasterPays",
    ...ofItsParts,
    ...ofTemplates,
    "accountSignedAlone",
    "serverKeySignedForEphemeralToken",
    "oneDeviceSigned",
    "noBlockedKeySigned",
  ]);
});

it("the rules of earlier signatures and of a creation are in the documented order", () => {
  expect(names(HISTORY_RULES)).toEqual([
    "sessionKeepsItsKey",
    "noLaterNumberIsOpen",
    "newKeyIsNotTheSessions",
    "newKeyWasNotRevoked",
    "newKeyHasOneRole",
    "loginIsFresh",
  ]);
  // A creation with outdated server keys is to be made again: MessageRenewed comes first.
  expect(CREATION_RULES[0]?.name).toBe("serverKeysAreCurrent");
  expect(CREATION_RULES.at(-1)?.name).toBe("accountsAreNew");
});
