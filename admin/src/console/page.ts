import { createHash } from "node:crypto";
import { isUuid } from "@countersign/core";
import type { Table } from "@countersign/proto/admin/v1/admin.ts";
import { neutralize } from "../output.ts";

const STYLE = `
:root{color-scheme:light dark;--ink:light-dark(#16151d,#eeedf3);--soft:light-dark(#65636e,#a6a3b3);
--paper:light-dark(#f4f3ef,#131218);--card:light-dark(#fff,#1c1b23);--line:light-dark(#e2e0d9,#34323f);
--accent:light-dark(#4b39e0,#a197ff)}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
header,main{max-width:1200px;margin:auto;padding:16px 20px}
header{display:flex;flex-wrap:wrap;gap:12px 24px;align-items:center;justify-content:space-between}
a{color:var(--accent)}
h1{font-size:20px;margin:0}h1 a{color:inherit;text-decoration:none}
h2{font-size:15px;margin:28px 0 8px}h2 small{color:var(--soft);font-weight:400}
form{display:flex;gap:8px;flex:1 1 360px;max-width:560px}
input{flex:1;min-width:0;font:inherit;padding:8px 12px;border:1px solid var(--line);border-radius:8px;
background:var(--card);color:inherit}
button{font:inherit;padding:8px 16px;border:0;border-radius:8px;background:var(--accent);color:var(--card)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.table{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:12px}
table{border-collapse:collapse;width:100%;font-size:13px}
th,td{text-align:left;padding:7px 12px;white-space:nowrap;border-bottom:1px solid var(--line)}
tr:last-child td{border-bottom:0}
th{color:var(--soft);font-weight:500}
td{font-family:ui-monospace,monospace;max-width:420px;overflow:hidden;text-overflow:ellipsis}
p{color:var(--soft)}
`;

/** The page's only content from elsewhere is this style: no script runs, and no other page may frame it. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Returns text for HTML: others wrote it, such as a device's name. */
const escaped = (text: string): string => neutralize(text).replace(/[&<>"]/g, (character) => ENTITIES[character]!);

/** Ids of accounts lead to the account; `base` is the path of the console. */
function cell(base: string, column: string, value: string): string {
  const isAccount = /^account(_id)?$/.test(column) && isUuid(value);
  const text = escaped(value);
  return isAccount ? `<td><a href="${base}accounts/${value}">${text}</a></td>` : `<td title="${text}">${text}</td>`;
}

/** A part of a page: a table, or why it is not there. */
export type Section = { readonly title: string } & (Omit<Table, "name"> | { readonly problem: string });

function sectionHtml(base: string, section: Section): string {
  const title = `<h2>${escaped(section.title)}`;
  if ("problem" in section) return `${title}</h2><p>No answer: ${escaped(section.problem)}</p>`;
  const { columns, rows, truncated } = section;
  if (rows.length === 0) return `${title}</h2><p>None.</p>`;
  const head = columns.map((column) => `<th scope="col">${escaped(column)}</th>`).join("");
  const body = rows.map(
    ({ values }) => `<tr>${values.map((value, i) => cell(base, columns[i] ?? "", value)).join("")}</tr>`,
  );
  const more = truncated ? " <small>the newest 50</small>" : "";
  const table = `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>`;
  return `${title}${more}</h2><div class="table" tabindex="0">${table}</div>`;
}

/** Returns a page of the console as HTML. */
export function pageHtml(base: string, title: string, sections: readonly Section[]): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)} – Countersign console</title><style>${STYLE}</style></head>
<body><header><h1><a href="${base}">Countersign console</a></h1>
<form method="post" action="${base}find"><input name="term" required autocomplete="off" spellcheck="false"
aria-label="Find an account" placeholder="Find an account by id, e-mail, address or key"><button>Find</button></form>
</header><main><h2>${escaped(title)}</h2>${sections.map((each) => sectionHtml(base, each)).join("\n")}</main></body></html>
`;
}
