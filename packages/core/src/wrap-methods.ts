type Method = (...args: unknown[]) => unknown;

/**
 * Returns the port with its methods wrapped, each once; `wrap` gets a method that is bound to the port.
 * `false` leaves a method as it is.
 */
export function wrapMethods<T extends object>(
  port: T,
  methods: Readonly<Record<string, unknown>>,
  wrap: (key: string, method: Method) => Method,
): T {
  const wrapped = new Map<string, Method>();
  return new Proxy(port, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function" || typeof key !== "string") return value;
      const known = wrapped.get(key);
      if (known !== undefined) return known;
      const bound: Method = value.bind(target);
      const method = methods[key] === false ? bound : wrap(key, bound);
      wrapped.set(key, method);
      return method;
    },
  });
}
