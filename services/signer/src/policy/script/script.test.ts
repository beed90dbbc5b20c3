import { payloadMessage } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../audit/record.ts";
import { asked, refusal, scripts, state, transaction, tx } from "../../testing/policy-fixture.ts";
import { DEFAULT_POLICY, type Policy } from "../policy.ts";
import { attacks, ordinary } from "./testing/collection.ts";

const ask = (script: string) => transaction(asked(payloadMessage(tx({ script }))));
const { contracts, scripts: lists } = DEFAULT_POLICY;

describe("attacks", () => {
  const collection = attacks();

  it("are many, and each is another one", () => {
    expect(collection.length).toBeGreaterThanOrEqual(60);
    expect(new Set(collection.map(({ script }) => script)).size).toBe(collection.length);
  });

  it.each(collection.map((attack) => [attack.file, attack.title, attack] as const))(
    "%s: %s",
    async (_, __, { script, reason }) => {
      expect(await refusal(ask(script))).toBe(reason);
    },
  );

  it.each<[string, string]>([
    ["longer than a script may be", `transaction { prepare(a: &Account) {} } // ${"x".repeat(64 * 1024)}`],
    ["brackets as deep as they go", `transaction { prepare(a: &Account) { ${"if true {".repeat(6000)}`],
    ["a chain of members", `transaction { prepare(a: &Account) { let x = b${".c".repeat(20_000)} } }`],
    ["a chain of sums", `transaction { prepare(a: &Account) { let x = 1${"+1".repeat(20_000)} } }`],
    ["a type of question marks", `transaction { prepare(a: &Account) { let x: A${"?".repeat(20_000)} = 1 } }`],
    ["comments in comments", "/*".repeat(20_000)],
    ["ten thousand uses of the account", `transaction { prepare(a: &Account) { ${"log(a);".repeat(8000)} } }`],
    ["more nodes than any transaction has", `transaction { prepare(a: &Account) { ${"f();".repeat(2500)} } }`],
    [
      "more imports than any transaction has",
      `${"import A from 0x1\n".repeat(200)}transaction { prepare(a: &Account) {} }`,
    ],
    ["no Cadence", "select * from accounts"],
    ["nothing but a null character", "\0"],
  ])("%s", async (_, script) => {
    expect(await refusal(ask(script))).toBe("ScriptNotUnderstood");
  });
});

describe("a script that is not Cadence", () => {
  const detailOf = async (script: string): Promise<string> => {
    const error = await ask(script).then(undefined, (refused: unknown) => refused);
    expect(error).toMatchObject({ reason: "SigningRefused", metadata: { reason: "ScriptNotUnderstood" } });
    return (error as { detail: string }).detail;
  };

  it("is refused with the place of its first error and the parser's message", async () => {
    expect(await detailOf("transaction {\n  prepare(a: &Account) {\n    let x = = 1\n  }\n}")).toBe(
      "the script is not Cadence: line 3, column 12: unexpected token at start of expression: `=`",
    );
  });

  it("is quoted in one line of bounded length", async () => {
    const name = `x${"é".repeat(20_000)}`;
    for (const script of [
      `\u202e${name} {`,
      `transaction { ${name} }`,
      `"${name}\n`,
      "\0\u001b[2J",
      `/* ${name}`,
      `0z${name}`,
    ]) {
      const detail = await detailOf(script);
      expect(detail).toMatch(/^the script is not Cadence: line \d+, column \d+: [\x20-\x7e]+…?$/u);
      expect(detail.length).toBeLessThan(220);
    }
  });
});

describe("ordinary transactions", () => {
  const collection = ordinary();

  it("are many", () => {
    expect(collection.length).toBeGreaterThanOrEqual(40);
  });

  it.each(collection.map((each) => [each.file, each.title, each.script] as const))("%s: %s", async (_, __, script) => {
    await ask(script);
    expect(state.records.map(({ verdict }) => verdict)).toEqual(["signed"]);
  });
});

describe("the policy", () => {
  const SAVE = "transaction { prepare(a: auth(SaveValue) &Account) { a.storage.save(1, to: /storage/one) } }";
  const ENTITLED = ordinary().find(({ title }) => title.startsWith("give a marketplace"))?.script ?? "";
  const GIVES = "import Helper from 0x02\ntransaction { prepare(a: auth(Storage) &Account) { Helper.help(a) } }";
  const NAMED =
    "import Foo from 0x02\ntransaction { prepare(a: auth(LoadValue) &Account) { destroy a.storage.load<@Foo.Bar>(from: Foo.path) } }";
  const use = (change: Partial<Policy>) => {
    state.policy = { ...DEFAULT_POLICY, ...change };
  };

  it("strict: no capability with rights, also not over the user's own things", async () => {
    use({ mode: "strict" });
    expect(await refusal(ask(ENTITLED))).toBe("EntitledCapability");
    state.records = [];
    await ask(SAVE);
  });

  it("templates: nothing but templates and listed scripts", async () => {
    use({ mode: "templates" });
    expect(await refusal(ask(SAVE))).toBe("ScriptNotListed");
    state.records = [];
    use({ mode: "templates", scripts: { ...lists, allowed: new Set([sha256(SAVE)]) } });
    await ask(SAVE);
  });

  it("a listed script needs no reading; a denied one is refused though it is harmless", async () => {
    use({ scripts: { ...lists, allowed: new Set([sha256(GIVES)]) } });
    await ask(GIVES);
    state.records = [];
    use({ scripts: { ...lists, denied: new Set([sha256(SAVE)]) } });
    expect(await refusal(ask(SAVE))).toBe("DeniedScript");
  });

  it("contracts on the lists get the account, name paths, or are not touched at all", async () => {
    const only = new Set(["A.0000000000000002.Helper", "A.0000000000000002.Foo"]);
    expect(await refusal(ask(GIVES))).toBe("AccountEscapes");
    state.records = [];
    expect(await refusal(ask(NAMED))).toBe("ForbiddenPath");
    state.records = [];
    use({ contracts: { ...contracts, mayGetAccount: only, mayNamePaths: only } });
    await ask(GIVES);
    await ask(NAMED);
    state.records = [];
    use({ contracts: { ...contracts, mayGetAccount: only, denied: only } });
    expect(await refusal(ask(GIVES))).toBe("DeniedContract");
    state.records = [];
    expect(await refusal(ask("import 0x02\ntransaction { prepare(a: &Account) {} }"))).toBe("DeniedContract");
  });

  it("another contract of the listed name, or of the listed address, is not the listed one", async () => {
    use({ contracts: { ...contracts, mayGetAccount: new Set(["A.0000000000000002.Helper"]) } });
    for (const script of [GIVES.replace("0x02", "0x03"), GIVES.replaceAll("Helper", "Helpers")]) {
      expect(await refusal(ask(script))).toBe("AccountEscapes");
      state.records = [];
    }
    await ask(GIVES.replace("import Helper", "import Helper as H").replace("Helper.help", "H.help"));
  });

  it("its gas cap and its switches", async () => {
    use({ gasLimitCap: 100n });
    expect(await refusal(ask(SAVE))).toBe("GasLimit");
    state.records = [];
    use({ switches: { ...DEFAULT_POLICY.switches, transaction: false } });
    expect(await refusal(ask(SAVE))).toBe("SwitchedOff");
  });

  it("is in every record", async () => {
    use({ version: "script-1/of-a-test" });
    await ask(SAVE);
    expect(state.records[0]?.policyVersion).toBe("script-1/of-a-test");
  });
});

it("a script that was read once is known without asking anybody", async () => {
  const script = "transaction { prepare(a: &Account) { log(42) } }";
  expect(scripts.known(sha256(script), "ada")).toBeUndefined();
  await ask(script);
  expect(scripts.known(sha256(script), "ada")?.problem).toBe("");
});
