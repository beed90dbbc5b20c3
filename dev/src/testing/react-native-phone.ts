/*
 * The globals that React Native has in a lesser form than Node. Modules take them when they are loaded;
 * `fetch` and members of `globalThis` are those of the moment, since tests replace them.
 */

/** As the package abort-controller has it, which React Native uses: no reasons, and no static methods. */
class PhoneAbortSignal extends EventTarget {
  aborted = false;
}

class PhoneAbortController {
  readonly signal = new PhoneAbortSignal();
  abort(): void {
    if (this.signal.aborted) return;
    this.signal.aborted = true;
    this.signal.dispatchEvent(new Event("abort"));
  }
}

/** As whatwg-fetch, which React Native uses: errors of its own, and no streams. */
async function phoneFetch(input: string, { signal, ...init }: RequestInit = {}): Promise<object> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  try {
    const response = await fetch(input, { ...init, signal: controller.signal });
    const body = await response.arrayBuffer();
    const { status, ok, headers } = response;
    const text = async () => Buffer.from(body).toString();
    return { status, ok, headers, text, json: async () => JSON.parse(await text()) };
  } catch {
    if (signal?.aborted) throw Object.assign(new Error("Aborted"), { name: "AbortError" });
    throw new TypeError("Network request failed");
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Returns a class of the language without the static methods that Hermes lacks. */
const without = <Class extends object>(Class: Class, names: readonly string[]): Class =>
  new Proxy(Class, {
    get: (target, name) => (names.includes(String(name)) ? undefined : Reflect.get(target, name)),
    has: (target, name) => !names.includes(String(name)) && Reflect.has(target, name),
  });

/** Returns the globals of a phone: Node's without the missing ones, and with these. */
export function phoneOf(missing: readonly string[]): Record<string, unknown> {
  const own: Record<string, unknown> = {
    AbortController: PhoneAbortController,
    AbortSignal: PhoneAbortSignal,
    Map: without(Map, ["groupBy"]),
    Object: without(Object, ["groupBy"]),
    Promise: without(Promise, ["try", "withResolvers"]),
    fetch: phoneFetch,
    navigator: { product: "ReactNative" },
    process: { env: { NODE_ENV: "test" } },
  };
  const phone: Record<string, unknown> = new Proxy(globalThis as unknown as Record<string, unknown>, {
    get(target, name: string) {
      if (Object.hasOwn(own, name)) return own[name];
      return missing.includes(name) ? undefined : target[name];
    },
    has: (target, name: string) => Object.hasOwn(own, name) || (!missing.includes(name) && name in target),
  });
  for (const name of ["global", "globalThis", "self", "window"]) own[name] = phone;
  return phone;
}
