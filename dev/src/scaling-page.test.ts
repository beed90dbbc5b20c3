import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root, services } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";

it("docs/scaling.md says of every table what bounds it", () => {
  const page = readFileSync(join(root, "docs/scaling.md"), "utf8");
  const listed = new Set([...page.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name));
  const tables = services.flatMap((name) => {
    const schema = readFileSync(join(root, `services/${name}/prisma/schema.prisma`), "utf8");
    return [...schema.matchAll(/@@map\("([a-z_]+)"\)/g)].map(([, table]) => table);
  });
  expect(tables.length).toBeGreaterThan(50);
  expect(tables.filter((table) => !listed.has(table))).toEqual([]);
});
