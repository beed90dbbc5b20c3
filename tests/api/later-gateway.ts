import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openEnumerations } from "./tools.ts";

/** A value that the document does not list. */
export const LATER = "of-a-later-version";

/** Passes requests on to a gateway; values of open enumerations come back as one that is not listed. */
export async function laterGateway(gateway: string): Promise<{ url: string; close: () => void }> {
  const server = createServer(async (request, response) => {
    const { authorization = "", accept = "*/*" } = request.headers;
    const answer = await fetch(gateway + request.url, { headers: { authorization, accept } });
    const body = JSON.parse(await answer.text(), (name, value) =>
      openEnumerations.get(name)?.has(value) ? LATER : value,
    );
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}
