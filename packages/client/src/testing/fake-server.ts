/** A request that a fake server received. */
export interface Seen {
  method: string;
  path: string;
  headers: Headers;
  body: Record<string, unknown>;
}

/** An answer of a fake server; an Error is thrown as by a broken network. */
export type Answer = [status: number, body?: unknown, headers?: Record<string, string>] | Error;

/** Returns a server that answers from a list, one answer per request, and remembers what it was asked. */
export function fakeServer(...answers: Answer[]) {
  const seen: Seen[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const url = new URL(String(input));
    seen.push({
      method: init?.method ?? "GET",
      path: url.pathname + url.search,
      headers: new Headers(init?.headers),
      body: init?.body ? JSON.parse(String(init.body)) : {},
    });
    const answer = answers.shift() ?? [500];
    if (answer instanceof Error) throw answer;
    const [status, body, headers] = answer;
    return new Response(body === undefined ? null : JSON.stringify(body), { status, ...(headers && { headers }) });
  };
  return { seen, fetch };
}
