import pg from "pg";
import { expect, it } from "vitest";
import { stack } from "../support/person.ts";
import { allBlocks } from "./blocks.ts";

const blocks = allBlocks.filter(({ language }) => language === "sql");

it.each(blocks.map((block) => [block.at, block] as const))(
  "%s runs on the signer's database",
  async (_at, { text }) => {
    const client = new pg.Client({ connectionString: stack.databases.signer });
    await client.connect();
    try {
      const { fields } = await client.query(text);
      expect(fields.length).toBeGreaterThan(0);
    } finally {
      await client.end();
    }
  },
);
