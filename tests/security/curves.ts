/** Elliptic-curve arithmetic for points that no library would create. */
export interface Curve {
  p: bigint;
  a: bigint;
  b: bigint;
}

export const P256: Curve = {
  p: 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn,
  a: -3n,
  b: 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn,
};
export const SECP256K1: Curve = {
  p: 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2fn,
  a: 0n,
  b: 7n,
};

const mod = (value: bigint, p: bigint) => ((value % p) + p) % p;

function power(base: bigint, exponent: bigint, p: bigint): bigint {
  let result = 1n;
  let square = mod(base, p);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % p;
    square = (square * square) % p;
  }
  return result;
}

/** Returns the y of a point with this x, if there is one. Both primes are 3 modulo 4. */
export function yOf(x: bigint, { p, a, b }: Curve): bigint | undefined {
  const right = mod(x * x * x + a * x + b, p);
  const y = power(right, (p + 1n) / 4n, p);
  return mod(y * y, p) === right ? y : undefined;
}

/** 64 hex digits. */
export const hex32 = (value: bigint): string => value.toString(16).padStart(64, "0");

/** Returns a key's coordinates from 128 hex digits. */
export const pointOf = (key: string): { x: bigint; y: bigint } => ({
  x: BigInt(`0x${key.slice(0, 64)}`),
  y: BigInt(`0x${key.slice(64)}`),
});

/** Returns the other point with the same x. */
export const negated = (key: string, { p }: Curve): string => key.slice(0, 64) + hex32(p - pointOf(key).y);

export const compressed = (key: string): string => (pointOf(key).y & 1n ? "03" : "02") + key.slice(0, 64);

/** Returns the point with the smallest positive x: x + p still has 256 bits. */
export function smallPoint(curve: Curve): { x: bigint; y: bigint } {
  for (let x = 1n; ; x++) {
    const y = yOf(x, curve);
    if (y !== undefined) return { x, y };
  }
}

/** Returns an x that no point has. */
export function noPoint(curve: Curve): bigint {
  for (let x = 1n; ; x++) if (yOf(x, curve) === undefined) return x;
}
