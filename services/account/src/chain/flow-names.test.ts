import { describe, expect, it } from "vitest";
import { createFlowNames } from "./flow-names.ts";

const contract = "097bafa4e0b48eef";
const nameServices = [
  { kind: "find" as const, contract },
  { kind: "flow-domain-utils" as const, contract },
];
const signal = new AbortController().signal;

/** Looks a name up; the services give these answers, in order. */
function lookUp(...answers: unknown[]) {
  const asked: string[] = [];
  const executeScript = async (script: string) => {
    asked.push(script.includes("import FIND ") ? "find" : "utils");
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { asked, found: createFlowNames({ nameServices }, { executeScript })!("01cf0e2f2f715450", signal) };
}

const picture = "https://pictures.test/a.png";

describe("the name services of a network", () => {
  it("are none where the configuration has none", () => {
    expect(createFlowNames({}, { executeScript: async () => undefined })).toBeUndefined();
  });

  it("are asked in order, and no more than needed", async () => {
    const both = lookUp(["ada.find", picture]);
    expect(await both.found).toEqual({ domainName: "ada.find", profileImageUrl: picture });
    expect(both.asked).toEqual(["find"]);
    const second = lookUp(["", picture], ["ada.fn", ""]);
    expect(await second.found).toEqual({ domainName: "ada.fn", profileImageUrl: picture });
  });

  it("one that fails leaves its turn to the next; nothing found then is no answer", async () => {
    expect(await lookUp(new Error("down"), ["ada.fn", ""]).found).toEqual({
      domainName: "ada.fn",
      profileImageUrl: "",
    });
    await expect(lookUp(new Error("down"), ["", ""]).found).rejects.toThrow("did not answer");
    expect(await lookUp(["", ""], ["", ""]).found).toEqual({ domainName: "", profileImageUrl: "" });
  });

  it.each([
    ["javascript:alert(1)"],
    ["http://pictures.test/a.png"],
    ["data:image/png;base64,AAAA"],
    [`https://pictures.test/${"a".repeat(2048)}`],
    ["no url"],
    [7],
  ])("no picture: %s", async (text) => {
    expect(await lookUp(["ada.find", text], ["", ""]).found).toEqual({ domainName: "ada.find", profileImageUrl: "" });
  });

  it.each([["<b>ada</b>"], ["ada .find"], ["ada\u202e.find"], [".find"], ["a".repeat(254)], ["ada\n.find"], [null]])(
    "no name: %j",
    async (text) => {
      const { found } = lookUp([text, picture], ["", ""]);
      expect(await found).toEqual({ domainName: "", profileImageUrl: picture });
    },
  );
});
