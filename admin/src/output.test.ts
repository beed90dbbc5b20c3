import { AppError, invalidField } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { describedLines, errorLines, neutralize, tableLines, toJson } from "./output.ts";

const ESCAPES = "\u001b[31m\u009b2J\u0007\u202egnp.exe\u200b\u2066\ufeff\r\nnext";

describe("text of others", () => {
  it("loses its control characters, and shows them", () => {
    expect(neutralize(ESCAPES)).toBe(
      "\\u{1b}[31m\\u{9b}2J\\u{7}\\u{202e}gnp.exe\\u{200b}\\u{2066}\\u{feff}\\u{d}\\u{a}next",
    );
    expect(neutralize("Ada’s phone, 電話, 📱")).toBe("Ada’s phone, 電話, 📱");
    expect(neutralize("\ud800")).toBe("\\u{d800}");
  });

  it("is the same text in JSON, without these characters", () => {
    const json = toJson({ name: ESCAPES, count: 2n });
    expect(json).not.toMatch(/[\p{Cc}\u202e\u200b\u2066\ufeff]/u);
    expect(JSON.parse(json)).toEqual({ name: ESCAPES, count: "2" });
  });

  it("in an error is neutralized too, with the fields that are wrong", () => {
    expect(errorLines(new AppError("InvalidRequest", { detail: "\u001b[2J" }))).toEqual(["InvalidRequest: \\u{1b}[2J"]);
    expect(errorLines(invalidField("/reason", "must say why"))).toContain("/reason must say why");
  });
});

describe("a table", () => {
  it("has its columns below each other, and cuts long values", () => {
    expect(tableLines(["a", "b"], [["1", "x".repeat(60)]])).toEqual(["a  b", `1  ${"x".repeat(43)}…`]);
  });

  it("of an account leaves out empty columns, and says that there is more", () => {
    const rows = [{ values: ["1", ""] }, { values: ["2", ""] }];
    const table = { name: "session", columns: ["id", "app"], rows, truncated: true };
    expect(describedLines("auth", table)).toEqual(["", "auth: session", "  id", "  1", "  2", "  …"]);
  });
});
