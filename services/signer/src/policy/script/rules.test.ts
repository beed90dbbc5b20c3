import { payloadMessage } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { asked, refusal, state, transaction, tx } from "../../testing/policy-fixture.ts";
import { DEFAULT_POLICY, type Policy } from "../policy.ts";

/** Beside the collections: each rule at its edges, so that weakening any part of it is seen. */
const IMPORTS = `import Foo from 0x02
import Helper from 0x02
import EVM from 0xf8d6e0586b0a20c7
`;
const script = (body: string) =>
  `${IMPORTS}transaction { prepare(a: auth(Storage, StorageCapabilities) &Account) { ${body} } }`;
const ask = (text: string) => transaction(asked(payloadMessage(tx({ script: text }))));
const use = (change: Partial<Policy>) => {
  state.policy = { ...DEFAULT_POLICY, ...change };
};
const refused = async (text: string, reason: string) => {
  state.records = [];
  expect(await refusal(ask(text)), text).toBe(reason);
};
const signed = async (text: string) => {
  state.records = [];
  await ask(text).catch(({ detail }) => expect.unreachable(`${detail}: ${text}`));
};

const ACCOUNT_ENTITLEMENTS =
  "Storage SaveValue LoadValue CopyValue BorrowValue StorageCapabilities IssueStorageCapabilityController GetStorageCapabilityController PublishCapability UnpublishCapability ClaimInboxCapability Keys AddKey RevokeKey Contracts AddContract UpdateContract RemoveContract Capabilities AccountCapabilities IssueAccountCapabilityController GetAccountCapabilityController Inbox PublishInboxCapability UnpublishInboxCapability".split(
    " ",
  );
const VALUES =
  "Bool String Character Address Type Path StoragePath PublicPath PrivatePath CapabilityPath Int Int8 Int16 Int32 Int64 Int128 Int256 UInt UInt8 UInt16 UInt32 UInt64 UInt128 UInt256 Word8 Word16 Word32 Word64 Word128 Word256 Fix64 UFix64 Fix128 UFix128".split(
    " ",
  );
const PARTS = ["AccountCapabilityController", "AccountKey", "AuthAccount", "PublicAccount", "DeployedContract"];
const BUILT_IN =
  "Account Capability StorageCapabilityController AnyStruct AnyResource Any Never Void InclusiveRange getAccount getAuthAccount panic assert self Type PublicKey SignatureAlgorithm HashAlgorithm CapabilityType CompositeType ReferenceType OptionalType IntersectionType DictionaryType FunctionType VariableSizedArrayType ConstantSizedArrayType InclusiveRangeType Mutate Insert Remove Identity".split(
    " ",
  );

describe("names of the language", () => {
  it.each([...new Set([...ACCOUNT_ENTITLEMENTS, ...VALUES, ...PARTS, ...BUILT_IN])])(
    "%s has one meaning",
    async (name) => {
      await refused(`import ${name} from 0x02\ntransaction { prepare(a: &Account) {} }`, "ScriptNotUnderstood");
      await refused(`import Foo as ${name} from 0x02\ntransaction { prepare(a: &Account) {} }`, "ScriptNotUnderstood");
      await refused(script(`let ${name} = 1`), "ScriptNotUnderstood");
    },
  );

  it.each([
    "for a in [1] {}",
    "for a, x in [1] {}",
    "for Foo, x in [1] {}",
    "fun a() {}",
    "fun Foo() {}",
    "fun f(a: Int) {}",
    "let f = fun (Foo: Int) {}",
    "if let a = Foo.maybe() {}",
  ])("prepare and imports declare each name once: %s", (body) => refused(script(body), "ScriptNotUnderstood"));
});

describe("types", () => {
  it.each(ACCOUNT_ENTITLEMENTS)("no right named %s over anything, outside of prepare's own", async (right) => {
    await refused(script(`let f: (fun (auth(${right}) &AnyStruct): Void)? = nil`), "ForbiddenType");
    await refused(script(`let x: [auth(Foo.Right, ${right}) &Foo.Thing] = []`), "ForbiddenType");
  });

  it.each([...PARTS, "Account.Keys", "Account.Inbox", "Account.Storage", "Account.Capabilities"])(
    "no %s, also without a right",
    async (part) => {
      await refused(script(`let x: (&${part})? = nil`), "ForbiddenType");
      await refused(script(`let x: [${part}] = []`), "ForbiddenType");
    },
  );

  it.each([
    "let c: Capability<&Account>? = nil",
    "let c: {String: Capability<&Account>} = {}",
    "let c: Capability<auth(EVM.Call) &{Foo.Caller}>? = nil",
    "let c: Capability<auth(Foo.Right, EVM.Call) &{Foo.Caller}>? = nil",
    "let c: Capability<auth(Foo.Right) &EVM.CadenceOwnedAccount>? = nil",
  ])("no lasting hold of an account: %s", (body) => refused(script(body), "ForbiddenType"));

  it.each([
    "let c: Capability<&EVM.CadenceOwnedAccount>? = nil",
    "let c: Capability<auth(Foo.Right) &Foo.Thing>? = nil",
    "let x: auth(Foo.Right) &Foo.Thing = Foo.thing()",
    "let x: auth(Mutate, Insert, Remove) &[Int] = &[1]",
  ])("the user's own types: %s", (body) => signed(script(body)));

  it.each([
    "destroy <- a.storage.load<@EVM.CadenceOwnedAccount>(from: /storage/evm)",
    "a.storage.copy<EVM.CadenceOwnedAccount>(from: /storage/evm)",
    "a.capabilities.storage.issue<auth(Foo.Right) &EVM.CadenceOwnedAccount>(/storage/evm)",
    "a.capabilities.storage.issue<auth(EVM.Call) &{Foo.Caller}>(/storage/evm)",
  ])("the Cadence-owned account stays in its storage: %s", (body) => refused(script(body), "ForbiddenType"));

  it.each([
    "a.storage.borrow<auth(EVM.Call) &EVM.CadenceOwnedAccount>(from: /storage/evm)",
    "a.capabilities.storage.issue<&EVM.CadenceOwnedAccount>(/storage/evm)",
  ])("the Cadence-owned account is used where it is: %s", (body) => signed(script(body)));

  it.each(VALUES)("%s is taken out of storage: it opens nothing", (type) =>
    signed(script(`a.storage.load<${type}>(from: /storage/x)`)),
  );

  it.each([
    "[Foo.Thing]",
    "[Foo.Thing; 3]",
    "Foo.Thing?",
    "{String: Foo.Thing}",
    "@Foo.Vault",
    "Capability<&Foo.Thing>",
    "Capability<&{Foo.Shown}>",
  ])("%s is concrete", async (type) => {
    const taken = type.startsWith("@") ? `destroy a.storage.load<${type}>(from: /storage/x)` : undefined;
    const what = script(taken ?? `a.storage.load<${type}>(from: /storage/x)`);
    if (type.includes("{Foo")) await refused(what, "ForbiddenType");
    else await signed(what);
  });

  it.each([
    "load<AnyStruct>",
    "load<{String: AnyStruct}>",
    "load<{HashableStruct: Int}>",
    "load<{AnyStruct: Foo.Thing}>",
    "load<[AnyStruct?]>",
    "load<[AnyStruct; 2]>",
    "load<Unknown.Thing>",
    "load<Capability>",
    "load<Capability<&AnyStruct>>",
    "copy<InclusiveRange<Int>>",
    "copy<Foo.Thing<Int>>",
    "copy<Capability<&Foo.Thing, &Foo.Thing>>",
    "copy<fun (): Void>",
    "copy<&Foo.Thing, &Foo.Thing>",
    "borrow<&AnyResource>",
    "borrow<&[{Foo.Shown}]>",
    "borrow<&{String: {Foo.Shown}}>",
    "borrow<&{Foo.Shown, Unknown.Thing}>",
    "borrow<&{Unknown.Thing}>",
    "borrow<&{Unknown}>",
  ])("%s does not", (call) => refused(script(`a.storage.${call}(from: /storage/x)`), "ForbiddenType"));

  it("an import without names brings contracts of its address, and one with names only those", async () => {
    const load = "transaction { prepare(a: auth(Storage) &Account) { a.storage.load<Foo.Thing>(from: /storage/x) } }";
    await signed(`import 0x02\n${load}`);
    await refused(`import Bar from 0x02\n${load}`, "ForbiddenType");
  });
});

describe("the account", () => {
  it.each([
    "log(a.balance)",
    "log(a.availableBalance)",
    "log(a.address)",
    "log(a.storage.used + a.storage.capacity)",
    "log(a.storage.publicPaths)",
    "log(a.storage.storagePaths)",
    "a.storage.copy<Int>(from: /storage/x)",
    "a.storage.check<Int>(from: /storage/x)",
    "a.storage.type(at: /storage/x)",
    "a.storage.forEachPublic(fun (path: PublicPath, type: Type): Bool { return true })",
    "a.capabilities.borrow<&Foo.Thing>(/public/x)",
    "a.capabilities.get<&Foo.Thing>(/public/x)",
    "a.capabilities.exists(/public/x)",
    "a.capabilities.unpublish(/public/x)",
    // Expressions that only look like it.
    "Foo.shelf.storage.load(1)",
    "Foo.box().storage.borrow(1)",
  ])("is asked directly: %s", (body) => signed(script(body)));

  it.each([
    ["a.storage.x.load<Int>(from: /storage/x)", "AccountEscapes"],
    ["Helper.help(a.storage.load)", "AccountEscapes"],
    ["Foo.Helper.help(a)", "AccountEscapes"],
    ["Helper.shelf.help(a)", "AccountEscapes"],
    ["Helper.help([a])", "AccountEscapes"],
    ["a.tomorrow.act()", "ForbiddenMember"],
    ["a.tomorrow()", "ForbiddenMember"],
    ['getAccount(a.address).inbox.claim<&Foo.Thing>("x", provider: 0x02)', "ForbiddenMember"],
    ["getAccount(a.address).keys.get(keyIndex: 0)", "ForbiddenMember"],
    ['getAccount(a.address).contracts.get(name: "Foo")', "ForbiddenMember"],
    ["Foo.thing().giveOwnership(to: 0x02)", "ForbiddenMember"],
  ] as const)("goes nowhere, also where %s", async (body, reason) => {
    const mayGetAccount = new Set(["A.0000000000000002.Helper"]);
    use({ contracts: { ...DEFAULT_POLICY.contracts, mayGetAccount } });
    await signed(script("Helper.help(a)"));
    await refused(script(body), reason);
  });
});

describe("capability controllers", () => {
  const get = "a.capabilities.storage.getController(byCapabilityID: 1)";
  const all = "a.capabilities.storage.getControllers(forPath: /storage/x)";
  it.each([
    `${get}!.delete()`,
    `${get}?.delete()`,
    `${all}[0].setTag("x")`,
    `(${get} ?? panic("none")).delete()`,
    `log(${get} == nil)`,
    `if ${get} != nil { log(1) }`,
    `let c = ${get}!.capability as! Capability<&Foo.Thing>`,
    `let c = ${get}!.capability as? Capability<auth(Foo.Right) &{Foo.Shown}>`,
    `let c = ${all}[0]
     c.delete()`,
    `for c in ${all} { c.delete() }`,
    "a.capabilities.storage.forEachController(forPath: /storage/x, fun (c: &StorageCapabilityController): Bool { c.delete(); return true })",
    "Foo.forEach(fun (c: Int): Bool { return Foo.keep(c) })",
  ])("are used in place: %s", (body) => signed(script(body)));

  it.each([
    `Foo.keep(${get}!)`,
    `Foo.keep(${get} == ${get})`,
    `Foo.keep(${all}[0])`,
    `Foo.keep(${get} ?? panic("none"))`,
    `let c = ${get}!
     Foo.keep(c)`,
    `let c = ${all}
     let d = c[0]
     Foo.keep(d)`,
    `let c = ${get} ?? panic("none")
     Foo.keep(c)`,
    `for c in ${all} { Foo.keep(c) }`,
    `if let c = ${get} { Foo.keep(c) }`,
    `let c = ${get}!.capability`,
    `Foo.keep(${get}!.capability)`,
    `let c = ${get}!.capability as Capability`,
    `let c = ${get}!.capability as! Capability<&{Foo.Shown}>`,
    `let c = ${get}!.capability as! Capability<&AnyStruct>`,
    "a.capabilities.storage.forEachController(forPath: /storage/x, Foo.each)",
    "a.capabilities.storage.forEachController(forPath: /storage/x, fun (c: &StorageCapabilityController): Bool { return Foo.keep(c) })",
    `Foo.list[${get}!]`,
  ])("leave nowhere: %s", async (body) => {
    const error = await ask(script(body)).then(
      () => expect.unreachable("it was signed"),
      (thrown) => thrown,
    );
    expect(["AccountEscapes", "ForbiddenType"]).toContain(error.metadata.reason);
  });
});

describe("the lists and strictness", () => {
  const denied = (...ids: string[]) => use({ contracts: { ...DEFAULT_POLICY.contracts, denied: new Set(ids) } });
  const importing = (from: string) => `import ${from}\ntransaction { prepare(a: &Account) {} }`;

  it("a denied contract is that one: neither its neighbour nor its namesake", async () => {
    denied("A.0000000000000002.Foo");
    for (const from of ["Bar from 0x02", "Foo from 0x03", "0x03"]) await signed(importing(from));
    for (const from of ["Foo from 0x02", "Foo as Bar from 0x02", "Bar, Foo from 0x2", "0x02"])
      await refused(importing(from), "DeniedContract");
  });

  it("strict: no capability with rights is made or found; others are", async () => {
    const calls = {
      "a.capabilities.storage.issue<&Foo.Thing>(/storage/x)": true,
      "let c: Capability<&Foo.Thing>? = nil": true,
      "a.storage.borrow<auth(Foo.Right) &Foo.Thing>(from: /storage/x)": true,
      "a.capabilities.storage.issue<auth(Foo.Right) &Foo.Thing>(/storage/x)": false,
      "let c: Capability<auth(Foo.Right) &Foo.Thing>? = nil": false,
      "a.storage.copy<Capability<auth(Foo.Right) &Foo.Thing>>(from: /storage/x)": false,
    };
    for (const [body, free] of Object.entries(calls)) {
      use({ mode: "standard" });
      await signed(script(body));
      use({ mode: "strict" });
      await (free ? signed(script(body)) : refused(script(body), "EntitledCapability"));
    }
  });
});
