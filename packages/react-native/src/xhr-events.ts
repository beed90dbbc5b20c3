import type { EventTransport } from "@countersign/client";

/** The part of XMLHttpRequest that is used. */
export interface Xhr {
  readonly readyState: number;
  readonly status: number;
  readonly responseText: string;
  onreadystatechange: ((...event: never[]) => unknown) | null;
  onprogress: ((...event: never[]) => unknown) | null;
  onerror: ((...event: never[]) => unknown) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(): void;
  abort(): void;
}

/** A constructor like the global XMLHttpRequest. */
export type XhrConstructor = new () => Xhr;

const HEADERS_RECEIVED = 2;
const DONE = 4;
/** React Native keeps the whole text of a request: beyond this a stream ends, and the client resumes. */
const MAX_TEXT = 512 * 1024;

/**
 * Reads events by XMLHttpRequest, for React Native, whose `fetch` has no streams.
 * @example new CountersignClient({ baseUrl, deviceKey, eventTransport: xhrEvents() });
 */
export const xhrEvents =
  (
    Request: XhrConstructor = (globalThis as unknown as { XMLHttpRequest: XhrConstructor }).XMLHttpRequest,
  ): EventTransport =>
  ({ url, headers, signal }) =>
    new Promise((resolve, reject) => {
      const request = new Request();
      let read = 0;
      let ended = false;
      let failure: unknown;
      let wake = () => {};
      const end = (error?: unknown) => {
        if (ended) return;
        ended = true;
        failure = error;
        signal.removeEventListener("abort", abort);
        reject(error);
        wake();
      };
      const abort = () => {
        end(Object.assign(new Error("the stream was aborted"), { name: "AbortError" }));
        request.abort();
      };
      async function* text(): AsyncGenerator<string, void> {
        try {
          for (;;) {
            // Only the progress is new; the last piece comes with the end.
            const piece = request.responseText.slice(read);
            read += piece.length;
            if (piece !== "") yield piece;
            else if (ended && failure !== undefined) throw failure;
            else if (ended || read > MAX_TEXT) return;
            else {
              await new Promise<void>((done) => {
                wake = done;
              });
            }
          }
        } finally {
          end();
          request.abort();
        }
      }
      request.onreadystatechange = () => {
        if (request.readyState === HEADERS_RECEIVED) {
          resolve({ status: request.status, header: (name) => request.getResponseHeader(name), text: text() });
        }
        if (request.readyState === DONE) end(request.status === 0 ? new TypeError("no connection") : undefined);
      };
      request.onprogress = () => wake();
      request.onerror = () => end(new TypeError("no connection"));
      request.open("GET", url);
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      signal.addEventListener("abort", abort);
      if (signal.aborted) abort();
      else request.send();
    });
