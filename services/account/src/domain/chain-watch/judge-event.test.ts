import {
  type AddedKey,
  type ChainTransaction,
  createAccountsArguments,
  createAccountsScript,
  encodeCadence,
  HASH_ALGORITHM,
  type HybridCustodyChange,
  hybridCustodyArguments,
  hybridCustodyScript,
  KEY_ROLES,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
  type ParentLinkChange,
  parentLinkArguments,
  parentLinkScript,
} from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { AccountKey } from "../key-additions/key-addition.ts";
import type { AccountEvent } from "./account-event.ts";
import { isOurs } from "./judge-event.ts";

const address = "01cf0e2f2f715450";
const other = "179b6b1cb6755e31";
const creator = { address: "e03daebed8ca0615" };
const creationScript = createAccountsScript("f8d6e0586b0a20c7");
const newPublicKey = () => generateKeyPair().publicKey;
const [server, user, added, removed] = [newPublicKey(), newPublicKey(), newPublicKey(), newPublicKey()];

const key = (index: number, publicKey: string, role: "server" | "user" | "recovery", revoked = false): AccountKey => ({
  index,
  publicKey,
  weight: KEY_ROLES[role].weight,
  signatureAlgorithm: "ECDSA_P256",
  hashAlgorithm: role === "server" ? "SHA3_256" : "SHA2_256",
  sequenceNumber: 0n,
  revoked,
});
const onChain = [
  key(0, server.publicKey, "server"),
  key(1, user.publicKey, "user"),
  key(2, removed.publicKey, "recovery"),
  key(3, newPublicKey().publicKey, "server", true),
];

const transaction = (script: string, args: readonly string[], change: Partial<ChainTransaction> = {}) => ({
  script,
  arguments: args,
  proposalKey: { address, keyId: 0, sequenceNumber: 0n },
  payer: other,
  authorizers: [address],
  ...change,
});
const ofKeys = (change: KeyChange, rest: Partial<ChainTransaction> = {}) =>
  transaction(keyTemplateScript(change.template), keyChangeArguments(change).map(encodeCadence), rest);
const ofLink = (template: ParentLinkChange["template"]) =>
  transaction(parentLinkScript(template), parentLinkArguments({ template, other }).map(encodeCadence));
const hybridCustody = { contract: other, viewResolver: other, factory: other, filter: other };
const ofCustody = (change: HybridCustodyChange) =>
  transaction(
    hybridCustodyScript(change.template, hybridCustody),
    hybridCustodyArguments(change, hybridCustody).map(encodeCadence),
  );

const event = (type: string, rest: Partial<AccountEvent> = {}): AccountEvent => ({
  type: `flow.${type}`,
  address,
  transactionId: "ab".repeat(32),
  index: 0,
  height: 5n,
  ...rest,
});
const adds = (role: keyof typeof KEY_ROLES, rest: Partial<AddedKey> = {}): AccountEvent => {
  const { weight, hashAlgorithm } = KEY_ROLES[role];
  const addedKey = { address, publicKey: added.publicKey, keyIndex: 4, weight, hashAlgorithm, signatureAlgorithm: 1 };
  return event("AccountKeyAdded", { addedKey: { ...addedKey, ...rest } });
};
const removes = event("AccountKeyRemoved", { removedKeyIndex: 2 });
const publishes = event("InboxValuePublished");
const issues = event("AccountCapabilityControllerIssued");
const deletes = event("AccountCapabilityControllerDeleted");
const judge = (happened: AccountEvent, by: ChainTransaction) =>
  isOurs(happened, by, { creationScript, creator, hybridCustody }, async (index) => onChain[index]!);

const [newKey, oldKey, serverKey] = [added, removed.publicKey, server.publicKey];
const addUserKey = ofKeys({ template: "add-user-key", newKey });
const replaceKey = ofKeys({ template: "replace-recovery-key", serverKey, oldKey, newKey });
const revokeKey = ofKeys({ template: "revoke-user-key", oldKey });
const created = [{ serverKey: server, userKey: user }];
const byCreator = { proposalKey: { address: creator.address, keyId: 5, sequenceNumber: 0n }, payer: creator.address };
const creation = transaction(creationScript, createAccountsArguments(created), {
  ...byCreator,
  authorizers: [creator.address],
});
const ofServer = { keyIndex: 0, publicKey: server.publicKey };
const ofUser = { keyIndex: 1, publicKey: user.publicKey };

describe("events of our own transactions", () => {
  it.each<[string, AccountEvent, ChainTransaction]>([
    ["the server key of a creation", adds("server", ofServer), creation],
    ["the user key of a creation", adds("user", ofUser), creation],
    ["add-user-key", adds("user"), addUserKey],
    ["add-recovery-key", adds("recovery"), ofKeys({ template: "add-recovery-key", serverKey, newKey })],
    ["replace-recovery-key, the new one", adds("recovery"), replaceKey],
    ["replace-recovery-key, the old one", removes, replaceKey],
    ["revoke-recovery-key", removes, ofKeys({ template: "revoke-recovery-key", serverKey, oldKey })],
    ["revoke-user-key", removes, revokeKey],
    ["publish-parent-link, its capability", issues, ofLink("publish-parent-link")],
    ["publish-parent-link, its offer", publishes, ofLink("publish-parent-link")],
    ["claim-parent-link", event("InboxValueClaimed"), ofLink("claim-parent-link")],
    ["remove-parent-link", deletes, ofLink("remove-parent-link")],
    ["set-up-hybrid-custody, its capability", issues, ofCustody({ template: "set-up-hybrid-custody", other })],
    ["set-up-hybrid-custody, its offer", publishes, ofCustody({ template: "set-up-hybrid-custody", other })],
    ["redeem-hybrid-custody", event("InboxValueClaimed"), ofCustody({ template: "redeem-hybrid-custody", other })],
    ["remove-hybrid-custody", deletes, ofCustody({ template: "remove-hybrid-custody", other })],
    ["end-hybrid-custody", deletes, ofCustody({ template: "end-hybrid-custody" })],
    [
      "a template of a server key that was rotated since",
      adds("user"),
      { ...addUserKey, proposalKey: { address, keyId: 3, sequenceNumber: 0n } },
    ],
  ])("%s", async (_, happened, by) => {
    expect(await judge(happened, by)).toBe(true);
  });
});

describe("events of anything else", () => {
  const spelled = addUserKey.arguments.map((text) => text.replace('":"', '": "'));
  it.each<[string, AccountEvent, ChainTransaction]>([
    ["another script", adds("user"), { ...addUserKey, script: `${addUserKey.script} ` }],
    ["a template with arguments in a non-canonical encoding", adds("user"), { ...addUserKey, arguments: spelled }],
    [
      "a template that a user key proposed",
      adds("user"),
      { ...addUserKey, proposalKey: { address, keyId: 1, sequenceNumber: 0n } },
    ],
    [
      "a template that a recovery key proposed",
      removes,
      { ...revokeKey, proposalKey: { address, keyId: 2, sequenceNumber: 0n } },
    ],
    [
      "a template that another account proposed",
      adds("user"),
      { ...addUserKey, proposalKey: { address: other, keyId: 0, sequenceNumber: 0n } },
    ],
    ["a template that somebody else authorized too", adds("user"), { ...addUserKey, authorizers: [address, other] }],
    ["a template of another account", adds("user"), { ...addUserKey, authorizers: [other] }],
    ["a key of another weight than the template's", adds("recovery"), addUserKey],
    ["a key of another hash than the template's", adds("user", { hashAlgorithm: HASH_ALGORITHM.SHA3_256 }), addUserKey],
    ["another key than the template's", adds("user", { publicKey: user.publicKey }), addUserKey],
    ["a key that a template that adds removes", removes, addUserKey],
    ["a key that comes by a template that revokes", adds("user"), revokeKey],
    ["a contract beside a template", event("AccountContractAdded"), addUserKey],
    ["a capability beside a template", issues, addUserKey],
    ["an offer beside another template", publishes, ofLink("remove-parent-link")],
    ["a creation by somebody else", adds("server", ofServer), { ...creation, authorizers: [other] }],
    [
      "a creation with somebody beside the creator",
      adds("server", ofServer),
      { ...creation, authorizers: [creator.address, other] },
    ],
    [
      "a creation that somebody else proposed",
      adds("user", ofUser),
      { ...creation, proposalKey: { address: other, keyId: 0, sequenceNumber: 0n } },
    ],
    ["a third key beside a creation", adds("user"), creation],
    ["another key in a creation", adds("user", { keyIndex: 1 }), creation],
    ["a heavy user key in a creation", adds("user", { ...ofUser, weight: 1000 }), creation],
    ["a contract beside a creation", event("AccountContractAdded"), creation],
  ])("%s", async (_, happened, by) => {
    expect(await judge(happened, by)).toBe(false);
  });
});
