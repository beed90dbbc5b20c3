// Options of Node that every deployment starts the processes with. docs/performance.md has their figures.

/** Small generations of the heap: less throughput for much less memory. Set by NODE_OPTIONS. */
export const HEAP_OPTIONS = ["--max-semi-space-size=8", "--max-old-space-size=256"];
/**
 * Allocates every object in the young generation. Without it V8 learns during the start of a process to
 * allocate requests' objects in the old one, which is collected much later. NODE_OPTIONS does not accept it.
 */
export const NO_PRETENURING = "--no-allocation-site-pretenuring";

/**
 * Marks the old generation once it has grown by 60%, not by 30%. It was marked every second, for 40 to 60 ms
 * of processor time: sign-ins leave much behind in auth, and creations in account. Other programs would take
 * more memory for little.
 */
const HEAP_GROWTH = "--heap-growing-percent=60";

/** Command-line flags by program. The signer opens no inspector on SIGUSR1. */
export const NODE_FLAGS = {
  auth: [NO_PRETENURING, HEAP_GROWTH],
  device: [NO_PRETENURING],
  key: [NO_PRETENURING],
  account: [NO_PRETENURING, HEAP_GROWTH],
  signer: ["--disable-sigusr1", NO_PRETENURING],
  gateway: [NO_PRETENURING],
} as const;
